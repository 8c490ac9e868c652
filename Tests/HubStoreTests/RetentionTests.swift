import Foundation
import GRDB
import HubProcess
import Samples
import Testing

@testable import HubStore

/// Records are kept for as long as a rule says, and the accounts remain correct without them.
@Suite struct RetentionTests {
    let folder: TemporaryFolder
    let store: Store

    init() throws { (folder, store) = try newStore() }

    private static let dayLength: Int64 = 86_400
    /// Noon UTC of day 1,000.
    private static let now = (1_000 * dayLength + dayLength / 2) * 1_000_000

    private func retain(_ store: Store, _ rule: RetentionRule, dryRun: Bool = false) async throws -> RetentionCount {
        let thin: ((ThinnedDay) async throws -> ManualResult?)? =
            dryRun
            ? nil : { day in try await store.carryOut(.thin(day, isCumulative: false), recordedAt: Self.now).first }
        return try await store.retain(rule, now: Self.now, thin: thin) { true }
    }

    private func rule(_ type: String, thin: Int? = nil, remove: Int? = nil, sources: Set<String>? = nil) throws
        -> RetentionRule
    {
        RetentionRule(name: "r", types: [try TypeID(type)], sources: sources, thinAfter: thin, removeAfter: remove)
    }

    private func numbers(_ store: Store, days: Bool = false) async throws -> [Int64] {
        var query = RecordQuery()
        query.kinds = KindSelection(days ? [.day] : RecordKind.samples.union([.retraction]), followsChanges: false)
        query.order = .time
        return try await store.all(query).records.map(\.number).sorted()
    }

    @Test func `R6.43 a rule removes records with all versions and without retractions, and the accounts balance`()
        async throws
    {
        let me = try await store.me()
        let other = Source(plugin: "other")
        // Day 900: to be removed. Day 990: not yet. Another type and another plugin: outside the rule.
        _ = try await store.put(
            try (0..<250).map { .sample(try sample("old \($0)", at: 900 * Self.dayLength + Int64($0))) }
                + [
                    .sample(try sample("young", at: 990 * Self.dayLength)),
                    .sample(try sample("height", type: "height", at: 900 * Self.dayLength)),
                    .sample(try sample("theirs", source: other, at: 900 * Self.dayLength)),
                ])
        _ = try await store.put(try sample("old 1", 71, at: 900 * Self.dayLength))
        _ = try await store.retract(try sample("old 2", at: 900 * Self.dayLength + 2))
        _ = try await store.retract(numbers: [4], reason: "the dog", recordedAt: 3)
        _ = try await store.put(try sample("old 3", 99, at: 900 * Self.dayLength + 3))
        let you = try #require(try await store.ensurePersons(["you"], recordedAt: 1).first)
        _ = try await store.carryOut(
            .assign(numbers: [6], to: .person(you), wholeGroups: true, reason: nil), recordedAt: 4)
        var payload = IntakeRecord(record: .sample(try sample("old 6", 75, at: 900 * Self.dayLength)), assignment: me)
        payload.rawPayload = Array("needle".utf8)
        _ = try await store.commit([IntakeBatch(instance: "scale", records: [payload])], recordedAt: 3)
        _ = try await store.put([.day(try day("1972-06-01", 70))])
        _ = try await store.put(try sample("last", at: 999 * Self.dayLength))
        let (head, before) = (store.head, try await numbers(store))
        let rule = try rule("weight", remove: 30, sources: ["ihealth-hs3"])

        let count = try await retain(store, rule, dryRun: true)
        #expect(count.removed == 250 && count.thinned == 0 && count.waiting == 0)
        #expect(try await numbers(store) == before)
        #expect(try await retain(store, rule) == count)
        #expect(try await numbers(store) == [251, 252, 253, store.head])
        #expect(store.head == head)
        #expect(try await store.verifyAccounts() == [])
        #expect(try await store.recordCount() == 5)
        #expect(try await retain(store, rule).removed == 0)
        #expect(
            try await store.put(try sample("old 7", 12, at: 900 * Self.dayLength)) == [
                .duplicate(number: 8, sequence: 8)
            ])
        let rows = try await store.pool.read { db in
            try ["payload", "deed", "departure", "revision", "sample_version"].map { table in
                try Int.fetchOne(db, sql: "SELECT count(*) FROM \(table)") ?? 0
            }
        }
        #expect(rows == [0, 0, 0, 0, 0])
        try store.close()
        #expect(try StoreFile(folder.store).faults(.counters) == [])
        #expect(try StoreFile(folder.store).faults(.pages) == [])
        let again = try folder.open()
        #expect(again.head == head && again.loss == nil)
        #expect(try await again.put(try sample("new", at: 999 * Self.dayLength))[0].placement?.sequence == head + 1)
        #expect(try await again.verifyAccounts() == [])
    }

    @Test func `R8.44 a count for several rules counts each record once, for the first rule that matches`() async throws
    {
        let watch = Source(plugin: "watch")
        _ = try await store.put(
            try (0..<3).map { .sample(try sample("w\($0)", source: watch, at: 900 * Self.dayLength)) }
                + (0..<2).map { .sample(try sample("s\($0)", at: 900 * Self.dayLength)) }
                + [.sample(try sample("last", at: 999 * Self.dayLength))])
        _ = try await store.put([.day(try day("1972-06-01", 70))])
        _ = try await store.put(try sample("head", type: "height", at: 999 * Self.dayLength))
        var (first, second) = (try rule("weight", remove: 30, sources: ["watch"]), try rule("weight", remove: 20))
        second.types.append(.weight)
        func counts() async throws -> [[Int64]] {
            try await store.count([first, second], now: Self.now).map { [$0.thinned, $0.removed] }
        }
        #expect(try await counts() == [[0, 3], [0, 3]])
        (first.removeAfter, first.thinAfter) = (nil, 30)
        #expect(try await counts() == [[3, 0], [0, 3]])
        (second.removeAfter, second.thinAfter) = (nil, 20)
        #expect(try await counts() == [[3, 0], [2, 0]])
        (first.removeAfter, first.sources) = (20, nil)
        #expect(try await counts() == [[0, 6], [0, 0]])
        #expect(try await store.count([first, second], where: { $0 == second }, now: Self.now).count == 1)
        #expect(try await retain(store, first).removed == 6)
    }

    @Test func `R6.44 no samples are thinned during an erasure, because a day would keep their values`() async throws {
        _ = try await store.put(
            try sample("a", at: 900 * Self.dayLength), try sample("b", at: 900 * Self.dayLength + 9))
        _ = try await store.put(try sample("last", at: 999 * Self.dayLength))
        let rule = try rule("weight", thin: 30)
        _ = try await store.beginErasure(of: .numbers([1]), removingCopies: true)
        let count = try await retain(store, rule)
        #expect(count.thinned == 0 && count.left == 0)
        #expect(try await numbers(store, days: true) == [])
        try await store.finishErasing()
        #expect(try await retain(store, rule).thinned == 1)
        #expect(try await store.verifyAccounts() == [])
    }

    @Test
    func `R6.43 days are removed, too, and a record that a sink waits for stays until the sink has it`() async throws {
        var sink = try await SinkSession(store)
        _ = try await store.put([.day(try day("1972-06-01", 70)), .day(try day("1972-09-20", 71))])
        _ = try await store.put(
            try sample("old", at: 900 * Self.dayLength), try sample("young", at: 999 * Self.dayLength))
        let rule = try rule("weight", remove: 30)
        let count = try await retain(store, rule)
        #expect(count.removed == 0 && count.waiting == 2 && count.waitingFor == [exporter])
        try await sink.answer(try await sink.take())
        #expect(try await retain(store, rule).removed == 2)
        #expect(try await numbers(store) == [4])
        #expect(try await numbers(store, days: true) == [2])
        #expect(try await sink.account() == ["wanted": 4, "delivered": 4])
        #expect(try await sink.take() == [])
    }

    @Test func `R6.44 a thinned day keeps its figures once, also if more of its samples arrive later`() async throws {
        let source = Source(plugin: "watch")
        func beats(_ day: Int64, _ values: [Double], _ prefix: String = "") throws -> [Samples.Record] {
            try values.enumerated().map { index, value in
                .sample(
                    try sample(
                        "\(prefix)\(day) \(index)", value, source: source, at: day * Self.dayLength + Int64(index) * 60)
                )
            }
        }
        _ = try await store.put(try beats(900, [60, 80, 70.5]) + beats(901, [90]) + beats(998, [75]))
        _ = try await store.retract(try sample("901 0", source: source))
        let rule = try rule("weight", thin: 30)
        #expect(try await retain(store, rule, dryRun: true).thinned == 3)
        #expect(try await retain(store, rule).thinned == 3)
        #expect(try await numbers(store) == [4, 5])
        let day = try #require(try await store.days().first)
        #expect(day.series == "kept.watch" && day.source.plugin == "hub" && day.method == "retention")
        #expect(day.date == LocalDate(daysSinceEpoch: 900) && day.value == 210.5 / 3 && day.unit == "kg")
        #expect(
            day.metadata?.text
                == #"{"count":3,"min":60.0,"max":80.0,"mean":70.16666666666667,"sum":210.5,"first":60.0,"last":70.5,"firstStart":"1972-06-19T00:00:00Z","lastStart":"1972-06-19T00:02:00Z"}"#
        )
        #expect(try await store.verifyAccounts() == [])
        #expect(try await retain(store, rule).thinned == 0)
        // Repeats do not bring the samples back; a new sample is added to the value.
        #expect(try await store.put(beats(900, [60, 80, 70.5])).allSatisfy(\.isDuplicate))
        _ = try await store.put(try beats(900, [50], "late "))
        #expect(try await retain(store, rule).thinned == 1)
        let more = try await store.days()
        #expect(more.count == 1)
        #expect(more[0].metadata?.text.hasPrefix(#"{"count":4,"min":50.0,"max":80.0,"mean":65.125,"#) == true)
        #expect(try await store.verifyAccounts() == [])
    }

    @Test func `R8.160 thinned days belong to the person with the uid, not to a person whose name is that uid`()
        async throws
    {
        let one = try #require(try await store.ensurePersons(["one"], recordedAt: 1).first)
        let two = try #require(try await store.ensurePersons(["two"], recordedAt: 1).first)
        for (person, day) in [(one, 900), (two, 901)] as [(Person, Int64)] {
            _ = try await store.put([.sample(try sample("\(day)", at: day * Self.dayLength))], .person(person))
        }
        _ = try await store.put([.sample(try sample("young", at: 999 * Self.dayLength))], .person(one))
        #expect(try await retain(store, try rule("weight", thin: 30)).thinned == 2)
        try await store.write("name", 1) {
            try $0.db.execute(sql: "UPDATE person SET name = ? WHERE uid = ?", arguments: [one.uid, two.uid])
        }
        var query = StatisticsQuery(of: one.uid, try TypeID("weight"), unit: "kg", .discreteArithmetic)
        query.reportsThinned = true
        let walk = try await store.advance(StatisticsWalk(query))
        #expect(walk.thinned?.count == 1 && walk.thinned?.first == LocalDate(daysSinceEpoch: 900))
    }

    @Test func `R6.44 samples count once if the hub is killed after their value and before their removal`() async throws
    {
        _ = try await store.put(
            try (0..<300).map { .sample(try sample("k\($0)", 60, at: 900 * Self.dayLength + Int64($0))) })
        _ = try await store.put(try sample("last", at: 999 * Self.dayLength))
        let rule = try rule("weight", thin: 30)
        var left: TemporaryFolder?
        _ = try await store.retain(
            rule, now: Self.now,
            thin: { day in
                let result = try await store.carryOut(.thin(day, isCumulative: false), recordedAt: Self.now).first
                left = try folder.killed()
                return result
            }, pause: { true })
        let killed = try #require(left)
        let next = try killed.open()
        #expect(try await numbers(next).count == 301)
        #expect(try await retain(next, rule).thinned == 0)
        #expect(try await numbers(next) == [301])
        #expect(try await next.verifyAccounts() == [])
        let day = try #require(try await next.records(numbers: [302]).first)
        let value = try #require(day.record.day)
        #expect(value.metadata?.text.hasPrefix(#"{"count":300,"#) == true)
    }

    /// 120 delivered samples of one day.
    ///
    /// A rule has thinned them, and the hub was killed before their removal.
    private func killedMidRemoval() async throws -> TemporaryFolder {
        var sink = try await SinkSession(store)
        _ = try await store.put(
            try (0..<120).map { .sample(try sample("k\($0)", 60, at: 900 * Self.dayLength + Int64($0))) })
        _ = try await store.put(try sample("last", at: 999 * Self.dayLength))
        try await sink.answer(try await sink.take(1_000))
        var left: TemporaryFolder?
        _ = try await store.retain(
            try rule("weight", thin: 30), now: Self.now,
            thin: { day in
                let result = try await store.carryOut(.thin(day, isCumulative: false), recordedAt: Self.now).first
                if left == nil { left = try folder.killed() }
                return result
            }, pause: { true })
        return try #require(left)
    }

    private func count(of number: Int64, _ store: Store) async throws -> String? {
        let day = try await store.records(numbers: [number]).first?.record.day
        return day?.metadata?.text.split(separator: ",").first.map(String.init)
    }

    @Test func `R6.44 a thinned sample that a sink gets again before its removal is counted once`() async throws {
        let killed = try await killedMidRemoval()
        defer { withExtendedLifetime(killed) {} }
        let store = try killed.open()
        #expect(try await store.replay(to: exporter, at: 2_000) == 121)
        let rule = try rule("weight", thin: 30)
        let held = try await retain(store, rule)
        #expect(held.thinned == 0 && held.waiting == 120 && held.waitingFor == [exporter])
        #expect(try await numbers(store).count == 121)
        var sink = try await SinkSession(store)
        try await sink.answer(try await sink.take(1_000))
        #expect(try await retain(store, rule).thinned == 0)
        #expect(try await numbers(store) == [121])
        #expect(try await count(of: 122, store) == #"{"count":120"#)
        #expect(try await store.verifyAccounts() == [])
    }

    @Test func `R6.44 samples thinned before a kill are removed whatever the rules are afterwards`() async throws {
        let killed = try await killedMidRemoval()
        defer { withExtendedLifetime(killed) {} }
        let store = try killed.open()
        #expect(try await numbers(store).count == 121)
        #expect(try await store.finishThinning { true })
        #expect(try await numbers(store) == [121])
        #expect(try await count(of: 122, store) == #"{"count":120"#)
        #expect(try await store.verifyAccounts() == [])
    }

    @Test func `R6.43 a clock more than a day ahead is not trusted, however long, until a person confirms it`() throws {
        let (day, hour) = (86_400_000_000 as Int64, 3_600_000_000 as Int64)
        var watch = ClockWatch(believed: 1_000 * day, steady: 7)
        #expect(watch.lead(now: 1_001 * day, steady: 7) == nil)
        #expect(watch.lead(now: 1_003 * day, steady: 7 + 2 * day) == nil, "the hub has run for two of the three days")
        #expect(watch.lead(now: 1_010 * day, steady: 7) == 10 * day)
        #expect(watch.lead(now: 1_040 * day, steady: 7 + 30 * day) == 10 * day)
        #expect(watch.lead(now: 1_000 * day + hour, steady: 7 + hour) == nil, "the clock was corrected")
        #expect(!watch.isBehind(now: 999 * day + hour, steady: 7) && watch.isBehind(now: 999 * day, steady: 7 + hour))
        watch.trust(now: 1_040 * day, steady: 7 + 30 * day)
        #expect(watch.lead(now: 1_041 * day, steady: 7 + 31 * day) == nil)
        #expect(watch.lead(now: 1_043 * day, steady: 7 + 31 * day) == 2 * day)
    }

    @Test func `R6.43 a store knows its last trusted time, at first from its newest version, later from the hub`()
        async throws
    {
        func store(_ records: [(String, Int64)], in store: Store) async throws {
            let me = try await store.me()
            for (key, recordedAt) in records {
                let record = IntakeRecord(record: .sample(try sample(key, Double(recordedAt))), assignment: me)
                _ = try await store.commit([IntakeBatch(instance: "scale", records: [record])], recordedAt: recordedAt)
            }
            try store.close()
        }
        let first = self.store
        #expect(first.believedAtOpening == nil)
        try await store([("a", 500), ("b", 90), ("a", 100)], in: first)
        let second = try folder.open()
        #expect(second.believedAtOpening == 100)
        try await store([("c", 900)], in: second)
        let third = try folder.open()
        #expect(third.believedAtOpening == 100, "records stored since do not change the believed time")
        try await third.acceptClock(600, replacing: false)
        try await third.acceptClock(200, replacing: false)
        try third.close()
        let fourth = try folder.open()
        #expect(fourth.believedAtOpening == 600, "an earlier time does not replace a later one")
        try await fourth.acceptClock(300, replacing: true)
        try fourth.close()
        #expect(try folder.open().believedAtOpening == 300)
    }

    @Test func `R6.44 a long sample is thinned once its end is as long ago as the rule says`() async throws {
        let (began, length) = (960 * Self.dayLength, Self.dayLength)
        _ = try await store.put(
            try sample("short", 70, at: began), try sample("yesterday", 71, at: began, lasting: 39 * length),
            try sample("short too", 72, at: began + 1), try sample("longer", 73, at: began + 2, lasting: 5 * length),
            try sample("last", at: 999 * length))
        #expect(try await retain(store, try rule("weight", thin: 30)).thinned == 3)
        #expect(try await numbers(store) == [2, 5])
        #expect(try await count(of: 6, store) == #"{"count":3"#)
        #expect(try await store.verifyAccounts() == [])
    }

    @Test func `R8.44 samples that cannot be thinned because a person retracted their day are counted separately`()
        async throws
    {
        func late(_ key: String) throws -> Sample { try sample(key, at: 900 * Self.dayLength) }
        _ = try await store.put(try late("a"), try late("b"), try sample("last", at: 999 * Self.dayLength))
        let rule = try rule("weight", thin: 30)
        let first = try await retain(store, rule)
        #expect(first.thinned == 2 && first.left == 0 && first.reason == nil)
        _ = try await store.retract(numbers: [4], reason: nil, recordedAt: 3)
        _ = try await store.put(try late("c"), try late("d"))
        for _ in 0..<2 {
            let count = try await retain(store, rule)
            #expect(count.thinned == 0 && count.left == 2)
            #expect(count.reason == "a person took back or erased record 4, the value of their day")
        }
        #expect(Set(try await numbers(store)).isSuperset(of: [3, 6, 7]))
        _ = try await store.carryOut(.undoRetraction(numbers: [4]), recordedAt: 4)
        let then = try await retain(store, rule)
        #expect(then.thinned == 2 && then.left == 0)
        #expect(try await count(of: 4, store) == #"{"count":4"#)
    }

    @Test func `R6.44 the first and last value of a day are those of its earliest and latest samples`() async throws {
        let noon = 900 * Self.dayLength + 43_200
        _ = try await store.put(
            try sample("b", 2, at: noon), try sample("c", 3, at: noon + 60), try sample("end", at: 999 * Self.dayLength)
        )
        let rule = try rule("weight", thin: 30)
        #expect(try await retain(store, rule).thinned == 2)
        _ = try await store.put(try sample("a", 1, at: noon - 60), try sample("between", 9, at: noon + 30))
        #expect(try await retain(store, rule).thinned == 2)
        let day = try #require(try await store.records(numbers: [4]).first?.record.day)
        let end = #""first":1.0,"last":3.0,"firstStart":"1972-06-19T11:59:00Z","lastStart":"1972-06-19T12:01:00Z"}"#
        #expect(day.metadata?.text.hasSuffix(end) == true, "\(day.metadata?.text ?? "")")
    }

    @Test
    func `R6.44 a sample is thinned into its local day by its zone, its offset or its person's zone`() async throws {
        func late(_ key: String, offset: Int16?, zone: String?) throws -> Sample {
            // 23:30 UTC of day 900.
            let time = Timestamp(microseconds: (900 * Self.dayLength + 84_600) * 1_000_000, offsetMinutes: offset)
            var sample = try sample(key)
            (sample.start, sample.end, sample.zone) = (time, time, zone)
            return sample
        }
        _ = try await store.put(
            try late("zone", offset: 0, zone: "Asia/Tokyo"), try late("offset", offset: 0, zone: nil),
            try late("person", offset: nil, zone: nil), try late("unknown", offset: 0, zone: "Nowhere/Land"),
            try sample("end", at: 999 * Self.dayLength))
        _ = try await store.retain(
            try rule("weight", thin: 30), now: Self.now, zones: ["me": "Asia/Tokyo"],
            thin: { try await store.carryOut(.thin($0, isCumulative: false), recordedAt: Self.now).first },
            pause: { true })
        let kept = try await store.days().map { day in
            "\(day.date.daysSinceEpoch) \(day.metadata?.text.split(separator: ",").first ?? "")"
        }
        #expect(kept.sorted() == [#"900 {"count":1"#, #"901 {"count":2"#])
        #expect(try await numbers(store) == [4, 5])
    }
}
