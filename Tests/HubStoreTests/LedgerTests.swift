import GRDB
import HubProcess
import Samples
import Testing

@testable import HubStore

let exporter = SinkID(instance: "exporter", want: "all")

/// A sink as the hub runs it: requests pages, keeps track of deliveries in flight, and settles answers.
struct SinkSession {
    let store: Store
    let id: SinkID
    var position: Int64
    /// The versions in flight, by record number.
    var flight: [Int64: StoredRecord] = [:]
    /// The sequence up to which earlier sessions may have delivered without an answer, and the versions that were
    /// delivered again.
    private var givenBefore: Int64?
    private var repeats: Set<Int64> = []
    var now: Int64 = 1_000

    init(
        _ store: Store, _ id: SinkID = exporter, _ terms: SinkTerms = SinkTerms(target: .init(plugin: "exporter")),
        from start: SinkStart = .now
    ) async throws {
        (self.store, self.id) = (store, id)
        position = try await store.openSink(id, terms, from: start, recordedAt: 1_000).cursor.sequence
    }

    /// All deliveries available now.
    mutating func take(_ records: Int = 100) async throws -> [StoredRecord] {
        var taken: [StoredRecord] = []
        while true {
            let page = try await store.deliveries(
                of: id, after: position, limits: DeliveryLimits(records: records), inFlight: Set(flight.keys), at: now)
            givenBefore = givenBefore ?? min(page.givenBefore, store.head)
            for record in page.records {
                flight[record.number] = record
                if page.isRepeat(record, givenBefore: givenBefore ?? 0) { repeats.insert(record.sequence) }
            }
            position = page.position
            taken += page.records
            if !page.hasMore { return taken }
        }
    }

    mutating func answer(_ record: StoredRecord, _ result: SinkResult = .delivered()) async throws {
        flight[record.number] = nil
        let reached = min(position, (flight.values.map(\.sequence).min() ?? .max) - 1)
        let answer = SinkAnswer(
            number: record.number, sequence: record.sequence, result: result,
            isRepeat: repeats.contains(record.sequence))
        try await store.settle([SinkSettlement(sink: id, answers: [answer], reached: reached)], recordedAt: now)
    }

    mutating func answer(_ records: [StoredRecord], _ result: SinkResult = .delivered()) async throws {
        for record in records { try await answer(record, result) }
    }

    func account() async throws -> [String: Int64] {
        let account = try await store.sink(id).account
        #expect(try await store.verifyAccounts() == [])
        let counts = [
            "wanted": account.wanted, "delivered": account.delivered, "pending": account.pending,
            "retrying": account.retrying, "refused": account.refused, "superseded": account.superseded,
            "skipped": account.skipped,
        ]
        return counts.filter { $0.value != 0 }
    }
}

@Suite struct LedgerTests {
    private let folder: TemporaryFolder
    private let store: Store
    private let retractionsOnly = SinkTerms(filter: SinkFilter(kinds: [.retraction]), target: .init(plugin: "exporter"))

    init() throws { (folder, store) = try newStore() }

    @Test func `records stored after a sink was opened are delivered once and need no row`() async throws {
        _ = try await store.put(try sample("before"))
        var sink = try await SinkSession(store)
        _ = try await store.put(try sample("a"), try sample("b"))
        #expect(try await sink.account() == ["wanted": 2, "pending": 2])
        let taken = try await sink.take()
        #expect(taken.map(\.number) == [2, 3])
        #expect(try await sink.take() == [])
        try await sink.answer(taken)
        #expect(try await sink.account() == ["wanted": 2, "delivered": 2])
        #expect(try await store.sink(exporter).cursor == store.cursor)
        let rows = try await store.pool.read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM delivery") }
        #expect(rows == 0)
    }

    @Test func `a retry is delivered again when it is due, and a refused record never`() async throws {
        var sink = try await SinkSession(store)
        _ = try await store.put(try sample("a"), try sample("b"))
        let taken = try await sink.take()
        try await sink.answer(taken[0], .retry(at: sink.now + 60, reason: "busy"))
        try await sink.answer(taken[1], .refused(reason: "not for me"))
        #expect(try await sink.account() == ["wanted": 2, "retrying": 1, "refused": 1])
        #expect(try await sink.take() == [])
        #expect(try await store.sinks()[0].nextRetry == sink.now + 60)
        sink.now += 60
        #expect(try await sink.take() == [taken[0]])
        try await sink.answer(taken[0])
        #expect(try await sink.account() == ["wanted": 2, "delivered": 1, "refused": 1])
    }

    @Test func `R10.16 a restart keeps the remaining time of a wait, however far the clock was ahead or is set back`()
        async throws
    {
        let (year, start): (Int64, Int64) = (31_536_000_000_000, 1_700_000_000_000_000)
        let folder = try TemporaryFolder()
        let ahead = try folder.open(now: start + year)
        var before = try await SinkSession(ahead)
        _ = try await ahead.put(try sample("a"), try sample("b"))
        let taken = try await before.take()
        before.now = start + year
        try await before.answer(taken[0], .retry(at: before.now + 1_000_000, reason: "busy"))
        try await before.answer(taken[1], .retry(at: before.now + 90_000_000, reason: "busy"))
        try ahead.close()

        let right = try folder.open(now: start)
        var after = try await SinkSession(right)
        after.now = start
        #expect(try await after.take() == [])
        #expect(try await right.sinks()[0].nextRetry == start + 1_000_000)
        after.now = start + 1_000_000
        #expect(try await after.take() == [taken[0]])
        after.now = start + 89_999_999
        #expect(try await after.take() == [])
        after.now = start + 90_000_000
        #expect(try await after.take() == [taken[1]])
        // A store with the right clock has nothing to correct.
        try right.close()
        let again = try folder.open(now: start + 60_000_000)
        #expect(try await again.sinks()[0].nextRetry == start + 1_000_000)
        #expect(try await again.verifyAccounts() == [])
    }

    @Test func `a replayed record is delivered at once, whatever the clock of waits shows`() async throws {
        var sink = try await SinkSession(store)
        _ = try await store.put(try sample("a"))
        try await sink.answer(try await sink.take())
        // The machine's clock was set forward: replays use its time, and waits their own.
        #expect(try await store.replay(to: exporter, at: 5_000_000) == 1)
        let page = try await store.deliveries(
            of: exporter, after: sink.position, limits: DeliveryLimits(records: 9), inFlight: [], at: 5_000_000,
            waitTime: 1_000)
        #expect(page.records.map(\.number) == [1])
    }

    @Test func `a store of the fifth format keeps its retries, and none waits longer than the maximum`() async throws {
        var sink = try await SinkSession(store)
        _ = try await store.put(try sample("a"), try sample("b"))
        let taken = try await sink.take()
        try await sink.answer(taken[0], .retry(at: 61_000, reason: "busy"))
        try await sink.answer(taken[1], .retry(at: 31_536_000_000_000, reason: "busy"))
        try store.close()
        try folder.change("ALTER TABLE delivery DROP COLUMN wait; DELETE FROM grdb_migrations WHERE identifier = 'v6'")
        let later = try folder.open(now: 2_000)
        let waits = try await later.pool.read { db in
            try Int64.fetchAll(db, sql: "SELECT due FROM delivery ORDER BY number")
        }
        #expect(waits == [61_000, 2_000 + 604_800_000_000])
    }

    @Test func `an unanswered delivery is repeated after the session is lost`() async throws {
        var first = try await SinkSession(store)
        _ = try await store.put(try sample("a"), try sample("b"))
        let taken = try await first.take()
        try await first.answer(taken[1])
        try store.close()
        let again = try folder.open()
        var second = try await SinkSession(again)
        #expect(try await second.take() == [taken[0]])
        #expect(try await second.account() == ["wanted": 2, "pending": 1, "delivered": 1])
    }

    @Test func `a newer version supersedes one that waits, and one in flight counts when it is answered`() async throws
    {
        var sink = try await SinkSession(store)
        _ = try await store.put(try sample("a", 70))
        _ = try await store.put(try sample("a", 71))
        #expect(try await sink.account() == ["wanted": 2, "pending": 1, "superseded": 1])
        let second = try await sink.take()
        #expect(second.map(\.sequence) == [2])
        _ = try await store.put(try sample("a", 72))
        #expect(try await sink.take() == [], "at most one delivery of a record is open")
        try await sink.answer(second)
        try await sink.answer(second)
        #expect(try await sink.account() == ["wanted": 3, "pending": 1, "superseded": 1, "delivered": 1])
        #expect(try await sink.take().map(\.sequence) == [3])
    }

    @Test func `a retraction cancels undelivered versions and reaches every sink that has or may have the record`()
        async throws
    {
        var sink = try await SinkSession(store)
        let (a, b, c) = (try sample("a"), try sample("b"), try sample("c"))
        _ = try await store.put(a, b)
        let taken = try await sink.take()
        try await sink.answer(taken[0])
        _ = try await store.put(c)
        for gone in [a, b, c] { _ = try await store.retract(gone) }
        // The session ends with b unanswered: the target may have it.
        sink = try await SinkSession(store)
        #expect(try await sink.take().map(\.number) == [1, 2])
        #expect(try await sink.account() == ["wanted": 6, "delivered": 1, "pending": 2, "superseded": 2, "skipped": 1])
        #expect(try await store.trace(3)?.deliveries.first?.state == .skipped(.neverDelivered))
        #expect(try await store.sinks()[0].skips == [.neverDelivered: 1])
    }

    @Test(arguments: [false, true])
    func `an unanswered delivery may have arrived, even if the target refuses it the second time`(
        isRetry: Bool
    ) async throws {
        var sink = try await SinkSession(store)
        let (a, b) = (try sample("a"), try sample("b"))
        _ = try await store.put(a, b)
        for record in try await sink.take() where isRetry {
            try await sink.answer(record, .retry(at: 0, reason: "busy"))
        }
        // The retry has a row; for the others there is only the cursor.
        if isRetry { #expect(try await sink.take().map(\.number) == [1, 2]) }
        // The session ends before the target's answers arrive.
        sink = try await SinkSession(store)
        let again = try await sink.take()
        #expect(again.map(\.number) == [1, 2])
        try await sink.answer(again[0], .refused(reason: "too old by now"))
        try await sink.answer(again[1], .retry(at: 0, reason: "busy"))
        try await sink.answer(try await sink.take(), .refused(reason: "too old by now"))
        for gone in [a, b] { _ = try await store.retract(gone) }
        #expect(try await sink.take().map(\.number) == [1, 2])
        #expect(try await store.sinks()[0].skips == [:])
    }

    @Test func `an answered delivery does not count as a repeat in a later session`() async throws {
        var sink = try await SinkSession(store)
        let (a, b) = (try sample("a"), try sample("b"))
        _ = try await store.put(a, b)
        // The first stays open, so that the second, which the target wants later, is ahead of the cursor.
        try await sink.answer(try await sink.take()[1], .retry(at: 0, reason: "busy"))
        sink = try await SinkSession(store)
        for record in try await sink.take() where record.number == 2 {
            try await sink.answer(record, .refused(reason: "not for me"))
        }
        _ = try await store.retract(b)
        #expect(try await sink.take().isEmpty)
        #expect(try await store.sinks()[0].skips == [.neverDelivered: 1])
    }

    @Test func `a target that refused every delivery of a record gets no retraction of it`() async throws {
        var sink = try await SinkSession(store)
        let (a, b) = (try sample("a"), try sample("b"))
        _ = try await store.put(a, b)
        let taken = try await sink.take()
        try await sink.answer(taken[0], .refused(reason: "not for me"))
        try await sink.answer(taken[1], .retry(at: 0, reason: "busy"))
        try await sink.answer(try await sink.take(), .refused(reason: "not for me"))
        for gone in [a, b] { _ = try await store.retract(gone) }
        #expect(try await sink.take().isEmpty)
        #expect(try await store.sinks()[0].skips == [.neverDelivered: 2])
    }

    @Test func `a record that leaves a sink's people is retracted from it`() async throws {
        let you = try await store.ensurePersons(["me", "you"], recordedAt: 1)[1]
        let terms = SinkTerms(filter: SinkFilter(persons: ["me"]), target: .init(plugin: "exporter"))
        var sink = try await SinkSession(store, exporter, terms)
        _ = try await store.put(try sample("a"), try sample("b"))
        try await sink.answer(try await sink.take())
        let assigned = try await store.carryOut(
            .assign(numbers: [1], to: .person(you), wholeGroups: false, reason: nil), recordedAt: 3)
        let taken = try await sink.take()
        #expect(taken.map(\.sequence) == [try #require(assigned[0].result.placement).sequence])
        #expect(taken.first?.record.retraction != nil)
        #expect(taken.first?.assignment.person?.name == "me")
        try await sink.answer(taken)
        #expect(try await sink.account() == ["wanted": 3, "delivered": 3])
    }

    @Test
    func `a record that a sink cannot take, or that its own target made, is skipped with the reason`() async throws {
        let terms = SinkTerms(
            abilities: .init(
                takesPastDates: false, takesEdits: false, takesDeletions: false, takesFilledValues: false),
            target: .init(plugin: "exist", accounts: ["mine"]))
        var sink = try await SinkSession(store, exporter, terms)
        sink.now = 86_400_000_000 * 3
        let today: Int64 = 86_400 * 3
        var records: [Sample] = []
        for (key, plugin, account) in [("own", "exist", "mine"), ("other", "exist", "hers")] {
            records.append(try sample(key, source: Source(plugin: plugin, account: account), at: today))
        }
        for (key, account) in [("born", "mine"), ("else", "hers")] {
            var born = try sample(key, at: today)
            born.origin = [.system(name: "exist", account: account)]
            records.append(born)
        }
        var filled = try sample("filled", at: today)
        filled.provenance = .filled(method: "mean", basis: [])
        records += [filled, try sample("past", at: today - 86_400)]
        _ = try await store.put(records.map(Samples.Record.sample))
        let taken = try await sink.take()
        #expect(taken.map(\.number) == [2, 4])
        try await sink.answer(taken)
        _ = try await store.put(try sample("else", 71, at: today))
        _ = try await store.retract(try sample("else", at: today))
        #expect(try await sink.take() == [])
        #expect(
            try await store.sinks()[0].skips == [.own: 2, .filled: 1, .past: 1, .deletion: 1],
            "the retraction replaced the edit before the edit was examined")
        #expect(try await sink.account() == ["wanted": 8, "delivered": 2, "skipped": 5, "superseded": 1])
    }

    @Test func `an unauthorized answer pauses the whole sink until it is opened again`() async throws {
        var sink = try await SinkSession(store)
        _ = try await store.put(try sample("a"), try sample("b"))
        let taken = try await sink.take()
        try await sink.answer(taken[0], .unauthorized(reason: "log in"))
        try await sink.answer(taken[1])
        _ = try await store.put(try sample("c"))
        #expect(try await sink.take() == [])
        #expect(try await store.sink(exporter).paused == "log in")
        #expect(try await sink.account() == ["wanted": 3, "delivered": 1, "pending": 1, "retrying": 1])
        try await store.openSink(exporter, SinkTerms(target: .init(plugin: "exporter")), recordedAt: 5)
        #expect(try await sink.take().map(\.number) == [1, 3])
    }

    @Test
    func `a sink with an earlier start is owed the existing records, and its start applies only once`() async throws {
        _ = try await store.put(try sample("a"), try sample("b"), try sample("c", type: "heartRate"))
        let terms = SinkTerms(filter: SinkFilter(types: [try type("weight")]), target: .init(plugin: "x"))
        let all = try await store.openSink(exporter, terms, from: .beginning, recordedAt: 1)
        #expect(all.account.pending == 2)
        let again = try await store.openSink(exporter, terms, from: .now, recordedAt: 1)
        #expect(again == all)
        let later = SinkStart.after(Samples.Cursor(epoch: store.epoch, sequence: 1))
        let other = try await store.openSink(SinkID(instance: "x", want: "y"), terms, from: later, recordedAt: 1)
        #expect(other.account.pending == 1)
        let foreign = SinkStart.after(Samples.Cursor(epoch: "zzzzzzzz", sequence: 1))
        let ahead = SinkStart.after(Samples.Cursor(epoch: store.epoch, sequence: 4))
        let third = SinkID(instance: "x", want: "z")
        #expect(await failure { try await store.openSink(third, terms, from: foreign, recordedAt: 1) }?.code == .epoch)
        #expect(await failure { try await store.openSink(third, terms, from: ahead, recordedAt: 1) }?.code == .cursor)
        #expect(try await store.verifyAccounts() == [])
    }

    @Test func `a sink of retractions gets each once, and none waits for a record that has been restored`() async throws
    {
        let before = self.store
        _ = try await SinkSession(before, exporter, retractionsOnly)
        try await before.put([.sample(try sample("a")), .day(try day("1970-01-01", 1))])
        // After a kill all stored records may have been delivered.
        let left = try folder.killed()
        let store = try left.open()
        var sink = try await SinkSession(store, exporter, retractionsOnly)
        for number: Int64 in [1, 2] {
            _ = try await store.retract(numbers: [number], recordedAt: 3)
            if number == 2 {
                let taken = try await sink.take()
                #expect(taken.map(\.number) == [number])
                try await sink.answer(taken)
            }
            _ = try await store.carryOut(.undoRetraction(numbers: [number]), recordedAt: 4)
            #expect(try await sink.take() == [], "record \(number) is restored and needs no delivery")
        }
        #expect(try await sink.account() == ["wanted": 2, "superseded": 1, "delivered": 1])
    }

    @Test func `a retraction left by an older hub for a day that has been restored is skipped`() async throws {
        let before = self.store
        _ = try await SinkSession(before, exporter, retractionsOnly)
        try await before.put([.day(try day("1970-01-01", 1))])
        _ = try await before.retract(numbers: [1], recordedAt: 3)
        _ = try await before.carryOut(.undoRetraction(numbers: [1]), recordedAt: 4)
        try before.close()
        try folder.change(
            """
            INSERT INTO delivery
                (sink, number, seq, state, due, attempts, settled, holds, offered, may_hold, departed)
                VALUES (1, 1, 3, 0, 0, 0, 0, 0, 0, 1, 2);
            UPDATE sink SET wanted = wanted + 1, pending = pending + 1, marked = marked + 1;
            """)
        let store = try folder.open()
        var sink = try await SinkSession(store, exporter, retractionsOnly)
        #expect(try await sink.account() == ["wanted": 2, "superseded": 1, "pending": 1])
        #expect(try await sink.take() == [])
        #expect(try await sink.account() == ["wanted": 2, "superseded": 1, "skipped": 1])
    }

    @Test func `a sink whose records are still being counted says so`() async throws {
        _ = try await store.put(try sample("a"), try sample("b"))
        let (epoch, terms) = (store.epoch, SinkTerms(target: .init(plugin: "exporter")))
        // As after a kill between the first and the last piece.
        try await store.write("open sink", 1_000) { transaction in
            try transaction.caches.openSink(
                exporter, terms, from: .beginning, epoch: epoch, at: 1_000, in: transaction.db)
        }
        #expect(try await store.sinks().map(\.isCounting) == [true])
        #expect(try await store.openSink(exporter, terms, recordedAt: 1_000).account.pending == 2)
        #expect(try await store.sinks().map(\.isCounting) == [false])
    }

    @Test func `a new filter applies to waiting records and retracts none`() async throws {
        var sink = try await SinkSession(store)
        _ = try await store.put(try sample("a"))
        try await sink.answer(try await sink.take())
        _ = try await store.put(try sample("b"), try sample("c", type: "heartRate"))
        let terms = SinkTerms(filter: SinkFilter(types: [try type("heartRate")]), target: .init(plugin: "exporter"))
        sink = try await SinkSession(store, exporter, terms)
        #expect(try await sink.account() == ["wanted": 2, "delivered": 1, "pending": 1])
        #expect(try await sink.take().map(\.number) == [3])
        #expect(
            try await store.trace(1)?.deliveries.first?.state == .delivered,
            "the filter at the time of delivery decides")
        #expect(try await store.trace(2)?.deliveries == [])
    }

    @Test func `a replay reopens wanted records once, and a dry run returns their number`() async throws {
        _ = try await store.put(try sample("before"))
        var sink = try await SinkSession(store)
        _ = try await store.put(try sample("a"), try sample("b", type: "heartRate"))
        try await sink.answer(try await sink.take())
        _ = try await store.put(try sample("waits"))
        let query = try RecordQuery { $0.types = [try type("weight")] }
        #expect(try await store.replay(to: exporter, matching: query, dryRun: true, at: 9) == 2)
        #expect(try await sink.account() == ["wanted": 3, "delivered": 2, "pending": 1])
        #expect(try await store.replay(to: exporter, matching: query, at: 9) == 2)
        #expect(try await store.replay(to: exporter, matching: query, at: 9) == 0)
        #expect(try await sink.account() == ["wanted": 5, "delivered": 2, "pending": 3])
        let taken = try await sink.take()
        #expect(Set(taken.map(\.number)) == [1, 2, 4])
        try await sink.answer(taken)
        #expect(try await sink.account() == ["wanted": 5, "delivered": 5])
    }

    @Test func `a trace shows the state of a record for each sink`() async throws {
        var sink = try await SinkSession(store)
        _ = try await store.put(try sample("a", 70))
        let pending = try #require(try await store.trace(1)).deliveries
        #expect(pending.map(\.state) == [.pending])
        try await sink.answer(try await sink.take()[0], .delivered(receipt: "row 7"))
        _ = try await store.put(try sample("a", 71))
        try await sink.answer(try await sink.take()[0], .retry(at: 5_000, reason: "busy"))
        let story = try #require(try await store.trace(1)?.deliveries.first)
        #expect(story.sink == exporter)
        #expect(story.state == .retrying(at: 5_000, reason: "busy"))
        #expect((story.sequence, story.attempts) == (2, 1))
        #expect(story.receipt == SinkDelivery.Receipt(sequence: 1, receipt: "row 7", at: 1_000))
    }

    @Test func `a forgotten sink leaves no rows, and its name can be used again`() async throws {
        var sink = try await SinkSession(store)
        _ = try await store.put(try sample("a"))
        try await sink.answer(try await sink.take()[0], .refused(reason: "no"))
        try await store.forgetSink(exporter, recordedAt: 5)
        #expect(try await store.sinks().isEmpty)
        let rows = try await store.pool.read { db in
            try Int.fetchOne(db, sql: "SELECT (SELECT count(*) FROM delivery) + (SELECT count(*) FROM sink)")
        }
        #expect(rows == 0)
        #expect(await failure { try await store.forgetSink(exporter, recordedAt: 5) }?.code == .query)
        #expect(
            try await store.openSink(exporter, SinkTerms(target: .init(plugin: "x")), recordedAt: 1).account.wanted == 0
        )
    }

    @Test func `deliveries require an opened sink`() async throws {
        let error = await failure {
            _ = try await store.deliveries(
                of: exporter, after: 0, limits: DeliveryLimits(records: 1), inFlight: [], at: 1)
        }
        #expect(error?.code == .query)
    }

    @Test func `a kill does not move back the cursor of a sink that wants no new records`() async throws {
        let terms = SinkTerms(filter: SinkFilter(types: [try type("weight")]), target: .init(plugin: "exporter"))
        _ = try await SinkSession(store, exporter, terms)
        _ = try await store.put(try (0..<3).map { Record.sample(try sample("h\($0)", type: "height")) })
        let shown = try #require(try await store.sinks().first).state.cursor.sequence
        #expect(shown == 3)
        let left = try folder.killed()
        let next = try left.open()
        _ = try await next.put(try sample("w"))
        let account = try #require(try await next.sinks().first)
        #expect(account.state.account.pending == 1 && account.state.cursor.sequence >= shown)
    }

    @Test func `a store of the first format gets a ledger, and its records can be owed to a sink`() async throws {
        let folder = try TemporaryFolder()
        try folder.makeOld(
            rows: """
                INSERT INTO meta VALUES (1, 'h', 'abcdefgh', 0);
                INSERT INTO term VALUES (1, 'weight'), (2, 'kg'), (3, 'scale');
                INSERT INTO person VALUES (1, 'u', 'me', 0);
                INSERT INTO source VALUES (1, 'scale', NULL, NULL);
                INSERT INTO sample (number, seq, source, key, type, kind, person, start, duration, value, unit, provenance, recorded_at)
                VALUES (1, 1, 1, 'a', 1, 0, 1, 0, 0, 70, 2, 0, 0), (2, 2, 1, 'b', 1, 0, 1, 0, 0, 71, 2, 0, 0);
                INSERT INTO stream VALUES (1, 0, 1, 1, 3, 2, 2, 0);
                INSERT INTO account VALUES ('scale', 2, 2, 0, 0, 0, 0)
                """)
        let store = try folder.open()
        var sink = try await SinkSession(store, from: .beginning)
        #expect(try await sink.account() == ["wanted": 2, "pending": 2])
        #expect(try await sink.take().map(\.number) == [1, 2])
    }
}
