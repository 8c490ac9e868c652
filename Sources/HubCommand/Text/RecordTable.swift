import HealthText
import HubClient
import HubWire
import HubWords
import Samples

/// Records in lines.
extension RecordText {
    /// - Parameter units: how persons read values and dates.
    init(_ stored: StoredRecord, _ units: ReadingUnits, workout: WorkoutFigures? = nil) {
        self.init(stored, workout: workout) { units[$0] }
    }

    /// The columns of a list of records.
    static func table() -> Table {
        Table([
            ("TIME", .left), ("PERSON", .left), ("TYPE", .left), ("VALUE", .left), ("SOURCE", .left),
            ("NUMBER", .right),
        ])
    }

    /// A table of records; nothing where there is none.
    static func lines(of records: [StoredRecord], _ units: ReadingUnits) -> [String] {
        var table = table()
        for record in records { table.add(RecordText(record, units).cells) }
        return records.isEmpty ? [] : table.takeLines()
    }

    /// The cells of ``table()``.
    var cells: [String] { [time, person, type, value, source, number] }
}

extension DoorClient {
    /// Duration, energy and distance of a workout; nil for other records.
    func workoutFigures(of stored: StoredRecord) throws -> WorkoutFigures? {
        guard case .sample(let sample) = stored.record else { return nil }
        guard let group = sample.group, WorkoutFigures.needsMembers(sample) else { return WorkoutFigures(sample) }
        var query = QueryRequest(id: 0, limit: Self.mostMembers + 1)
        query.filter.group = group
        query.filter.sources = [sample.source.plugin]
        query.filter.types = WorkoutFigures.memberTypes.map(\.rawValue)
        var members: [StoredRecord] = []
        var reader = RecordReader()
        try pages(query) { records, _ in for record in records { members.append(try reader.record(record)) } }
        // A part of them would be a wrong sum.
        return WorkoutFigures(sample, members: members.count > Int(Self.mostMembers) ? [] : members)
    }

    /// Records of a group that are added up for one line.
    private static let mostMembers: Int64 = 2_000
}
