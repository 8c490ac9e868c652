import GRDB
import Samples

/// The properties of a version that the ledger needs.
struct VersionProperties: Hashable {
    var sequence: Int64
    var type: Int64
    /// 0 if there is no person.
    var person: Int64
    /// The column `kind` of a sample, or `VersionProperties.day`.
    var kind: Int
    var isRetraction: Bool

    static let day = 6

    /// The same version as not retracted.
    var standing: VersionProperties {
        var facts = self
        facts.isRetraction = false
        return facts
    }

    /// The same version as a retraction.
    func retracted(at sequence: Int64) -> VersionProperties {
        var facts = self
        (facts.sequence, facts.isRetraction) = (sequence, true)
        return facts
    }
}

/// A sink's filter in the store's own ids.
struct SinkMatch {
    private let types: Set<Int64>?
    private let exceptTypes: Set<Int64>
    private let persons: Set<Int64>?
    private let kinds: KindSelection
    /// One bit per kind: for records that are not retracted, and for retractions.
    private let standing, takenBack: UInt8

    /// A type without an id has no records.
    ///
    /// Opening a sink gives its types ids, so the set stays complete.
    init(_ filter: SinkFilter, in db: Database) throws {
        func ids(_ types: Set<TypeID>) throws -> Set<Int64> {
            Set(try types.compactMap { try Filter.term($0.rawValue, in: db) })
        }
        types = try filter.types.map(ids)
        exceptTypes = try ids(filter.exceptTypes)
        persons = try filter.persons.map { persons in
            Set(try persons.compactMap { try Filter.person($0, in: db) })
        }
        kinds = filter.kinds.map { KindSelection($0, followsChanges: true) } ?? .everything
        (standing, takenBack) = (SinkMatch.bits(kinds.standing), SinkMatch.bits(kinds.takenBack))
    }

    private static func bits(_ kinds: Set<RecordKind>) -> UInt8 {
        kinds.compactMap(\.code).reduce(0) { $0 | 1 << UInt8($1) }
    }

    func matches(type: Int64, person: Int64, kind: Int, isRetraction: Bool) -> Bool {
        guard person != 0, (isRetraction ? takenBack : standing) & (1 << UInt8(kind)) != 0 else { return false }
        return types?.contains(type) ?? true && !exceptTypes.contains(type) && persons?.contains(person) ?? true
    }

    func matches(_ facts: VersionProperties) -> Bool {
        matches(type: facts.type, person: facts.person, kind: facts.kind, isRetraction: facts.isRetraction)
    }

    /// Whether the sink wants records of this kind that are not retracted.
    func wants(_ kind: Int) -> Bool { standing & (1 << UInt8(kind)) != 0 }

    // MARK: - In SQL

    /// The matching rows with a sequence number in (after, through], in up to four runs, each sorted by sequence number.
    func runs(after: Int64, through: Int64) -> [Run] {
        guard types?.isEmpty != true, persons?.isEmpty != true, after < through else { return [] }
        var who = [persons.map { "+person IN (\(SinkMatch.list($0)))" } ?? "+person IS NOT NULL"]
        if let types { who.append("+type IN (\(SinkMatch.list(types)))") }
        if !exceptTypes.isEmpty { who.append("+type NOT IN (\(SinkMatch.list(exceptTypes)))") }
        let range = "BETWEEN \(after + 1) AND \(through)"
        var runs: [Run] = []
        for (table, kinds) in [(Lane.Table.sample, kinds.sampleRows), (.day, kinds.dayRows)] {
            guard let kinds else { continue }
            let moved = table == .sample ? "sample_moved" : "day_moved"
            runs.append(
                Run(
                    table: table, index: "NOT INDEXED", conditions: ["number \(range)", "seq = number", kinds] + who,
                    sort: "number"))
            runs.append(
                Run(
                    table: table, index: "INDEXED BY \(moved)",
                    conditions: ["seq <> number", "seq \(range)", kinds] + who, sort: nil))
        }
        return runs
    }

    /// Rows of one table in order.
    struct Run {
        let table: Lane.Table
        let index: String
        let conditions: [String]
        /// The sort column in the form that `Lane` expects.
        let sort: String?
    }

    private static func list(_ ids: Set<Int64>) -> String { ids.sorted().map(String.init).joined(separator: ", ") }
}
