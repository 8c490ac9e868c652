import HealthText
import PluginKit

/// What persons want to reach, as the setting `goals` says.
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

    /// - Throws: `PluginFailure` that names each goal that cannot be read.
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
            // A fraction is written as people read it.
            let isPercent = unit == "%"
            do {
                let value = try type.canonicalValue(
                    isPercent ? number / 100 : number, unit: unit.isEmpty ? own : String(unit))
                return Goal(person: names[0], type: type.id, value: value ?? number)
            } catch {
                throw Self.failure(text, "\(error)")
            }
        }
    }

    /// Whose they are.
    var persons: Set<String> { Set(goals.map(\.person)) }

    private static func failure(_ text: String, _ reason: String) -> PluginFailure {
        PluginFailure(.settings, "setting goals: \"\(text)\": \(reason)")
    }

    /// In the type's unit.
    func value(of type: TypeID, for person: String) -> Double? {
        goals.last { PersonName.folded($0.person) == PersonName.folded(person) && $0.type == type }?.value
    }
}

/// When a goal is reached if all goes on as in the last four weeks.
enum GoalForecast: Equatable {
    case reached
    case on(LocalDate)
    /// Later than in five years.
    case farAway
    case movesAway
    case tooFewDays

    /// Of the same days whatever a chart shows.
    ///
    /// - Parameter latest: the last value, in the type's unit.
    init(goal: Double, latest: Double, _ line: DayLine, today: LocalDate) {
        let start = today.adding(days: -DayLine.before)
        self.init(
            goal: goal, first: line.measured.first { $0.date >= start }?.value, latest: latest,
            rate: line.rate(until: today), today: today)
    }

    /// - Parameter first: where the person comes from: the first value of the last year.
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
            self = .movesAway
        } else if days > 5 * 366 || !days.isFinite {
            self = .farAway
        } else {
            // Where the line has crossed the goal already, the days have not: tomorrow, at the earliest.
            self = .on(today.adding(days: max(1, Int(days.rounded(.up)))))
        }
    }

    func words(_ reader: Reader) -> String {
        switch self {
        case .reached: "It is reached."
        case .on(let date): "At the rate of the last four weeks it is reached on \(reader.date(date))."
        case .farAway: "At the rate of the last four weeks it is not reached within five years."
        case .movesAway: "At the rate of the last four weeks it is not reached: the values move away from it."
        case .tooFewDays:
            "When it is reached cannot be said yet: that takes measurements on three days, a week or more apart, within four weeks."
        }
    }
}
