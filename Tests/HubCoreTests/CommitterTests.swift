import HubProcess
import HubStore
import HubWire
import Platform
import Samples
import Synchronization
import Testing

@testable import HubCore

/// The queue in which batches wait for the store.
@Suite struct CommitterTests {
    private func work(_ peer: UInt8, _ batch: Int64, records: Int = 1) throws -> Committer.Work {
        let sample = Sample(
            source: Source(plugin: "p"), key: try #require(RecordKey("\(peer)-\(batch)")), type: try TypeID("weight"),
            value: .quantity(70, unit: "kg"), start: Timestamp(microseconds: 0), end: Timestamp(microseconds: 0))
        let record = IntakeRecord(record: .sample(sample), assignment: .nobody(reason: "test"))
        return Committer.Work(
            session: SessionReference(peer: [peer], serial: UInt64(peer)), batch: batch, isBackfill: false,
            intake: IntakeBatch(instance: "i\(peer)", items: Array(repeating: .success(record), count: records)))
    }

    private func taken(_ queue: inout BatchQueue) -> [String] {
        var share = BatchQueue.Share()
        while queue.next(for: &share) != nil {}
        return share.works.map { "\($0.intake.instance):\($0.batch)" }
    }

    @Test func `R4.33 sessions with large batches take turns, and small ones go first and end the transaction`()
        throws
    {
        var queue = BatchQueue()
        for batch in 1...3 as ClosedRange<Int64> {
            for peer in [1, 2] as [UInt8] { queue.append(try work(peer, batch, records: 400)) }
        }
        var share = BatchQueue.Share()
        // A turn is 500 records, and batches are not divided.
        for _ in 0..<3 { _ = queue.next(for: &share) }
        #expect(share.works.map(\.intake.instance) == ["i1", "i1", "i2"])
        queue.append(try work(3, 1))
        #expect(queue.next(for: &share)?.session.peer == [3])
        #expect(queue.next(for: &share) == nil)
        queue.append(try work(3, 2))
        #expect(taken(&queue) == ["i3:2"], "a small batch does not wait for large ones")
        queue.append(try work(3, 3))
        #expect(taken(&queue) == ["i3:3", "i2:2"], "large batches do not wait for two small ones in a row")
        #expect(queue.records == 800)
        #expect(taken(&queue) == ["i1:3", "i2:3"])
        #expect(queue.isEmpty && queue.records == 0)
    }

    @Test(arguments: Thoroughness.seeds(20))
    func `each batch is taken once, and the batches of a session in order`(
        seed: UInt64
    ) throws {
        var random = SeededGenerator(seed: seed)
        var (queue, given, got) = (BatchQueue(), [UInt8: [Int64]](), [UInt8: [Int64]]())
        var share = BatchQueue.Share()
        func note(_ work: Committer.Work?) {
            guard let work else { return share = BatchQueue.Share() }
            let peer = UInt8(work.session.serial)
            got[peer, default: []].append(work.batch)
        }
        for batch in 1...400 as ClosedRange<Int64> {
            let peer = UInt8.random(in: 1...6, using: &random)
            queue.append(try work(peer, batch, records: [1, 1, 30, 65, 700].randomElement(using: &random) ?? 1))
            given[peer, default: []].append(batch)
            for _ in 0..<Int.random(in: 0...2, using: &random) { note(queue.next(for: &share)) }
            if batch % 97 == 0 {
                queue.drop { $0.peer == [peer] }
                given[peer] = got[peer]
            }
        }
        while !queue.isEmpty { note(queue.next(for: &share)) }
        #expect(got == given)
        #expect(queue.records == 0)
    }

    @Test func `batches of an ended session are dropped, and the rest are stored in order`() async throws {
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
            guard case .committed(let batches, _) = outcome else { return }
            seen.withLock { $0.append(batches.map(\.work.batch)) }
            #expect(batches.allSatisfy { $0.work.session.peer == [2] })
        }
        #expect(seen.withLock { $0 } == [[1, 2, 3]])
        #expect(store.head == 3)
        try store.close()
    }

    @Test func `manual changes wait in the queue between batches, and none is accepted after the end`() async throws {
        let folder = try Folder()
        let store = try Store(path: folder.path + "/hub.sqlite", now: 0)
        let committer = Committer(store: store, clock: .system)
        let (reports, report) = AsyncStream<String>.makeStream()
        let running = Task {
            await committer.run { outcome in
                switch outcome {
                case .answers: break
                case .committed(let batches, _): report.yield("batches \(batches.count)")
                case .hand(let results): report.yield("by hand \(results.count)")
                case .failed: report.yield("failed")
                }
            }
            report.finish()
        }
        var seen = reports.makeAsyncIterator()
        committer.submit(try work(1, 1))
        #expect(await seen.next() == "batches 1")
        let results = try await committer.carryOut(.retract(numbers: [1], reason: nil))
        #expect(results?.count == 1)
        // The outcome is reported before the call returns.
        #expect(await seen.next() == "by hand 1")
        committer.submit(try work(1, 2))
        committer.finish()
        await running.value
        #expect(await seen.next() == "batches 1")
        #expect(await seen.next() == nil)
        #expect(try await committer.carryOut(.retract(numbers: [2], reason: nil)) == nil)
        try store.close()
    }

    @Test func `the check whether the queue moves is answered while it is idle, working and finished`()
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
