import PluginKit

/// A value as it is sent to Exist: the digits of a JSON number.
///
/// Two values are equal if their digits are equal, so a sent value is compared with the wanted value after rounding.
struct ExistValue: Hashable, Sendable {
    /// For example `80.57` or `7200`.
    let digits: String

    init(digits: String) { self.digits = digits }

    /// Converts the value of a day exactly, then rounds it once, half away from zero.
    /// - Throws: ``ValueError``.
    init(_ value: Double, unit: String, as attribute: ExistAttribute, in target: String?) throws(ValueError) {
        var number = value
        if let target, target != unit {
            do {
                number = try HealthUnit(unit).convert(value, to: HealthUnit(target))
            } catch {
                throw ValueError("its unit cannot be converted to that of Exist")
            }
        }
        guard number.isFinite else { throw ValueError("it is not a finite number") }
        switch attribute.type {
        case .decimal: self.init(number, decimals: attribute.decimals)
        case .percentage:
            guard (0...1).contains(number) else { throw ValueError("it is not a fraction from 0 to 1") }
            self.init(number, decimals: attribute.decimals)
        case .whole: self.init(whole: try Self.whole(number))
        case .minutes:
            let minutes = try Self.whole(number)
            guard minutes >= 0 else { throw ValueError("a time cannot be negative") }
            self.init(whole: minutes)
        case .timeOfDay: self.init(whole: try Self.minuteOfDay(number))
        case .timeFromMidday: self.init(whole: (try Self.minuteOfDay(number) + 720) % 1_440)
        case .scale:
            let step = try Self.whole(number)
            guard (1...9).contains(step) else { throw ValueError("it is not from 1 to 9") }
            self.init(whole: step)
        case .truth: self.init(whole: number == 0 ? 0 : 1)
        case .text: throw ValueError("it holds text, and days are numbers")
        }
    }

    /// Why a value cannot be sent; the text never contains the value.
    struct ValueError: Error {
        let reason: String
        init(_ reason: String) { self.reason = reason }
    }

    private init(_ number: Double, decimals: Int) {
        var scale = 1.0
        for _ in 0..<decimals { scale *= 10 }
        let rounded = (number * scale).rounded() / scale
        // Numbers too large to have decimals are not rounded.
        let text = "\(rounded.isFinite ? rounded : number)"
        digits = text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }

    private init(whole: Int) { digits = "\(whole)" }

    private static func whole(_ number: Double) throws(ValueError) -> Int {
        guard let whole = Int(exactly: number.rounded()) else { throw ValueError("it is too large") }
        return whole
    }

    private static func minuteOfDay(_ number: Double) throws(ValueError) -> Int {
        let minute = try whole(number)
        guard (0..<1_440).contains(minute) else { throw ValueError("it is not a minute of a day") }
        return minute
    }
}
