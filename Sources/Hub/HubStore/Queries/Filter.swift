import GRDB
import Samples

/// A query in the store's own terms: ids for names, SQL for conditions.
///
/// Ids are this file's own integers, so they are inserted into the SQL directly. All texts are bound.
struct Filter {
    /// `nil` for any; 0 for no person.
    private(set) var persons: [Int64]?
    private(set) var types: [Int64]?
    /// Sources of the requested plugins.
    private(set) var sources: [Int64]?
    /// Conditions on the kind in `sample` and `day`; `nil` if no row can match.
    let sampleKinds: String?
    let dayKinds: String?
    let query: RecordQuery
    /// The condition that a sample is or is not a guest's; empty if the query does not ask for it.
    let guests: [String]
    private let kinds: KindSelection
    /// The read permissions; `nil` for every type.
    private let granted: Granted?

    /// An allowance in this store's ids.
    private struct Granted {
        /// `IN (…)` or `NOT IN (…)`.
        let types: String
        let ownSources: [Int64]
        /// The term of the plugin kind.
        let own: Int64?

        init?(_ allowance: ReadAllowance?, in db: Database) throws {
            guard let allowance, !allowance.types.isAll else { return nil }
            let (only, except) = (allowance.types.only, allowance.types.except)
            types = "\(only == nil ? "NOT " : "")IN (\(Filter.list(try Filter.types(only ?? except, in: db))))"
            ownSources = try allowance.own.map { try Filter.sources($0, in: db) } ?? []
            own = try allowance.own.flatMap { try Filter.term($0, in: db) }
        }

        func condition(type: String, source: String) -> String {
            "(\(type) \(types)\(ownSources.isEmpty ? "" : " OR \(source) IN (\(Filter.list(ownSources)))"))"
        }
    }

    /// The reason of a retraction that notifies a follower of a record that no longer matches the query.
    static let ceased = "does not meet the query now"

    /// A day in microseconds.
    static let dayLength: Int64 = 86_400_000_000

    init(_ query: RecordQuery, in db: Database) throws {
        self.query = query
        kinds =
            query.kinds
            ?? KindSelection(RecordKind.samples.union([.day]), followsChanges: query.order == .sequence)
        (sampleKinds, dayKinds) = (kinds.sampleRows, query.isImplausible || query.isGuest == true ? nil : kinds.dayRows)
        types = try query.types.map { try Filter.types($0, in: db) }
        guests =
            try query.isGuest.map { isGuest in
                guard case .nobody(let word) = Assignment.guest else { return [] }
                let id = try Filter.term(word, in: db) ?? 0
                return ["unassigned IS \(isGuest ? "" : "NOT ")\(id)"]
            } ?? []
        granted = try Granted(query.allowance, in: db)
        persons = try query.persons.map { persons in
            try persons.compactMap { whose in
                switch whose {
                case .nobody: 0
                case .person(let person): try Filter.person(person, in: db)
                }
            }.sorted()
        }
        sources = try query.sources.map { plugins in try plugins.flatMap { try Filter.sources($0, in: db) }.sorted() }
    }

    /// The ids of the types that have a term.
    private static func types(_ types: Set<TypeID>, in db: Database) throws -> [Int64] {
        try types.map(\.rawValue).sorted().compactMap { try term($0, in: db) }
    }

    static func sources(_ plugin: String, in db: Database) throws -> [Int64] {
        try Int64.fetchAll(db, sql: "SELECT id FROM source WHERE plugin = ? ORDER BY id", arguments: [plugin])
    }

    /// Whether retractions of samples are requested.
    var wantsRetractions: Bool { !kinds.takenBack.isDisjoint(with: RecordKind.samples) }

    /// The requested records, as a list.
    var numbers: String? { query.numbers.map { Filter.list($0.sorted()) } }

    /// Whether unknown names in the query make its result empty.
    var isEmpty: Bool {
        types?.isEmpty == true || persons?.isEmpty == true || sources?.isEmpty == true || query.numbers?.isEmpty == true
    }

    /// The id of the person with this uid, or if there is none, with this name.
    static func person(_ uidOrName: String, in db: Database) throws -> Int64? {
        try id(
            "SELECT id FROM person WHERE uid = ?1 UNION ALL SELECT id FROM person WHERE name = ?1 LIMIT 1", uidOrName,
            db)
    }

    /// The id of a word that is stored.
    static func term(_ text: String, in db: Database) throws -> Int64? {
        try id("SELECT id FROM term WHERE text = ?", text, db)
    }

    private static func id(_ sql: String, _ text: String, _ db: Database) throws -> Int64? {
        let statement = try RawStatement(cached: sql, in: db)
        defer { statement.clear() }
        statement.bind(1, text)
        return try statement.step() ? statement.integer(0) : nil
    }

    // MARK: - Conditions

    /// Conditions on person, type and source.
    var who: [String] {
        var conditions: [String] = []
        if let types { conditions.append("type IN (\(Filter.list(types)))") }
        if let persons { conditions.append("ifnull(person, 0) IN (\(Filter.list(persons)))") }
        return conditions + from
    }

    var doubtful: [String] { query.isImplausible ? ["implausible IS NOT NULL"] : [] }

    /// Conditions beyond `who` that a changed sample may no longer meet, as far as SQL can express them.
    var sampleCeasing: [String] {
        sampleTimes + doubtful + guests + (query.group == nil ? [] : ["grouping = ?1"])
    }

    /// Excludes records that ended before the permitted time, however they have changed.
    func recent(_ table: Lane.Table) -> [String] {
        guard let since = query.allowance?.since else { return [] }
        return [table == .day ? "date >= \(Filter.floor(since))" : "start + duration >= \(since)"]
    }

    /// Conditions for departures that a follower must receive; `nil` if the query asks for all persons, types and kinds, or for no retractions.
    ///
    /// The sample's time is not a condition, because the time may be what changed. For a query by person, type or kind alone, a sample has left only
    /// while it has another person, another type, or a type of another kind.
    var departures: [String]? {
        guard wantsRetractions,
            query.since != nil || !query.isImplausible && query.isGuest == nil && query.condition == nil
        else { return nil }
        var ways: [String] = []
        if persons != nil { ways.append("ifnull(s.person, 0) <> ifnull(d.person, 0)") }
        if types != nil || granted != nil {
            ways.append("s.type <> d.type")
        } else if !kinds.standing.isSuperset(of: RecordKind.samples) {
            ways.append("(s.type <> d.type AND s.kind NOT IN (\(KindSelection.list(kinds.standing))))")
        }
        if ways.isEmpty { return nil }
        var conditions = ["(\(ways.joined(separator: " OR ")))"]
        if let persons { conditions.append("ifnull(d.person, 0) IN (\(Filter.list(persons)))") }
        if let types { conditions.append("d.type IN (\(Filter.list(types)))") }
        if !kinds.takenBack.isSuperset(of: RecordKind.samples) {
            // The version that left is the last version shown before the departure.
            conditions.append(
                """
                (SELECT v.kind FROM sample_version v WHERE v.number = d.number AND v.seq < d.seq AND v.covered IS NULL
                    ORDER BY v.seq DESC LIMIT 1) IN (\(KindSelection.list(kinds.takenBack)))
                """)
        }
        if let sources { conditions.append("s.source IN (\(Filter.list(sources)))") }
        if let granted { conditions.append(granted.condition(type: "d.type", source: "s.source")) }
        if let since = query.allowance?.since { conditions.append("s.start + s.duration >= \(since)") }
        return conditions
    }

    /// Conditions on the source and on the permitted types.
    var from: [String] {
        (sources.map { ["source IN (\(Filter.list($0)))"] } ?? [])
            + (granted.map { [$0.condition(type: "type", source: "source")] } ?? [])
    }

    /// Restricts streams of samples to those that may contain permitted records.
    var streams: String {
        guard let granted else { return "" }
        return "AND (ifnull(type, 0) \(granted.types)\(granted.own.map { " OR label = \($0)" } ?? ""))"
    }

    /// Conditions on a sample's time, by HealthKit's rules: without options it must overlap [from, to).
    var sampleTimes: [String] {
        var conditions: [String] = []
        if let from = query.from {
            conditions.append(query.strictStart ? "start >= \(from)" : "start + duration >= \(from)")
        }
        if query.strictStart { conditions += recent(.sample) }
        if let to = query.to {
            conditions.append("start < \(to)")
            if query.strictEnd { conditions.append("start + duration < \(to)") }
        }
        return conditions
    }

    /// The same for a day, which ends a microsecond before the next midnight in the time zone of the query's span.
    var dayTimes: [String] {
        let (low, high) = dates
        return (low > .min ? ["date >= \(low)"] : []) + (high < .max ? ["date <= \(high)"] : [])
    }

    /// The first and the last day.
    var dates: (low: Int64, high: Int64) {
        var (low, high) = (Int64.min, Int64.max)
        if let from = query.from.map({ $0 + Int64(query.fromOffset) * 60_000_000 }) {
            let floor = Filter.floor(from)
            low = floor + (query.strictStart && from != floor * Filter.dayLength ? 1 : 0)
        }
        if let since = query.allowance?.since { low = max(low, Filter.floor(since)) }
        if let to = query.to.map({ $0 + Int64(query.toOffset) * 60_000_000 }) {
            let floor = Filter.floor(to)
            high = (query.strictEnd || to == floor * Filter.dayLength ? floor : floor + 1) - 1
        }
        return (low, high)
    }

    /// The UTC day of a moment.
    static func floor(_ microseconds: Int64) -> Int64 {
        let quotient = microseconds / dayLength
        return microseconds % dayLength < 0 ? quotient - 1 : quotient
    }

    static func list(_ ids: [Int64]) -> String { ids.map(String.init).joined(separator: ", ") }
}
