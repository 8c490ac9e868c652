import HubSessions
import HubStore
import HubWire
import Samples
import Synchronization
import Testing

@testable import HubCore

/// The line in which batches wait for the store.
@Suite struct CommitterTests {
    private func work(_ peer: UInt8, _ batch: Int64) throws -> Committer.Work {
        let sample = Sample(
            source: Source(plugin: "p"), key: try #require(RecordKey("\(peer)-\(batch)")), type: try TypeID("weight"),
            value: .quantity(70, unit: "kg"), start: Timestamp(microseconds: 0), end: Timestamp(microseconds: 0))
        let record = IntakeRecord(record: .sample(sample), assignment: .nobody(reason: "test"))
        return Committer.Work(
            session: SessionReference(peer: [peer], serial: UInt64(peer)), batch: batch, isBackfill: false,
            intake: IntakeBatch(instance: "i\(peer)", items: [.record(record)]))
    }

    @Test func `what waits for a session that is over is dropped, the rest is stored in order`() async throws {
        let folder = try Folder()
        let store = try Store(path: folder.path + "/hub.sqlite", now: 0)
        let committer = Committer(store: store, clock: .system)
        for batch in 1...3 as ClosedRange<Int64> {
            for peer in [1, 2] as [UInt8] { committer.submit(try work(peer, batch)) }
        }
        committer.drop { $0.peer == [1] }
        committer.finish()
        let seen = Mutex<[[Int64]]>([])
        await committer.run { outcome in
            guard case .committed(let batches) = outcome else { return }
            seen.withLock { $0.append(batches.map(\.work.batch)) }
            #expect(batches.allSatisfy { $0.work.session.peer == [2] })
        }
        #expect(seen.withLock { $0 } == [[1, 2, 3]])
        #expect(store.head == 3)
        try store.close()
    }

    @Test func `what a person does waits its turn between batches, and none is taken after the end`() async throws {
        let folder = try Folder()
        let store = try Store(path: folder.path + "/hub.sqlite", now: 0)
        let committer = Committer(store: store, clock: .system)
        let seen = Mutex<[String]>([])
        let running = Task {
            await committer.run { outcome in
                switch outcome {
                case .committed(let batches): seen.withLock { $0.append("batches \(batches.count)") }
                case .hand(let results): seen.withLock { $0.append("by hand \(results.count)") }
                case .failed: seen.withLock { $0.append("failed") }
                }
            }
        }
        committer.submit(try work(1, 1))
        let results = try await committer.carryOut(.retract(numbers: [1], reason: nil))
        #expect(results?.count == 1)
        // Its outcome has been reported when it returns.
        #expect(seen.withLock { $0 } == ["batches 1", "by hand 1"])
        committer.submit(try work(1, 2))
        committer.finish()
        await running.value
        #expect(seen.withLock { $0 } == ["batches 1", "by hand 1", "batches 1"])
        #expect(try await committer.carryOut(.retract(numbers: [2], reason: nil)) == nil)
        try store.close()
    }

    @Test func `a question whether the line moves is answered, while it is idle, works, and is over`()
        async throws
    {
        let folder = try Folder()
        let store = try Store(path: folder.path + "/hub.sqlite", now: 0)
        let committer = Committer(store: store, clock: .system)
        let running = Task { await committer.run { _ in } }
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask { for _ in 0..<500 { await committer.turn() } }
            }
            group.addTask {
                for batch in 1...200 as ClosedRange<Int64> {
                    if let work = try? work(1, batch) { committer.submit(work) }
                    await committer.turn()
                }
            }
        }
        async let last: Void = committer.turn()
        committer.finish()
        await last
        await running.value
        await committer.turn()
        #expect(store.head == 200)
        try store.close()
    }
}
