import HealthText
import HubClient
import HubWire
import Samples

/// Records as lines of a table.
extension RecordText {
    /// - Parameter units: how persons read values and dates.
    init(_ stored: StoredRecord, _ units: ReadingUnits) { self.init(stored) { units[$0] } }

    /// A record together with related data of the hub: figures of a workout, values of a blood pressure, and the record before its retraction.
    init(_ stored: StoredRecord, _ units: ReadingUnits, _ door: DoorClient) throws {
        self.init(
            stored, workout: try door.workoutFigures(of: stored), members: try door.members(of: stored),
            retracted: try door.retracted(by: stored)
        ) { units[$0] }
    }

    /// The columns of a list of records.
    static func table() -> Table { Table(["TIME", "PERSON", "TYPE", "VALUE", "SOURCE", .right("NUMBER")]) }

    /// A table of records; empty if there are none.
    static func lines(of records: [StoredRecord], _ units: ReadingUnits, _ door: DoorClient) throws -> [String] {
        var table = table()
        for record in records { table.add(try RecordText(record, units, door).cells) }
        return records.isEmpty ? [] : table.takeLines()
    }

    /// Names the mirrors of these records: a command by number does not change them.
    static func copies(of records: [StoredRecord]) -> [String] {
        let others = Set(records.flatMap(\.mirrors)).subtracting(records.map(\.number)).sorted()
        guard !others.isEmpty else { return [] }
        let (be, stay) = others.count == 1 ? ("is", "stays") : ("are", "stay")
        let names = others.prefix(maximumCopies).map { "\($0)" }.joined(separator: " ")
        let more =
            others.count > maximumCopies ? " and \(NumberText.grouped(Int64(others.count - maximumCopies))) more" : ""
        return ["the same by another source \(be) \(names)\(more), and \(stay)"]
    }

    /// Maximum number of mirrors that are named.
    private static let maximumCopies = 20

    /// The cells of ``table()``.
    var cells: [String] { [time, person, type, value, source, number] }
}

extension DoorClient {
    /// The record before its retraction; `nil` for other records, and if it was erased.
    func retracted(by stored: StoredRecord) throws -> StoredRecord? {
        guard case .retraction = stored.record else { return nil }
        do {
            return try RecordStory(try ask(.trace, number: stored.number, limit: 1, next: nil)).retracted
        } catch let failure as Failure where failure.exit == .usage {
            return nil  // An erased record has no history.
        }
    }

    /// The members of a correlation with fixed members, such as a blood pressure; empty for other records.
    fileprivate func members(of stored: StoredRecord) throws -> [StoredRecord] {
        guard case .sample(let sample) = stored.record, let group = sample.group,
            let needed = TypeRegistry.standard.type(stored.type)?.requiredMembers, !needed.isEmpty
        else { return [] }
        return try records(of: group, sample.source.plugin, needed)
    }

    /// Duration, energy and distance of a workout; nil for other records.
    func workoutFigures(of stored: StoredRecord) throws -> WorkoutFigures? {
        guard case .sample(let sample) = stored.record else { return nil }
        guard let group = sample.group, WorkoutFigures.needsMembers(sample) else { return WorkoutFigures(sample) }
        let members = try records(of: group, sample.source.plugin, WorkoutFigures.memberTypes)
        // The sum of only a part of them would be wrong.
        return WorkoutFigures(sample, members: members.count > Int(Self.maximumMembers) ? [] : members)
    }

    private func records(of group: String, _ plugin: String, _ types: [TypeID]) throws -> [StoredRecord] {
        var query = QueryRequest(id: 0, limit: Self.maximumMembers + 1)
        query.filter.group = group
        (query.filter.sources, query.filter.types) = ([plugin], types.map(\.rawValue))
        return try records(query)
    }

    /// Maximum number of records of a group that are added up for one line.
    private static let maximumMembers: Int64 = 2_000
}
