import Foundation
import HubSettings
import Samples

/// In which unit a person reads a day, and with how many digits.
struct DayUnit {
    private enum Form {
        case plain(HealthUnit?, String)
        case percent
        /// Stones and pounds.
        case stones
    }

    private let form: Form
    private let own: HealthUnit?

    /// - Parameters:
    ///   - own: the unit that values are in.
    ///   - unit: how the person reads weights.
    init(_ own: String, _ unit: PersonSection.Unit?) {
        self.own = try? HealthUnit(own)
        switch (own, unit) {
        case ("%", _): form = .percent
        case ("kg", .pounds): form = .plain(try? HealthUnit("lb"), "lb")
        case ("kg", .stones): form = .stones
        default: form = .plain(nil, own == "count" ? "" : own)
        }
    }

    /// Rounded to two decimals; whole numbers, such as steps, have none.
    func text(_ value: Double) -> String {
        switch form {
        case .percent: return Self.rounded(value * 100) + " %"
        case .stones:
            let tenths = (converted(to: try? HealthUnit("lb"), value) * 10).rounded()
            return
                "\(Int(tenths) / 140) st \(String(format: "%.1f", tenths.truncatingRemainder(dividingBy: 140) / 10)) lb"
        case .plain(let unit, let name):
            let number = Self.rounded(converted(to: unit, value))
            return name.isEmpty ? number : "\(number) \(name)"
        }
    }

    private func converted(to unit: HealthUnit?, _ value: Double) -> Double {
        guard let unit, let own, let value = try? own.convert(value, to: unit) else { return value }
        return value
    }

    private static func rounded(_ value: Double) -> String {
        value == value.rounded() && abs(value) >= 1_000
            ? String(format: "%.0f", value) : String(format: "%.2f", value)
    }
}
