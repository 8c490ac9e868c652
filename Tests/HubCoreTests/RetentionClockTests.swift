import GRDB
import HubWire
import Logging
import Samples
import Testing

@testable import HubCore
@testable import HubStore

/// Which clock the hub believes when there is no rule, when it goes back, and when a person speaks for it.
@Suite struct RetentionClockTests {
    let folder: Folder

    init() throws { folder = try Folder() }

    private var path: String { folder.path + "/hub.sqlite" }

    /// A year's first moment.
    private func year(_ year: String) throws -> Int64 { try Timestamp(parsing: year + "-01-01T00:00:00Z").microseconds }

    /// A store that believes this time.
    private func store(believing time: Int64) async throws -> Store {
        let store = try Store(path: path, now: 1)
        try await store.believeClock(time, replacing: true)
        try store.close()
        return try Store(path: path, now: 1)
    }

    private func retainer(of store: Store, at time: Int64) -> Retainer {
        let clock = HubClock(.simulated(start: Timestamp(microseconds: time), rate: 1))
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        return Retainer(store: store, committer: Committer(store: store, clock: clock), clock: clock, logger: logger)
    }

    private let rule = RetentionRule(name: "old", types: [.weight], removeAfter: 30)

    private func code(_ body: () async throws -> Void) async throws -> String? {
        do { try await body() } catch let failure as CommandFailure { return failure.code }
        return nil
    }

    @Test func `R6.43 a clock that is far ahead is not believed because the rules were taken out for a while`()
        async throws
    {
        let store = try await store(believing: try year("2026"))
        let retainer = retainer(of: store, at: try year("2036"))
        #expect(try await code { _ = try await retainer.carryOut(rule, .standard, [:]) } == "clock")
        await retainer.follow([], .standard, [:], until: Flag())
        #expect(try await code { _ = try await retainer.carryOut(rule, .standard, [:]) } == "clock")
        try store.close()
        let next = try Store(path: path, now: 1)
        #expect(next.believedAtOpening == (try year("2026")))
    }

    @Test(arguments: [true, false])
    func `R6.43 a clock that has gone back is the one that is believed, and keeps none of the time to come believed`(
        _ hasRule: Bool
    ) async throws {
        let wrong = try await store(believing: try year("2036"))
        await retainer(of: wrong, at: try year("2026")).follow(hasRule ? [rule] : [], .standard, [:], until: Flag())
        try wrong.close()
        let store = try Store(path: path, now: 1)
        #expect((try year("2026")..<year("2027")).contains(store.believedAtOpening ?? 0))
        let ahead = retainer(of: store, at: try year("2030"))
        #expect(try await code { _ = try await ahead.carryOut(rule, .standard, [:]) } == "clock")
    }

    @Test func `R6.43 a clock that goes back while the hub runs is ahead when it goes forth again`() async throws {
        let store = try await store(believing: try year("2036"))
        let retainer = retainer(of: store, at: try year("2026"))
        await retainer.follow([rule], .standard, [:], until: Flag())
        #expect(await retainer.watch.lead(now: try year("2030"), steady: try year("2026")) != nil)
    }

    @Test func `R8.44 a person's word has an earlier time believed, too`() async throws {
        let hour = 3_600_000_000 as Int64
        let store = try await store(believing: try year("2026") + 12 * hour)
        try await retainer(of: store, at: try year("2026")).trustClock()
        try store.close()
        let next = try Store(path: path, now: 1)
        #expect((try year("2026")..<(year("2026") + hour)).contains(next.believedAtOpening ?? 0))
    }

    @Test func `R8.44 a rule that an erasure cuts short is answered busy and not done`() async throws {
        let store = try await store(believing: try year("2026"))
        let samples = try (0..<3).map { index in
            Sample(
                source: Source(plugin: "scale"), key: try #require(RecordKey("k\(index)")), type: .weight,
                value: .quantity(70, unit: "kg"), start: Timestamp(microseconds: try year("2020")),
                end: Timestamp(microseconds: try year("2020")))
        }
        let records = samples.map { IntakeRecord(record: .sample($0), assignment: .nobody(reason: "test")) }
        _ = try await store.commit([IntakeBatch(instance: "scale", records: records)], recordedAt: try year("2026"))
        // As of a person who erases meanwhile.
        try await store.pool.write { db in
            try db.execute(
                sql: """
                    CREATE TRIGGER t AFTER DELETE ON sample
                    BEGIN INSERT OR IGNORE INTO erasure (id, stage, copies, total) VALUES (1, 1, 0, 0); END
                    """)
        }
        let retainer = retainer(of: store, at: try year("2026"))
        #expect(try await code { _ = try await retainer.carryOut(rule, .standard, [:]) } == "busy")
        #expect(try #require(retainer.reports(on: [rule]).first).removed > 0, "what it did is told all the same")
    }
}
