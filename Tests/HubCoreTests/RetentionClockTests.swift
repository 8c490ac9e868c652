import GRDB
import HubWire
import Logging
import Samples
import Testing

@testable import HubCore
@testable import HubStore

/// The time that the hub trusts without rules, after the clock goes back, and after a person confirms it.
@Suite struct RetentionClockTests {
    let folder: Folder

    init() throws { folder = try Folder() }

    private var path: String { folder.path + "/hub.sqlite" }

    /// The first moment of a year.
    private func year(_ year: String) throws -> Int64 { try Timestamp(parsing: year + "-01-01T00:00:00Z").microseconds }

    /// A store that trusts this time.
    private func store(believing time: Int64) async throws -> Store {
        let store = try Store(path: path, now: 1)
        try await store.acceptClock(time, replacing: true)
        try store.close()
        return try Store(path: path, now: 1)
    }

    private func retainer(of store: Store, at time: Int64) -> RetentionService {
        let clock = HubClock(.simulated(start: Timestamp(microseconds: time), rate: 1))
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        return RetentionService(
            store: store, committer: Committer(store: store, clock: clock), clock: clock, logger: logger)
    }

    private let rule = RetentionRule(name: "old", types: [.weight], removeAfter: 30)

    private func code(_ body: () async throws -> Void) async throws -> String? {
        do { try await body() } catch let failure as OwnCommandFailure { return failure.code }
        return nil
    }

    @Test func `R6.43 a clock that is far ahead is not trusted after the rules were removed for a while`()
        async throws
    {
        let store = try await store(believing: try year("2026"))
        let retainer = retainer(of: store, at: try year("2036"))
        #expect(try await code { _ = try await retainer.carryOut(rule, .standard, [:]) } == "clock")
        await retainer.follow([], .standard, [:], until: Latch())
        #expect(try await code { _ = try await retainer.carryOut(rule, .standard, [:]) } == "clock")
        try store.close()
        let next = try Store(path: path, now: 1)
        #expect(next.believedAtOpening == (try year("2026")))
    }

    @Test(arguments: [true, false])
    func `R6.43 a clock that went back is trusted, and the later time is no longer trusted`(
        _ hasRule: Bool
    ) async throws {
        let wrong = try await store(believing: try year("2036"))
        await retainer(of: wrong, at: try year("2026")).follow(hasRule ? [rule] : [], .standard, [:], until: Latch())
        try wrong.close()
        let store = try Store(path: path, now: 1)
        #expect((try year("2026")..<year("2027")).contains(store.believedAtOpening ?? 0))
        let ahead = retainer(of: store, at: try year("2030"))
        #expect(try await code { _ = try await ahead.carryOut(rule, .standard, [:]) } == "clock")
    }

    @Test func `R6.43 a clock that goes back while the hub runs counts as ahead when it goes forward again`()
        async throws
    {
        let store = try await store(believing: try year("2036"))
        let retainer = retainer(of: store, at: try year("2026"))
        await retainer.follow([rule], .standard, [:], until: Latch())
        #expect(await retainer.watch.lead(now: try year("2030"), steady: try year("2026")) != nil)
    }

    @Test func `R8.44 a person can also confirm an earlier time`() async throws {
        let hour = 3_600_000_000 as Int64
        let store = try await store(believing: try year("2026") + 12 * hour)
        try await retainer(of: store, at: try year("2026")).trustClock()
        try store.close()
        let next = try Store(path: path, now: 1)
        #expect((try year("2026")..<(year("2026") + hour)).contains(next.believedAtOpening ?? 0))
    }

    @Test func `R8.44 a rule that an erasure interrupts gets busy and not done`() async throws {
        let store = try await store(believing: try year("2026"))
        let samples = try (0..<3).map { index in
            Sample(
                source: Source(plugin: "scale"), key: try #require(RecordKey("k\(index)")), type: .weight,
                value: .quantity(70, unit: "kg"), start: Timestamp(microseconds: try year("2020")),
                end: Timestamp(microseconds: try year("2020")))
        }
        let records = samples.map { IntakeRecord(record: .sample($0), assignment: .nobody(reason: "test")) }
        _ = try await store.commit([IntakeBatch(instance: "scale", records: records)], recordedAt: try year("2026"))
        // Simulates an erasure that a person has begun.
        try await store.pool.write { db in
            try db.execute(
                sql: """
                    CREATE TRIGGER t AFTER DELETE ON sample
                    BEGIN INSERT OR IGNORE INTO erasure (id, stage, copies, total) VALUES (1, 1, 0, 0); END
                    """)
        }
        let retainer = retainer(of: store, at: try year("2026"))
        #expect(try await code { _ = try await retainer.carryOut(rule, .standard, [:]) } == "busy")
        #expect(
            try #require(retainer.reports(on: [rule]).first).removed > 0,
            "the report counts the records removed before the interruption")
    }
}
