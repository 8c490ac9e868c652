import GRDB
import Samples

/// A query in the store's own terms: ids for names, SQL for conditions.
///
/// Ids are this file's own integers, so they stand in the SQL as they are; every text is bound.
struct Filter {
    /// `nil` for any; 0 stands for nobody.
    private(set) var persons: [Int64]?
    private(set) var types: [Int64]?
    /// Sources of the asked plugins.
    private(set) var sources: [Int64]?
    /// Which rows of `sample` and `day` fit by kind; `nil` when none can.
    let sampleKinds: String?
    let dayKinds: String?
    /// Whether retractions are asked for.
    let wantsRetractions: Bool
    let query: RecordQuery

    /// A day in microseconds.
    static let dayLength: Int64 = 86_400_000_000

    init(_ query: RecordQuery, in db: Database) throws {
        self.query = query
        let retractions = query.kinds?.contains(.retraction) ?? (query.order == .sequence)
        wantsRetractions = retractions
        let all = "0, 1, 2, 3, 4, 5"
        let samples = query.kinds.map { kinds in
            kinds.compactMap(Filter.code).sorted().map(String.init).joined(separator: ", ")
        }
        sampleKinds =
            switch (samples ?? all, retractions) {
            case ("", true): "retracted IS NOT NULL"
            case ("", false): nil
            case (all, true): "1"
            case (all, false): "retracted IS NULL"
            case (let codes, true): "(retracted IS NOT NULL OR kind IN (\(codes)))"
            case (let codes, false): "retracted IS NULL AND kind IN (\(codes))"
            }
        dayKinds =
            switch (query.kinds?.contains(.day) ?? true, retractions) {
            case (true, true): "1"
            case (true, false): "retracted IS NULL"
            case (false, true): "retracted IS NOT NULL"
            case (false, false): nil
            }
        types = try query.types.map { types in
            try types.map(\.rawValue).sorted().compactMap {
                try Filter.id("SELECT id FROM term WHERE text = ?", $0, db)
            }
        }
        persons = try query.persons.map { persons in
            try persons.compactMap { whose in
                switch whose {
                case .nobody: 0
                case .person(let person): try Filter.person(person, in: db)
                }
            }.sorted()
        }
        sources = try query.sources.map { plugins in
            try plugins.flatMap {
                try Int64.fetchAll(db, sql: "SELECT id FROM source WHERE plugin = ?", arguments: [$0])
            }.sorted()
        }
    }

    /// The asked records, as a list.
    var numbers: String? { query.numbers.map { Filter.list($0.sorted()) } }

    /// Whether some name of the query is unknown to the store in a way that leaves nothing to find.
    var isEmpty: Bool {
        types?.isEmpty == true || persons?.isEmpty == true || sources?.isEmpty == true || query.numbers?.isEmpty == true
    }

    /// The id of the person of this uid or, where no uid is so, of this name.
    static func person(_ uidOrName: String, in db: Database) throws -> Int64? {
        try id(
            "SELECT id FROM person WHERE uid = ?1 UNION ALL SELECT id FROM person WHERE name = ?1 LIMIT 1", uidOrName,
            db)
    }

    static func id(_ sql: String, _ text: String, _ db: Database) throws -> Int64? {
        let statement = try RawStatement(cached: sql, in: db)
        defer { statement.clear() }
        statement.bind(1, text)
        return try statement.step() ? statement.integer(0) : nil
    }

    private static func code(_ kind: RecordKind) -> Int? {
        switch kind {
        case .quantity: 0
        case .category: 1
        case .correlation: 2
        case .workout: 3
        case .characteristic: 4
        case .other: 5
        case .day, .retraction: nil
        }
    }

    // MARK: - Conditions

    /// Person, type and source; `+` keeps SQLite from leaving the order of change for another index, which would sort millions of rows.
    var who: [String] {
        var conditions: [String] = []
        if let types { conditions.append("+type IN (\(Filter.list(types)))") }
        if let persons { conditions.append("ifnull(person, 0) IN (\(Filter.list(persons)))") }
        return conditions + from
    }

    /// Which departures a follower must learn; `nil` when there is no question of persons or types, or none of retractions.
    ///
    /// When the sample was is no question here: where it was may be what changed. To who asks for persons alone, or types alone, it has
    /// left only while it is another's, or of another type.
    var departures: [String]? {
        guard wantsRetractions, persons != nil || types != nil else { return nil }
        var conditions = ["d.ended IS NULL"]
        if let persons { conditions.append("ifnull(d.person, 0) IN (\(Filter.list(persons)))") }
        if persons == nil { conditions.append("s.type <> d.type") }
        if types == nil { conditions.append("ifnull(s.person, 0) <> ifnull(d.person, 0)") }
        if let types { conditions.append("d.type IN (\(Filter.list(types)))") }
        if let sources { conditions.append("s.source IN (\(Filter.list(sources)))") }
        return conditions
    }

    /// The source alone.
    var from: [String] { sources.map { ["+source IN (\(Filter.list($0)))"] } ?? [] }

    /// When a sample was, by HealthKit's rules: without an option it must overlap [from, to).
    var sampleTimes: [String] {
        var conditions: [String] = []
        if let from = query.from {
            conditions.append(query.strictStart ? "start >= \(from)" : "start + duration >= \(from)")
        }
        if let to = query.to {
            conditions.append("start < \(to)")
            if query.strictEnd { conditions.append("start + duration < \(to)") }
        }
        return conditions
    }

    /// The same for a day, which ends a microsecond before the next midnight UTC.
    var dayTimes: [String] {
        var conditions: [String] = []
        if let from = query.from {
            let first =
                Filter.floor(from) + (query.strictStart && from != Filter.floor(from) * Filter.dayLength ? 1 : 0)
            conditions.append("date >= \(first)")
        }
        if let to = query.to {
            let floor = Filter.floor(to)
            let bound = query.strictEnd || to == floor * Filter.dayLength ? floor : floor + 1
            conditions.append("date < \(bound)")
        }
        return conditions
    }

    /// The UTC day that a moment falls in.
    static func floor(_ microseconds: Int64) -> Int64 {
        let quotient = microseconds / dayLength
        return microseconds % dayLength < 0 ? quotient - 1 : quotient
    }

    private static func list(_ ids: [Int64]) -> String { ids.map(String.init).joined(separator: ", ") }
}
