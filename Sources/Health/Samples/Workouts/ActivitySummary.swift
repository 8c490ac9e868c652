package import JSON

/// The activity rings of one calendar day, as a source shows them.
///
/// They are the member `activitySummary` of a record of that type (Docs/Samples.md, Activity summaries). The day is the record's key,
/// ``Sample/activitySummaryDate``.
public struct ActivitySummary: Hashable, Sendable {
    /// One figure of the day, with the person's goal.
    public struct Figure: Hashable, Sendable {
        /// The value that the person has reached, in ``unit``.
        public var value: Double
        /// The goal; `nil` if the source has none.
        public var goal: Double?
        /// The unit of value and goal, as the source wrote it.
        public var unit: String

        /// Creates a figure, with its goal if there is one.
        public init(_ value: Double, goal: Double? = nil, unit: String) {
            (self.value, self.goal, self.unit) = (value, goal, unit)
        }

        /// The reached part of the goal, with 1 for the full goal; `nil` without a goal or if the goal is zero.
        public var partOfGoal: Double? { goal.flatMap { $0 > 0 ? value / $0 : nil } }
    }

    /// In a unit of energy.
    public var activeEnergyBurned: Figure?
    /// In units of time.
    public var appleMoveTime, appleExerciseTime: Figure?
    /// The number of hours in which the person stood, in `count`.
    public var appleStandHours: Figure?

    /// Creates a summary of the figures that the source has.
    public init(
        activeEnergyBurned: Figure? = nil, appleMoveTime: Figure? = nil, appleExerciseTime: Figure? = nil,
        appleStandHours: Figure? = nil
    ) {
        (self.activeEnergyBurned, self.appleMoveTime) = (activeEnergyBurned, appleMoveTime)
        (self.appleExerciseTime, self.appleStandHours) = (appleExerciseTime, appleStandHours)
    }

    /// 25 hours, plus a second for services that cut one off or add one.
    static let longestDay: Int64 = (25 * 3_600 + 1) * 1_000_000

    /// Each figure's name, its quantity type (`nil` for a number of hours), and its maximum for a day.
    private static let members: [(name: String, type: TypeID?, most: Double)] = [
        ("activeEnergyBurned", .activeEnergyBurned, .infinity), ("appleMoveTime", .appleMoveTime, 25 * 60),
        ("appleExerciseTime", .appleExerciseTime, 25 * 60), ("appleStandHours", nil, 25),
    ]

    /// Reads and checks the member of a record.
    init(_ value: JSONTree, _ registry: TypeRegistry) throws(PartError) {
        let reader = PartReader(value: value, place: SamplePart.activitySummary.rawValue)
        let members = try reader.members(Self.members.map(\.name))
        guard !members.isEmpty else { throw reader.fault("one of \(Self.members.map(\.name).joined(separator: ", "))") }
        var figures: [Figure?] = []
        for (name, type, most) in Self.members {
            guard let reader = members[name] else {
                figures.append(nil)
                continue
            }
            figures.append(try Figure(reader, type.flatMap(registry.type), most))
        }
        self.init(
            activeEnergyBurned: figures[0], appleMoveTime: figures[1], appleExerciseTime: figures[2],
            appleStandHours: figures[3])
    }

    /// The summary as it is written in a record.
    package var json: JSONTree {
        .object(
            zip(Self.members, [activeEnergyBurned, appleMoveTime, appleExerciseTime, appleStandHours])
                .compactMap { member, figure in figure.map { JSONTree.Member(member.name, $0.json) } })
    }
}

extension ActivitySummary.Figure {
    fileprivate init(_ reader: PartReader, _ type: HealthType?, _ most: Double) throws(PartError) {
        let members = try reader.members(["value", "goal", "unit"], required: ["value", "unit"])
        let unit = try members["unit"]?.text() ?? ""
        let own = type?.unit ?? "count"
        func number(_ reader: PartReader) throws(PartError) -> Double {
            let number = try reader.number(in: 0...Double.greatestFiniteMagnitude, unit)
            let value: Double?
            do throws(UnitError) {
                value =
                    try type == nil
                    ? HealthUnit(unit).convert(number, to: HealthUnit(own))
                    : type?.canonicalValue(number, unit: unit)
            } catch {
                throw PartError(
                    .unit,
                    "\(members["unit"]?.place ?? ""): \(error); expected \"\(own)\" or a unit of the same dimension")
            }
            guard let value, value <= most else {
                throw reader.fault("at most \(PartReader.text(most)) \(own), for a day has no more")
            }
            return number
        }
        guard let value = members["value"] else { throw reader.fault("a value") }
        self.init(try number(value), unit: unit)
        if let goal = members["goal"] { self.goal = try number(goal) }
    }

    fileprivate var json: JSONTree {
        .object(
            [.init("value", number: value)] + JSONTree.Member.optional("goal", number: goal)
                + [.init("unit", text: unit)])
    }
}
