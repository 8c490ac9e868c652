import Foundation
import PluginKit

/// One date of one attribute.
struct DayKey: Hashable, Sendable, Comparable {
    /// The name in the setting `attributes`.
    let attribute: String
    let date: LocalDate

    static func < (left: DayKey, right: DayKey) -> Bool {
        (left.attribute, left.date.daysSinceEpoch) < (right.attribute, right.date.daysSinceEpoch)
    }

    /// The state key of the month that contains this day.
    var month: String { "held/\(attribute)/\(date.text.prefix(7))" }
}

/// The values that Exist holds for a day, as far as its answers show.
struct HeldDay: Codable, Hashable, Sendable {
    /// The digits that Exist confirmed last.
    var confirmed: String?
    /// Digits of calls whose answers were lost: Exist may hold one of them instead.
    var possible: [String]?
    /// Digits that Exist refused, and why.
    var refused: Rejection?
    /// The hub no longer has a value, but Exist still holds one.
    var isOrphaned: Bool?

    struct Rejection: Codable, Hashable, Sendable {
        var digits: String
        var reason: String
    }

    /// Whether Exist certainly holds this value.
    func has(_ value: ExistValue) -> Bool { confirmed == value.digits && possible == nil }

    /// Whether Exist may hold a value.
    var mayHold: Bool { confirmed != nil || possible != nil }

    var isEmpty: Bool { self == HeldDay() }
}

/// The days that Exist holds, stored as one state entry per attribute and month.
struct HeldDays: Sendable {
    private(set) var days: [DayKey: HeldDay] = [:]

    init() {}

    /// Reads all days from the state.
    init(_ state: PluginState) throws {
        days = try state.transaction { transaction in
            var days: [DayKey: HeldDay] = [:]
            for name in try transaction.keys(prefix: "held/") {
                let parts = name.split(separator: "/").map(String.init)
                guard parts.count == 3, let bytes = try transaction.bytes(name),
                    let month = try? JSONDecoder().decode([String: HeldDay].self, from: Data(bytes))
                else { continue }
                for (day, held) in month {
                    guard let date = LocalDate("\(parts[2])-\(day)") else { continue }
                    days[DayKey(attribute: parts[1], date: date)] = held
                }
            }
            return days
        }
    }

    subscript(_ key: DayKey) -> HeldDay {
        get { days[key] ?? HeldDay() }
        set { days[key] = newValue.isEmpty ? nil : newValue }
    }

    /// Forgets old days, so that the state does not grow without limit.
    mutating func forget(before date: LocalDate) -> Set<String> {
        let old = days.keys.filter { $0.date < date }
        for key in old { days[key] = nil }
        return Set(old.map(\.month))
    }

    /// The current state entries of some months.
    func entries(of months: Set<String>) throws -> [String: StateValue?] {
        var contents = Dictionary(uniqueKeysWithValues: months.map { ($0, [String: HeldDay]()) })
        for (key, held) in days where months.contains(key.month) {
            contents[key.month]?[String(key.date.text.suffix(2))] = held
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return try contents.mapValues { days in
            days.isEmpty ? nil : .bytes(Array(try encoder.encode(days)))
        }
    }
}
