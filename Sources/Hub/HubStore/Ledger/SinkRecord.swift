import GRDB
import Samples

/// A row of `sink` with its eras: the state of a sink.
struct SinkRecord {
    /// A period during which one filter was in effect.
    struct FilterPeriod {
        /// The era's filter decided about the sequence numbers after this one.
        var after: Int64
        /// The head when the era began.
        ///
        /// Delivery rows up to here may be of an older filter and are kept.
        var head: Int64
        var filter: SinkFilter
        var match: SinkMatch
    }

    let id: Int64
    let name: SinkID
    var openedAt: Int64
    /// The sequence number after which the sink began.
    var start: Int64
    /// Every wanted version up to here is settled or has a row.
    var cursor: Int64
    /// Versions in (counted, countingTo] are still to be counted as wanted.
    ///
    /// Both are equal when all are counted.
    var counted: Int64
    var countingTo: Int64
    /// The highest sequence number that may have been handed out without an answer.
    var offered: Int64
    var isBusy: Bool
    var paused: String?
    var target: SinkTerms.Target
    var abilities: SinkTerms.Abilities
    var zone: String
    var account: SinkAccount
    /// The number of pending versions with a row.
    var marked: Int64
    private(set) var skips: [SkipReason: Int64]
    private var changedSkips: Set<SkipReason> = []
    var lastDelivered: Int64?
    var lastFailure: SinkOverview.Failure?
    /// Oldest first; never empty.
    var eras: [FilterPeriod]

    /// A new sink whose versions in (start, countingTo] are still to be counted.
    init(
        id: Int64, name: SinkID, start: Int64, countingTo: Int64, openedAt: Int64, terms: SinkTerms, era: FilterPeriod
    ) {
        (self.id, self.name, self.openedAt, self.start) = (id, name, openedAt, start)
        (cursor, counted, self.countingTo, offered) = (start, start, countingTo, start)
        (isBusy, marked, account, skips, eras) = (false, 0, SinkAccount(), [:], [era])
        (target, abilities, zone) = (terms.target, terms.abilities, terms.zone)
    }

    /// The current filter.
    var match: SinkMatch { eras[eras.count - 1].match }

    var terms: SinkTerms {
        SinkTerms(filter: eras[eras.count - 1].filter, abilities: abilities, target: target, zone: zone)
    }

    var isCounting: Bool { counted < countingTo }

    /// Pending versions without a row, which are after the cursor.
    var implied: Int64 { account.pending - marked }

    func isCounted(_ sequence: Int64) -> Bool { sequence <= counted || sequence > countingTo }

    /// Whether a version without a row, which the cursor has passed, was delivered.
    func hasPassed(_ facts: VersionProperties) -> Bool {
        guard facts.sequence <= cursor, let era = era(of: facts.sequence) else { return false }
        return era.match.matches(facts)
    }

    /// The era that decided about a sequence number; `nil` before the start.
    func era(of sequence: Int64) -> FilterPeriod? {
        guard sequence > start else { return nil }
        return eras.last { $0.after < sequence } ?? eras[0]
    }

    mutating func countSkip(_ reason: SkipReason) {
        account.skipped += 1
        skips[reason, default: 0] += 1
        changedSkips.insert(reason)
    }

    /// Moves the cursor to the head if no version after it is pending.
    ///
    /// This costs nothing.
    mutating func advance(to head: Int64) {
        if implied == 0, !isCounting, head > cursor { cursor = head }
    }

    func state(epoch: String) -> SinkState {
        SinkState(
            id: name, cursor: Samples.Cursor(epoch: epoch, sequence: cursor), account: account, paused: paused)
    }

    /// Whether any notification of the sink may be pending.
    var isBehind: Bool { account.pending + account.retrying > 0 || isCounting }

    /// Whether the sink still has to be notified of a version.
    func isAwaiting(_ number: Int64, _ facts: VersionProperties, in db: Database) throws -> Bool {
        let row = try DeliveryRow.find(id, number, in: db)
        if let row, row.isOpen { return true }
        return row?.sequence != facts.sequence && facts.sequence > cursor && (implied > 0 || isCounting)
            && match.matches(facts)
    }
}

extension [SinkRecord] {
    /// Whether any of the sinks still has to be notified of a version.
    func areAwaiting(_ number: Int64, _ facts: VersionProperties, in db: Database) throws -> Bool {
        try contains { sink in try sink.isAwaiting(number, facts, in: db) }
    }
}

extension SinkRecord {
    private static let columns = """
        id, instance, want, opened_at, start, "cursor", counted, counting_to, offered, busy, paused, plugin, systems, accounts,
        abilities, zone, wanted, delivered, pending, retrying, refused, superseded, skipped, marked, last_delivered,
        failed_at, failure
        """

    /// All sinks that are not forgotten, by name.
    static func all(in db: Database) throws -> [SinkRecord] {
        try load("SELECT \(columns) FROM sink WHERE forgotten = 0 ORDER BY instance, want", in: db) { _ in }
    }

    /// The same with their cursors at a head.
    ///
    /// A cursor that only follows the head is not saved.
    static func all(at head: Int64, in db: Database) throws -> [SinkRecord] {
        try all(in: db).map { sink in
            var sink = sink
            sink.advance(to: head)
            return sink
        }
    }

    static func find(_ name: SinkID, in db: Database) throws -> SinkRecord? {
        try load(
            "SELECT \(columns) FROM sink WHERE forgotten = 0 AND instance = ?1 AND want = ?2", in: db
        ) { statement in
            statement.bind(1, name.instance)
            statement.bind(2, name.want)
        }.first
    }

    private static func load(_ sql: String, in db: Database, _ bind: (RawStatement) -> Void) throws -> [SinkRecord] {
        let statement = try RawStatement(cached: sql, in: db)
        defer { statement.clear() }
        bind(statement)
        var sinks: [SinkRecord] = []
        while try statement.step() { sinks.append(try SinkRecord(statement, db)) }
        return sinks
    }

    private init(_ row: RawStatement, _ db: Database) throws {
        id = row.integer(0)
        name = SinkID(instance: row.text(1) ?? "", want: row.text(2) ?? "")
        openedAt = row.integer(3)
        start = row.integer(4)
        cursor = row.integer(5)
        counted = row.integer(6)
        countingTo = row.integer(7)
        offered = row.integer(8)
        isBusy = row.integer(9) != 0
        paused = row.text(10)
        target = SinkTerms.Target(
            plugin: row.text(11) ?? "", systems: Set(row.text(12).map(LineListCoding.list) ?? []),
            accounts: Set(row.text(13).map(LineListCoding.list) ?? []))
        abilities = SinkTerms.Abilities(bits: row.integer(14))
        zone = row.text(15) ?? "UTC"
        account = SinkAccount()
        account.wanted = row.integer(16)
        account.delivered = row.integer(17)
        account.pending = row.integer(18)
        account.retrying = row.integer(19)
        account.refused = row.integer(20)
        account.superseded = row.integer(21)
        account.skipped = row.integer(22)
        marked = row.integer(23)
        lastDelivered = row.optionalInteger(24)
        lastFailure = row.optionalInteger(25).map { SinkOverview.Failure(at: $0, reason: row.text(26) ?? "") }
        skips = try SinkRecord.skips(id, in: db)
        eras = try SinkRecord.eras(id, in: db)
        guard !eras.isEmpty else {
            throw StoreError(.corrupt, "read sink \(name): its filter is missing; restore a backup")
        }
    }

    private static func skips(_ sink: Int64, in db: Database) throws -> [SkipReason: Int64] {
        let statement = try RawStatement(cached: "SELECT reason, count FROM sink_skip WHERE sink = ?", in: db)
        defer { statement.clear() }
        statement.bind(1, sink)
        var skips: [SkipReason: Int64] = [:]
        while try statement.step() {
            if let reason = SkipReason(rawValue: statement.integer(0)) { skips[reason] = statement.integer(1) }
        }
        return skips
    }

    private static func eras(_ sink: Int64, in db: Database) throws -> [FilterPeriod] {
        let statement = try RawStatement(
            cached: "SELECT after, head, types, kinds, persons FROM sink_era WHERE sink = ? ORDER BY after", in: db)
        defer { statement.clear() }
        statement.bind(1, sink)
        var eras: [FilterPeriod] = []
        while try statement.step() {
            var filter = SinkFilter(
                kinds: statement.text(3).map { Set(LineListCoding.list($0).compactMap(RecordKind.init)) },
                persons: statement.text(4).map { Set(LineListCoding.list($0)) })
            try filter.readTypes(statement.text(2).map(LineListCoding.list))
            eras.append(
                FilterPeriod(
                    after: statement.integer(0), head: statement.integer(1), filter: filter,
                    match: try SinkMatch(filter, in: db)))
        }
        return eras
    }

    // MARK: - Writing

    /// Inserts a row for a new sink and returns its id.
    static func insert(_ name: SinkID, at now: Int64, start: Int64, in db: Database) throws -> Int64 {
        let statement = try RawStatement(
            cached: """
                INSERT INTO sink (instance, want, opened_at, start, "cursor", counted, counting_to, plugin, zone)
                VALUES (?1, ?2, ?3, ?4, ?4, ?4, ?4, '', '')
                """, in: db)
        statement.bind(1, name.instance)
        statement.bind(2, name.want)
        statement.bind(3, now)
        statement.bind(4, start)
        try statement.run()
        return db.lastInsertedRowID
    }

    /// Writes the columns that change with every answer and commit.
    mutating func save(to db: Database) throws {
        let statement = try RawStatement(
            cached: """
                UPDATE sink SET "cursor" = ?2, counted = ?3, counting_to = ?4, offered = ?5, busy = ?6, paused = ?7, wanted = ?8,
                    delivered = ?9, pending = ?10, retrying = ?11, refused = ?12, superseded = ?13, skipped = ?14, marked = ?15,
                    last_delivered = ?16, failed_at = ?17, failure = ?18
                WHERE id = ?1
                """, in: db)
        let counts = [
            account.wanted, account.delivered, account.pending, account.retrying, account.refused, account.superseded,
            account.skipped, marked,
        ]
        statement.bind([id, cursor, counted, countingTo, offered, isBusy ? 1 : 0])
        statement.bind(7, paused)
        statement.bind(counts, from: 8)
        statement.bind(16, lastDelivered)
        statement.bind(17, lastFailure?.at)
        statement.bind(18, lastFailure?.reason)
        try statement.run()
        guard !changedSkips.isEmpty else { return }
        let skip = try RawStatement(
            cached: """
                INSERT INTO sink_skip (sink, reason, count) VALUES (?1, ?2, ?3)
                ON CONFLICT (sink, reason) DO UPDATE SET count = ?3
                """, in: db)
        for reason in changedSkips {
            skip.bind(1, id)
            skip.bind(2, reason.rawValue)
            skip.bind(3, skips[reason] ?? 0)
            try skip.run()
        }
        changedSkips.removeAll()
    }

    /// Writes the columns that change only when the sink is opened.
    func saveTerms(to db: Database) throws {
        let statement = try RawStatement(
            cached: "UPDATE sink SET plugin = ?2, systems = ?3, accounts = ?4, abilities = ?5, zone = ?6 WHERE id = ?1",
            in: db)
        statement.bind(1, id)
        statement.bind(2, target.plugin)
        statement.bind(3, LineListCoding.text(list: target.systems.sorted()))
        statement.bind(4, LineListCoding.text(list: target.accounts.sorted()))
        statement.bind(5, abilities.bits)
        statement.bind(6, zone)
        try statement.run()
        guard let era = eras.last else { return }
        let save = try RawStatement(
            cached: """
                INSERT OR REPLACE INTO sink_era (sink, after, head, types, kinds, persons) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
                """, in: db)
        save.bind(1, id)
        save.bind(2, era.after)
        save.bind(3, era.head)
        save.bind(4, era.filter.writtenTypes.map { LineListCoding.text(list: $0) ?? "" })
        save.bind(5, era.filter.kinds.map { LineListCoding.text(list: $0.map(\.rawValue).sorted()) ?? "" })
        save.bind(6, era.filter.persons.map { LineListCoding.text(list: $0.sorted()) ?? "" })
        try save.run()
    }
}

extension SinkFilter {
    private static let (all, not) = ("*", "!")

    /// Types in the form of a row of `sink_era`: `nil` for all; unwanted types begin with `!`.
    fileprivate var writtenTypes: [String]? {
        guard !exceptTypes.isEmpty else { return types.map { $0.map(\.rawValue).sorted() } }
        return (types.map { $0.map(\.rawValue).sorted() } ?? [Self.all])
            + exceptTypes.map { Self.not + $0.rawValue }.sorted()
    }

    fileprivate mutating func readTypes(_ written: [String]?) throws {
        guard let written else { return }
        exceptTypes = Set(try written.filter { $0.hasPrefix(Self.not) }.map { try TypeID(String($0.dropFirst())) })
        let wanted = written.filter { !$0.hasPrefix(Self.not) }
        types = wanted == [Self.all] ? nil : Set(try wanted.map { try TypeID($0) })
    }
}

extension SinkTerms.Abilities {
    fileprivate init(bits: Int64) {
        self.init(
            takesPastDates: bits & 1 != 0, takesEdits: bits & 2 != 0, takesDeletions: bits & 4 != 0,
            takesFilledValues: bits & 8 != 0)
    }

    fileprivate var bits: Int64 {
        (takesPastDates ? 1 : 0) | (takesEdits ? 2 : 0) | (takesDeletions ? 4 : 0) | (takesFilledValues ? 8 : 0)
    }
}
