import GRDB
import Samples

/// What makes one stream; 0 stands for "none".
///
/// See the schema's `stream`.
struct StreamKey: Hashable {
    enum Kind: Int64 { case sample, day, retraction, inbox }

    var kind: Kind
    var type: Int64
    var person: Int64
    var label: Int64

    /// The one topic of everything that has no person.
    static let inbox = StreamKey(kind: .inbox, type: 0, person: 0, label: 0)
}

/// What the writer knows of a stream.
struct StreamState {
    var key: StreamKey
    var lastSequence: Int64 = 0
    var count: Int64 = 0
    /// The longest sample in microseconds; tells how far before a moment a sample that overlaps it may begin.
    var longest: Int64 = 0
    /// Whether the commit in progress has changed it.
    var isChanged = false
    /// First versions in the commit in progress, by kind: what the ledger counts.
    var fresh = SIMD8<Int32>()
}

/// The writer's picture of the small tables and of the head, so that a record costs no look-up.
///
/// It is true only of what is committed: a failed commit drops it, and the next one reads it again from the file.
struct WriterCaches {
    var head: Int64
    /// How many transactions the store has had.
    var commits: Int64
    var streams: [StreamState] = []
    var accounts: [String: Account] = [:]
    var persons: [Person] = []
    var ledger: LedgerCache
    /// Empty unless persons have to be told from one another by weight.
    var trends = WeightTrends()
    let termCache = TermCache()
    private var streamIndex: [StreamKey: Int] = [:]
    private var personIndex: [String: Int64] = [:]
    private var terms: [ExactText: Int64] = [:]
    private var sources: [Source: (id: Int64, plugin: Int64)] = [:]
    private var lastSource: (source: Source, id: Int64, plugin: Int64)?
    /// The word that each use had last: a run of records mostly repeats it, and comparing costs less than hashing.
    private var lastTerms = [(text: String, id: Int64)](repeating: ("", 0), count: TermUse.allCases.count)
    /// The stream that the last record belonged to, by which the next one mostly finds its own.
    private var lastStream: (key: StreamKey, index: Int)?
    /// Streams and accounts that the commit in progress has changed.
    private(set) var changedStreams: [Int] = []
    var changedAccounts: Set<String> = []

    init(from db: Database) throws {
        head = try Int64.fetchOne(db, sql: Head.sql) ?? 0
        commits = try Int64.fetchOne(db, sql: "SELECT commits FROM meta") ?? 0
        ledger = try LedgerCache(from: db)
        for row in try Row.fetchAll(
            db,
            sql:
                "SELECT kind, ifnull(type, 0), ifnull(person, 0), ifnull(label, 0), last_seq, count, longest FROM stream ORDER BY id"
        ) {
            guard let kind = StreamKey.Kind(rawValue: row[0]) else {
                throw StoreError(.corrupt, "open: a stream of unknown kind")
            }
            let key = StreamKey(kind: kind, type: row[1], person: row[2], label: row[3])
            streamIndex[key] = streams.count
            streams.append(StreamState(key: key, lastSequence: row[4], count: row[5], longest: row[6]))
        }
        for account in try Account.all(in: db) { accounts[account.instance] = account }
        for row in try Row.fetchAll(db, sql: "SELECT id, uid, name FROM person ORDER BY id") {
            remember(Person(uid: row[1], name: row[2]), id: row[0])
        }
    }

    mutating func remember(_ person: Person, id: Int64) {
        persons.append(person)
        personIndex[person.uid] = id
        if personIndex[person.name] == nil { personIndex[person.name] = id }
    }

    /// The id of the person of this uid or, where no uid is so, of this name.
    func personID(_ uidOrName: String) -> Int64? { personIndex[uidOrName] }

    /// What a word is for; only a hint to where it was met last.
    enum TermUse: Int, CaseIterable { case type, unit, originalUnit, zone, name, method, version, origin, other }

    /// The id of a word, stored when it is new.
    mutating func term(_ text: String, _ use: TermUse, in db: Database) throws -> Int64 {
        let last = lastTerms[use.rawValue]
        if last.id != 0, ExactText.same(last.text, text) { return last.id }
        let id = try term(text, in: db)
        lastTerms[use.rawValue] = (text, id)
        return id
    }

    private mutating func term(_ text: String, in db: Database) throws -> Int64 {
        let exact = ExactText(text)
        if let known = terms[exact] { return known }
        let select = try RawStatement(cached: "SELECT id FROM term WHERE text = ?", in: db)
        select.bind(1, text)
        let id: Int64
        if try select.step() {
            id = select.integer(0)
        } else {
            let insert = try RawStatement(cached: "INSERT INTO term (text) VALUES (?)", in: db)
            insert.bind(1, text)
            try insert.run()
            id = db.lastInsertedRowID
        }
        select.clear()
        if terms.count > TermCache.capacity { terms.removeAll(keepingCapacity: true) }
        terms[exact] = id
        return id
    }

    /// The ids of a source and of the name of its plugin, stored when they are new.
    mutating func source(_ source: Source, in db: Database) throws -> (id: Int64, plugin: Int64) {
        if let lastSource, lastSource.source == source { return (lastSource.id, lastSource.plugin) }
        var ids = sources[source]
        if ids == nil {
            let plugin = try term(source.plugin, .other, in: db)
            let sql =
                "SELECT id FROM source WHERE plugin = ?1 AND ifnull(device, 0) = ifnull(?2, 0) AND ifnull(account, 0) = ifnull(?3, 0)"
            let select = try RawStatement(cached: sql, in: db)
            let insert = try RawStatement(
                cached: "INSERT INTO source (plugin, device, account) VALUES (?1, ?2, ?3)", in: db)
            for statement in [select, insert] {
                statement.bind(1, source.plugin)
                statement.bind(2, source.device)
                statement.bind(3, source.account)
            }
            if try select.step() {
                ids = (select.integer(0), plugin)
                insert.clear()
            } else {
                try insert.run()
                ids = (db.lastInsertedRowID, plugin)
            }
            select.clear()
            if sources.count > TermCache.capacity { sources.removeAll(keepingCapacity: true) }
            sources[source] = ids
        }
        guard let ids else { throw StoreError(.internalFault, "a source has no id") }
        lastSource = (source, ids.id, ids.plugin)
        return ids
    }

    /// Puts `sequence` at the end of a stream; what was its end before.
    ///
    /// - Parameter fresh: for the first version of a record its kind, as `VersionFacts` has it.
    mutating func advance(_ key: StreamKey, to sequence: Int64, duration: Int64 = 0, fresh: Int? = nil) -> Int64 {
        let index = index(of: key)
        let previous = streams[index].lastSequence
        streams[index].lastSequence = sequence
        streams[index].count += 1
        if duration > streams[index].longest { streams[index].longest = duration }
        if let fresh { streams[index].fresh[fresh] &+= 1 }
        if !streams[index].isChanged {
            streams[index].isChanged = true
            changedStreams.append(index)
        }
        return previous
    }

    private mutating func index(of key: StreamKey) -> Int {
        if let lastStream, lastStream.key == key { return lastStream.index }
        let index = streamIndex[key] ?? streams.count
        if index == streams.count {
            streams.append(StreamState(key: key))
            streamIndex[key] = index
        }
        lastStream = (key, index)
        return index
    }

    /// Writes the streams and accounts that changed, within the transaction that changed them.
    mutating func save(to db: Database, _ marks: OfferMarks) throws {
        if !changedStreams.isEmpty {
            let sql = """
                INSERT INTO stream (id, kind, type, person, label, last_seq, count, longest)
                VALUES (?1, ?2, nullif(?3, 0), nullif(?4, 0), nullif(?5, 0), ?6, ?7, ?8)
                ON CONFLICT (id) DO UPDATE SET last_seq = ?6, count = ?7, longest = ?8
                """
            let statement = try RawStatement(cached: sql, in: db)
            for index in changedStreams {
                streams[index].isChanged = false
                let stream = streams[index]
                statement.bind(1, Int64(index + 1))
                statement.bind(2, stream.key.kind.rawValue)
                statement.bind(3, stream.key.type)
                statement.bind(4, stream.key.person)
                statement.bind(5, stream.key.label)
                statement.bind(6, stream.lastSequence)
                statement.bind(7, stream.count)
                statement.bind(8, stream.longest)
                try statement.run()
                if !ledger.isEmpty { ledger.count(stream.fresh, on: stream.key) }
                streams[index].fresh = SIMD8()
            }
        }
        try ledger.save(to: db, head: head, marks)
        for instance in changedAccounts {
            if let account = accounts[instance] { try account.save(to: db) }
        }
        changedStreams.removeAll(keepingCapacity: true)
        changedAccounts.removeAll(keepingCapacity: true)
    }
}

/// The last sequence that was given out, or left out.
enum Head {
    /// Each change gives its record the highest sequence: the head is on a current row, or on one kept beneath what a person did.
    ///
    /// Found by six index ends.
    static let sql = "SELECT max(\(current), \(covered), (SELECT ifnull(max(last), 0) FROM gap))"

    /// The same of a file that may be of an older format, in which nothing is kept beneath anything.
    static func ofAnyFormat(_ db: Database) throws -> Int64 {
        if try db.tableExists("gap") { return try Int64.fetchOne(db, sql: sql) ?? 0 }
        let knowsCovered = try db.columns(in: "sample_version").contains { $0.name == "covered" }
        return try Int64.fetchOne(db, sql: "SELECT max(\(current), \(knowsCovered ? covered : "0"))") ?? 0
    }

    private static let covered = "(SELECT ifnull(max(seq), 0) FROM sample_version WHERE covered IS NOT NULL)"
    private static let current = """
        (SELECT ifnull(max(number), 0) FROM sample), (SELECT ifnull(max(seq), 0) FROM sample WHERE seq <> number),
            (SELECT ifnull(max(number), 0) FROM day), (SELECT ifnull(max(seq), 0) FROM day WHERE seq <> number)
        """
}
