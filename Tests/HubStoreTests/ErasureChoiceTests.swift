import GRDB
import HubProcess
import Samples
import Synchronization
import Testing

@testable import HubStore

/// The choice of records for an erasure: one command begins it, and a cancelled command does not.
@Suite struct ErasureChoiceTests {
    let folder: TemporaryFolder
    let store: Store

    init() throws { (folder, store) = try newStore() }

    /// Calls `body` on the writer's queue once the first record has been chosen.
    private func whenChosen(in store: Store, _ body: @escaping @Sendable () -> Void) async throws {
        try await store.pool.write { db in
            db.add(
                function: DatabaseFunction("chosen", argumentCount: 0) { _ in
                    body()
                    return nil
                })
            try db.execute(
                sql: """
                    CREATE TEMP TRIGGER chosen AFTER INSERT ON main.erasure_record WHEN new.number = 1
                    BEGIN SELECT chosen(); END
                    """)
        }
    }

    @Test func `R8.43 an erasure cancelled while its records are chosen does not begin`() async throws {
        _ = try await store.put(try sample("a"), try sample("b"))
        let task = Mutex<Task<Int64, any Error>?>(nil)
        try await whenChosen(in: store) { task.withLock { $0?.cancel() } }
        let choice = task.withLock { task in
            let choice = Task { try await store.beginErasure(of: .numbers([1, 2]), removingCopies: true) }
            task = choice
            return choice
        }
        await #expect(throws: StoreError.self) { try await choice.value }
        #expect(try await store.erasure() == nil)
        #expect(try await store.carryOut(.eraseNext, recordedAt: 9).isEmpty)
        #expect(try await store.planErasure(of: .numbers([1, 2])).records == 2)
        #expect(try await store.beginErasure(of: .numbers([2]), removingCopies: true) == 1)
    }

    @Test func `R8.43 the check for abandoned erasures does not drop a choice in progress`() async throws {
        _ = try await store.put(try sample("a"), try sample("b"))
        let dropping = Mutex<Task<Void, any Error>?>(nil)
        // As by a check that found the choice before this one; it waits for the writer's queue.
        try await whenChosen(in: store) { dropping.withLock { $0 = Task { try await store.dropErasure() } } }
        // Two pages, so that the writer's queue is free between the first choice and the last.
        let numbers: [Int64] = [1, 2] + (3...2_000)
        #expect(try await store.beginErasure(of: .numbers(numbers), removingCopies: true) == 2)
        try await dropping.withLock { $0 }?.value
        #expect(try await store.erasure()?.total == 2)
    }

    @Test func `R8.43 a choice that disappears before its end is an error, and no record is erased`() async throws {
        _ = try await store.put(try sample("a"), try sample("b"))
        try await store.pool.write { db in
            try db.execute(
                sql: """
                    CREATE TEMP TRIGGER gone AFTER INSERT ON main.erasure_record BEGIN DELETE FROM erasure; END
                    """)
        }
        await #expect(throws: StoreError.self) { try await store.beginErasure(of: .numbers([1]), removingCopies: true) }
        #expect(try await store.erasure() == nil)
        #expect(try await store.planErasure(of: .numbers([1, 2])).records == 2)
    }

    @Test func `R6.45 failed records do not count as retried while another erasure is in progress`() async throws {
        _ = try await store.put(try sample("a"), try sample("b"))
        try await store.pool.write { db in
            try db.execute(sql: "INSERT INTO erasure_fault (number, reason) VALUES (1, 'for a test')")
        }
        _ = try await store.beginErasure(of: .numbers([2]), removingCopies: true)
        #expect(try await !store.retryErasure())
        try await store.finishErasing()
        #expect(try await store.retryErasure())
        #expect(try await store.erasure()?.total == 1)
    }

    @Test func `R6.40 erasing a source also erases the days that retention kept of it, but not those of other sources`()
        async throws
    {
        let day = 86_400 as Int64
        _ = try await store.put(
            try ["watch", "scale"].flatMap { plugin in
                try (0..<2).map { index in
                    Record.sample(
                        try sample("\(plugin)\(index)", source: Source(plugin: plugin), at: 900 * day + Int64(index)))
                }
            })
        _ = try await store.put(try sample("late", source: Source(plugin: "watch"), at: 999 * day))
        let now = 1_000 * day * 1_000_000
        let rule = RetentionRule(name: "r", types: [.weight], thinAfter: 30)
        let count = try await store.retain(
            rule, now: now,
            thin: { day in try await store.carryOut(.thin(day, isCumulative: false), recordedAt: now).first },
            pause: { true })
        #expect(count.thinned == 4)
        #expect(Set(try await store.days().map(\.series)) == ["kept.watch", "kept.scale"])
        let query = RecordQuery { $0.sources = ["watch"] }
        #expect(try await store.planErasure(of: .matching(query)).records == 2, "the late sample and the day")
        #expect(try await store.beginErasure(of: .matching(query), removingCopies: true) == 2)
        try await store.finishErasing()
        #expect(try await store.days().map(\.series) == ["kept.scale"])
    }
}
