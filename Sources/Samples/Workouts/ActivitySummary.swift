package import JSON

/// The rings of one calendar day, as a source shows them: the member `activitySummary` of a record of that type
/// (Docs/Samples.md, Activity summaries).
///
/// The day is the record's key, ``Sample/activitySummaryDate``.
public struct ActivitySummary: Hashable, Sendable {
    /// One number of the day, and what the person wants it to be.
    public struct Figure: Hashable, Sendable {
        /// What the person has reached, in ``unit``.
        public var value: Double
        /// `nil` where the source has none.
        public var goal: Double?
        /// Of both, as the source wrote it.
        public var unit: String

        /// A number, with its goal where there is one.
        public init(_ value: Double, goal: Double? = nil, unit: String) {
            (self.value, self.goal, self.unit) = (value, goal, unit)
        }

        /// 1 where the goal is just reached; `nil` without a goal, and of a goal of zero, which nothing is a part of.
        public var partOfGoal: Double? { goal.flatMap { $0 > 0 ? value / $0 : nil } }
    }

    /// In a unit of energy.
    public var activeEnergyBurned: Figure?
    /// In units of time.
    public var appleMoveTime, appleExerciseTime: Figure?
    /// How many hours the person stood in, in `count`.
    public var appleStandHours: Figure?

    /// The figures that the source has.
    public init(
        activeEnergyBurned: Figure? = nil, appleMoveTime: Figure? = nil, appleExerciseTime: Figure? = nil,
        appleStandHours: Figure? = nil
    ) {
        (self.activeEnergyBurned, self.appleMoveTime) = (activeEnergyBurned, appleMoveTime)
        (self.appleExerciseTime, self.appleStandHours) = (appleExerciseTime, appleStandHours)
    }

    static let name = "activitySummary"
    /// Of 25 hours, and the second that services cut off or add.
    static let longestDay: Int64 = (25 * 3_600 + 1) * 1_000_000

    /// By name: the quantity type that a figure is of, `nil` for a number of hours, and the most that a day has room for.
    private static let members: [(name: String, type: TypeID?, most: Double)] = [
        ("activeEnergyBurned", .activeEnergyBurned, .infinity), ("appleMoveTime", .appleMoveTime, 25 * 60),
        ("appleExerciseTime", .appleExerciseTime, 25 * 60), ("appleStandHours", nil, 25),
    ]

    /// Reads and checks the member of a record.
    init(_ value: JSONTree, _ registry: TypeRegistry) throws(PartFault) {
        let reader = PartReader(value: value, place: Self.name)
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

    /// As a record has it.
    package var json: JSONTree {
        .object(
            zip(Self.members, [activeEnergyBurned, appleMoveTime, appleExerciseTime, appleStandHours])
                .compactMap { member, figure in figure.map { JSONTree.Member(member.name, $0.json) } })
    }
}

extension ActivitySummary.Figure {
    fileprivate init(_ reader: PartReader, _ type: HealthType?, _ most: Double) throws(PartFault) {
        let members = try reader.members(["value", "goal", "unit"], required: ["value", "unit"])
        let unit = try members["unit"]?.text() ?? ""
        let own = type?.unit ?? "count"
        func number(_ reader: PartReader) throws(PartFault) -> Double {
            let number = try reader.number(in: 0...Double.greatestFiniteMagnitude, unit)
            let value: Double?
            do throws(UnitError) {
                value =
                    try type == nil
                    ? HealthUnit(unit).convert(number, to: HealthUnit(own))
                    : type?.canonicalValue(number, unit: unit)
            } catch {
                throw PartFault(
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
