import HealthText
import PluginKit

/// The goals of persons, from the setting `goals`.
struct Goals: Sendable {
    private struct Goal: Sendable {
        let person: String
        let type: TypeID
        /// In the type's unit.
        let value: Double
    }

    static let declaration = SettingDeclaration(
        "goals",
        .list(
            of: .string(
                TextRule(
                    pattern: "[^=:]+(:[^=:]+)?=[0-9]+([.][0-9]+)? ?[^0-9 ].*|[^=:]+:[^=:]+=[0-9]+([.][0-9]+)?",
                    expected: "a person, = and a weight with its unit, or person:type=value", example: "anna=70kg"))),
        help:
            "What persons want to reach, such as \"anna=70kg\" or \"anna:stepCount=8000\": a line in the chart, and when it "
            + "is reached at the present rate.", default: .list([]))

    private let goals: [Goal]

    /// - Throws: `PluginFailure` that names each invalid goal.
    init(_ texts: [String]) throws {
        goals = try PluginSettings.each(texts) { text in
            let sides = text.split(separator: "=", maxSplits: 1).map(String.init)
            let names = sides[0].split(separator: ":", maxSplits: 1).map(String.init)
            guard let type = TypeRegistry.standard.resolve(names.count > 1 ? names[1] : "weight"), let own = type.unit
            else { throw Self.failure(text, "there is no such type of numbers") }
            let digits = sides[1].prefix { $0.isNumber || $0 == "." }
            let unit = sides[1][digits.endIndex...].trimmingPrefix { $0 == " " }
            guard let number = Double(digits), number > 0 else { throw Self.failure(text, "it has no number above 0") }
            guard !unit.isEmpty || own == "count" else { throw Self.failure(text, "it has no unit, such as kg") }
            // Fractions are written as percent.
            let isPercent = unit == "%"
            do {
                let value = try type.canonicalValue(
                    isPercent ? number / 100 : number, unit: unit.isEmpty ? own : String(unit))
                return Goal(person: names[0], type: type.id, value: value ?? number)
            } catch { throw Self.failure(text, "\(error)") }
        }
    }

    /// The persons with goals.
    var persons: Set<String> { Set(goals.map(\.person)) }

    private static func failure(_ text: String, _ reason: String) -> PluginFailure {
        PluginFailure(.settings, "setting goals: \"\(text)\": \(reason)")
    }

    /// The goal in the type's unit.
    func value(of type: TypeID, for person: String) -> Double? {
        goals.last { PersonName.folded($0.person) == PersonName.folded(person) && $0.type == type }?.value
    }
}

/// When a goal is reached at the rate of the last four weeks.
enum GoalForecast: Equatable {
    case reached
    case on(LocalDate)
    /// In more than five years.
    case inDistantFuture
    case recedes
    case tooFewDays

    /// Uses the same days for any range of a chart.
    ///
    /// - Parameter latest: the last value, in the type's unit.
    init(goal: Double, latest: Double, _ line: DayLine, today: LocalDate) {
        let start = today.adding(days: -DayLine.before)
        self.init(
            goal: goal, first: line.measured.first { $0.date >= start }?.value, latest: latest,
            rate: line.rate(until: today), today: today)
    }

    /// - Parameter first: the first value of the last year, which determines the side from which the goal is approached.
    init(goal: Double, first: Double?, latest: Double, rate: DayLine.Rate?, today: LocalDate) {
        let side = (first ?? latest) - goal
        if latest == goal || side * (latest - goal) < 0 {
            self = .reached
            return
        }
        guard let rate else {
            self = .tooFewDays
            return
        }
        let days = (goal - rate.today) / rate.perDay
        if (goal - latest) * rate.perDay <= 0 {
            self = .recedes
        } else if days > 5 * 366 || !days.isFinite {
            self = .inDistantFuture
        } else {
            // The line may have crossed the goal already, but the values have not: tomorrow at the earliest.
            self = .on(today.adding(days: max(1, Int(days.rounded(.up)))))
        }
    }

    func words(_ reader: DisplayPreferences) -> String {
        switch self {
        case .reached: "It is reached."
        case .on(let date): "At the rate of the last four weeks it is reached on \(reader.date(date))."
        case .inDistantFuture: "At the rate of the last four weeks it is not reached within five years."
        case .recedes: "At the rate of the last four weeks it is not reached: the values move away from it."
        case .tooFewDays:
            "The date cannot be estimated yet: that takes measurements on three days, a week or more apart, within four weeks."
        }
    }
}
