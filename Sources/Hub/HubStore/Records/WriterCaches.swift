import GRDB
import HubWire
import Samples

/// The identity of a stream; 0 stands for "none".
///
/// See the schema's `stream`.
struct StreamKey: Hashable {
    enum Kind: Int64 { case sample, day, retraction, inbox }

    var kind: Kind
    var type: Int64
    var person: Int64
    var label: Int64

    /// The single topic of all records without a person.
    static let inbox = StreamKey(kind: .inbox, type: 0, person: 0, label: 0)
}

/// The writer's state of a stream.
struct StreamState {
    var key: StreamKey
    /// The id of its row; 0 if it has none yet.
    var id: Int64 = 0
    var lastSequence: Int64 = 0
    var count: Int64 = 0
    /// The longest duration that any of its samples ever had, in microseconds.
    ///
    /// It tells whether there may be long samples, and how early a short sample that overlaps a moment may begin.
    var longest: Int64 = 0
    /// Whether the current commit has changed it.
    var isChanged = false
    /// First versions in the current commit, by kind, for the ledger.
    var fresh = SIMD8<Int32>()
}

/// The writer's cached head and frequently used rows, so that most records need no look-up.
///
/// It reflects only committed data: a failed commit drops it, and the next one reads it from the file again. It does not grow with the data, because
/// it holds only recently used streams, words and sources.
struct WriterCaches {
    var head: Int64
    /// The counts of records for `hub status`, and of transactions.
    var tallies: StoreCounters
    /// The allowance of the batch that is being stored.
    var allowance = BatchAllowance()
    private var streams: [StreamState] = []
    var accounts: [String: IntakeCounts] = [:]
    var persons: [Person] = []
    var ledger: LedgerCache
    var tombstones: Tombstones
    var rollups: WriterRollups
    /// The position of an erasure among the days.
    ///
    /// After a restart it begins at the first day.
    var erasedDays: ErasedDaySweep?
    /// Empty unless persons are distinguished by weight.
    var trends = WeightTrends()
    let termCache = TermCache()
    private var streamIndex: [StreamKey: Int] = [:]
    private var personIndex: [String: Int64] = [:]
    private var terms: [ExactText: Int64] = [:]
    private var sources: [Source: (id: Int64, plugin: Int64)] = [:]
    private var lastSource: (source: Source, id: Int64, plugin: Int64)?
    /// The last word of each use.
    ///
    /// Consecutive records mostly repeat it, and comparing costs less than hashing.
    private var lastTerms = [(text: String, id: Int64)](repeating: ("", 0), count: TermUse.allCases.count)
    /// Recent metadata texts, to detect repetition.
    private var recentMetadata = RecentMetadata()
    /// The stream of the last record, which is mostly also that of the next one.
    private var lastStream: (key: StreamKey, index: Int)?
    /// Streams and accounts changed by the current commit.
    private(set) var changedStreams: [Int] = []
    var changedAccounts: Set<String> = []

    init(from db: Database, _ marks: OfferMarks) throws {
        head = try SequenceHead.read(in: db)
        tallies = try StoreCounters(from: db)
        ledger = try LedgerCache(from: db, marks)
        tombstones = try Tombstones(from: db)
        rollups = try WriterRollups(from: db)
        for account in try IntakeCounts.all(in: db) { accounts[account.instance] = account }
        for row in try Row.fetchAll(db, sql: "SELECT id, uid, name FROM person ORDER BY id") {
            remember(Person(uid: row[1], name: row[2]), id: row[0])
        }
    }

    func account(of instance: String) -> IntakeCounts { accounts[instance] ?? IntakeCounts(instance: instance) }

    mutating func remember(_ person: Person, id: Int64) {
        persons.append(person)
        personIndex[person.uid] = id
        if personIndex[person.name] == nil { personIndex[person.name] = id }
    }

    /// The id of the person with this uid, or if there is none, with this name.
    func personID(_ uidOrName: String) -> Int64? { personIndex[uidOrName] }

    /// The use of a word, only a hint for the cache.
    enum TermUse: Int, CaseIterable {
        case type, unit, originalUnit, zone, name, method, version, origin, other
        /// The hub's own word, which is charged to no instance.
        case own
    }

    /// The id of a word.
    ///
    /// A new word is stored.
    mutating func term(_ text: String, _ use: TermUse, in db: Database) throws -> Int64 {
        let last = lastTerms[use.rawValue]
        if last.id != 0, last.text.hasSameBytes(as: text) { return last.id }
        let id = try term(text, isCharged: use != .own, in: db)
        lastTerms[use.rawValue] = (text, id)
        return id
    }

    /// The id of metadata that repeats; `nil` if it belongs in the record's own row.
    ///
    /// It is charged to no instance. At worst it costs twice the bytes of the two records that had it.
    mutating func sharedMetadata(_ metadata: JSONObject, in db: Database) throws -> Int64? {
        guard metadata.text.utf8.count <= TermCache.longestMetadata else { return nil }
        guard let place = recentMetadata.place(of: metadata.text) else { return nil }
        if let known = recentMetadata[place] { return known }
        let id = try term(metadata.text, isCharged: false, in: db)
        recentMetadata[place] = id
        return id
    }

    private mutating func term(_ text: String, isCharged: Bool, in db: Database) throws -> Int64 {
        let exact = ExactText(text)
        if let known = terms[exact] { return known }
        let select = try RawStatement(cached: "SELECT id FROM term WHERE text = ?", in: db)
        select.bind(1, text)
        let id: Int64
        if try select.step() {
            id = select.integer(0)
        } else {
            if isCharged { try allowance.addWord(text) }
            let insert = try RawStatement(cached: "INSERT INTO term (text) VALUES (?)", in: db)
            insert.bind(1, text)
            try insert.run()
            id = db.lastInsertedRowID
        }
        select.clear()
        guard text.utf8.count <= TermCache.longestText else { return id }
        if terms.count > TermCache.capacity { terms.removeAll(keepingCapacity: true) }
        terms[exact] = id
        return id
    }

    /// The ids of a source and of its plugin's name.
    ///
    /// A new source is stored.
    mutating func source(_ source: Source, in db: Database) throws -> (id: Int64, plugin: Int64) {
        if let known = try knownSource(source, in: db) { return known }
        let plugin = try term(source.plugin, .other, in: db)
        try allowance.addSource()
        let insert = try RawStatement(
            cached: "INSERT INTO source (plugin, device, account) VALUES (?1, ?2, ?3)", in: db)
        insert.bind(1, source.plugin)
        insert.bind(2, source.device)
        insert.bind(3, source.account)
        try insert.run()
        return remember((db.lastInsertedRowID, plugin), of: source)
    }

    /// The ids of a known source; `nil` if the source is new.
    mutating func knownSource(_ source: Source, in db: Database) throws -> (id: Int64, plugin: Int64)? {
        if let lastSource, lastSource.source == source { return (lastSource.id, lastSource.plugin) }
        if let known = sources[source] {
            lastSource = (source, known.id, known.plugin)
            return known
        }
        let sql =
            "SELECT id FROM source WHERE plugin = ?1 AND ifnull(device, 0) = ifnull(?2, 0) AND ifnull(account, 0) = ifnull(?3, 0)"
        let select = try RawStatement(cached: sql, in: db)
        defer { select.clear() }
        select.bind(1, source.plugin)
        select.bind(2, source.device)
        select.bind(3, source.account)
        guard try select.step() else { return nil }
        return remember((select.integer(0), try term(source.plugin, .other, in: db)), of: source)
    }

    private mutating func remember(_ ids: (id: Int64, plugin: Int64), of source: Source) -> (id: Int64, plugin: Int64) {
        // Long names are not cached, because an unlimited number of them would fill the memory.
        guard source.bytes <= TermCache.longestText else { return ids }
        if sources.count > TermCache.capacity { sources.removeAll(keepingCapacity: true) }
        sources[source] = ids
        lastSource = (source, ids.id, ids.plugin)
        return ids
    }

    /// Why a new sample or day, or a new version, may not be stored; `nil` if it may.
    mutating func refusal(of key: StreamKey, extra: JSONObject?, in db: Database) throws -> RecordRejection? {
        guard try mayUse(key, in: db) else { return RecordRejection(reached: .streams, allowance.limits.streams) }
        return allowance.refusal(of: extra)
    }

    /// Whether a record may go to a stream: an existing one, or one that its instance may begin.
    private mutating func mayUse(_ key: StreamKey, in db: Database) throws -> Bool {
        if let lastStream, lastStream.key == key { return true }
        let index = try index(of: key, in: db)
        return streams[index].count > 0 || allowance.used.streams < allowance.limits.streams
    }

    /// Puts `sequence` at the end of a stream and returns the previous end.
    ///
    /// - Parameter fresh: for the first version of a record, its kind as in `VersionProperties`.
    mutating func advance(
        _ key: StreamKey, to sequence: Int64, duration: Int64 = 0, fresh: Int? = nil, in db: Database
    ) throws -> Int64 {
        let index = try index(of: key, in: db)
        // Retractions and records without a person use at most as many streams as samples and days.
        if streams[index].count == 0, key.kind == .sample || key.kind == .day { allowance.used.streams += 1 }
        let previous = streams[index].lastSequence
        streams[index].lastSequence = sequence
        streams[index].count += 1
        if duration > streams[index].longest { streams[index].longest = duration }
        if let fresh { streams[index].fresh[fresh] &+= 1 }
        if !streams[index].isChanged {
            streams[index].isChanged = true
            changedStreams.append(index)
        }
        lastStream = (key, index)
        return previous
    }

    private mutating func index(of key: StreamKey, in db: Database) throws -> Int {
        if let lastStream, lastStream.key == key { return lastStream.index }
        if let index = streamIndex[key] { return index }
        let index = streams.count
        streams.append(try StreamState(key, in: db))
        streamIndex[key] = index
        return index
    }

    /// Maximum number of streams kept in memory between transactions.
    static let streamCapacity = 4_096

    /// Writes the changed streams and accounts, in the transaction that changed them.
    mutating func save(to db: Database) throws {
        for index in changedStreams {
            try streams[index].save(to: db)
            if !ledger.isEmpty { ledger.count(streams[index].fresh, on: streams[index].key) }
            streams[index].fresh = SIMD8()
        }
        if streams.count > WriterCaches.streamCapacity {
            streams.removeAll()
            streamIndex.removeAll()
            lastStream = nil
        }
        try tallies.save(to: db)
        try rollups.save(to: db)
        try ledger.save(to: db, head: head)
        for instance in changedAccounts {
            if let account = accounts[instance] { try account.save(to: db) }
        }
        changedStreams.removeAll(keepingCapacity: true)
        changedAccounts.removeAll(keepingCapacity: true)
    }
}

extension StreamState {
    /// Reads the stream from the file, or creates a new one.
    fileprivate init(_ key: StreamKey, in db: Database) throws {
        self.init(key: key)
        let select = try RawStatement(
            cached: """
                SELECT id, last_seq, count, longest FROM stream
                WHERE kind = ?1 AND ifnull(type, 0) = ?2 AND ifnull(person, 0) = ?3 AND ifnull(label, 0) = ?4
                """, in: db)
        defer { select.clear() }
        select.bind([key.kind.rawValue, key.type, key.person, key.label])
        guard try select.step() else { return }
        (id, lastSequence) = (select.integer(0), select.integer(1))
        (count, longest) = (select.integer(2), select.integer(3))
    }

    fileprivate mutating func save(to db: Database) throws {
        isChanged = false
        guard id == 0 else {
            let update = try RawStatement(
                cached: "UPDATE stream SET last_seq = ?2, count = ?3, longest = ?4 WHERE id = ?1", in: db)
            update.bind([id, lastSequence, count, longest])
            try update.run()
            return
        }
        let insert = try RawStatement(
            cached: """
                INSERT INTO stream (kind, type, person, label, last_seq, count, longest)
                VALUES (?1, nullif(?2, 0), nullif(?3, 0), nullif(?4, 0), ?5, ?6, ?7)
                """, in: db)
        insert.bind([key.kind.rawValue, key.type, key.person, key.label, lastSequence, count, longest])
        try insert.run()
        id = db.lastInsertedRowID
    }
}

/// The last sequence number that was assigned or skipped.
enum SequenceHead {
    /// Each change gives its record the highest sequence number, so the head is in a current row or in a version hidden by a manual change.
    ///
    /// The query reads the ends of six indices.
    static let sql = "SELECT max(\(current), \(covered), (SELECT ifnull(max(last), 0) FROM gap))"

    static func read(in db: Database) throws -> Int64 { try Int64.fetchOne(db, sql: sql) ?? 0 }

    /// The head of a file that may have an older format without hidden versions.
    static func ofAnyFormat(_ db: Database) throws -> Int64 {
        if try db.tableExists("gap") { return try read(in: db) }
        let knowsCovered = try db.columns(in: "sample_version").contains { $0.name == "covered" }
        return try Int64.fetchOne(db, sql: "SELECT max(\(current), \(knowsCovered ? covered : "0"))") ?? 0
    }

    private static let covered = "(SELECT ifnull(max(seq), 0) FROM sample_version WHERE covered IS NOT NULL)"
    private static let current = """
        (SELECT ifnull(max(number), 0) FROM sample), (SELECT ifnull(max(seq), 0) FROM sample WHERE seq <> number),
            (SELECT ifnull(max(number), 0) FROM day), (SELECT ifnull(max(seq), 0) FROM day WHERE seq <> number)
        """
}
