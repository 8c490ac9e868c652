import Foundation
import GRDB
import Glibc
import HubProcess
import Platform
import Samples
import Testing

@testable import HubStore

/// A sequence is never used twice, whatever the disk loses, and a loss is reported.
@Suite struct SequenceTests {
    let folder: TemporaryFolder
    let store: Store

    init() throws { (folder, store) = try newStore() }

    private func put(_ numbers: Range<Int>, in store: Store) async throws {
        for number in numbers { _ = try await store.put(try sample("k\(number)")) }
    }

    /// The records that a follower gets after it has processed those up to `cursor`.
    private func follow(_ store: Store, since cursor: Samples.Cursor) async throws -> [StoredRecord] {
        var query = RecordQuery { $0.since = cursor }
        if await failure(of: { _ = try await store.page(query) })?.code == .epoch {
            query.since = Samples.Cursor(epoch: store.epoch, sequence: 0)
        }
        return try await store.all(query).records
    }

    /// Makes the files look as if the machine had been restarted since the hub wrote them.
    private func startMachineAgain(_ folder: TemporaryFolder) throws {
        var record = try #require(try SequenceReserve.read(of: folder.store))
        for index in record.places.indices where !record.places[index].boot.isEmpty {
            record.places[index].boot = "another-start"
        }
        let bytes = Data(record.bytes + record.bytes + record.bytes)
        try bytes.write(to: URL(fileURLWithPath: SequenceReserve.path(of: folder.store)))
    }

    /// Checks a store that has lost its end; `told` is the last cursor that clients had received.
    private func expectLoss(_ store: Store, told: Samples.Cursor, _ note: String = "") async throws {
        #expect(store.loss?.cause == .lost, "\(note)")
        #expect(store.epoch != told.epoch && store.loss?.epoch == store.epoch, "\(note)")
        let placement = try #require(try await store.put(try sample("after"))[0].placement)
        #expect(placement.sequence > told.sequence, "\(note): a sequence was used twice")
        let seen = try await follow(store, since: told)
        #expect(seen.contains { $0.number == placement.number }, "\(note): a follower must receive the new record")
        #expect(try await store.gaps().first?.cause == .lost)
        #expect(try await store.verifyAccounts() == [], "\(note)")
    }

    @Test func `a killed hub continues with the next sequence in the same epoch`() async throws {
        try await put(0..<20, in: store)
        let left = try folder.killed()
        let next = try left.open()
        #expect(next.loss == nil && next.cursor == store.cursor)
        #expect(try await next.put(try sample("next"))[0].placement?.sequence == 21)
    }

    @Test func `an orderly stop leaves no gap, also after a restart of the machine`() async throws {
        try await put(0..<3, in: store)
        try store.close()
        try startMachineAgain(folder)
        let next = try folder.open()
        #expect(next.loss == nil && next.cursor == store.cursor)
        #expect(try await next.gaps() == [])
    }

    @Test func `a log cut at any byte begins a new epoch if a commit is missing`() async throws {
        let seed = UInt64.random(in: .min ... .max)
        var random = SeededGenerator(seed: seed)
        try await put(0..<15, in: store)
        var early = try await SinkSession(store, from: .beginning)
        let settled = try await early.take()
        try await early.answer(settled)
        try await store.checkpoint()
        try await put(15..<30, in: store)
        var whole = 0
        for _ in 0..<40 {
            let left = try folder.killed()
            let log = left.store + "-wal"
            let size = try #require(FileManager.default.attributesOfItem(atPath: log)[.size] as? Int)
            let cut = Int.random(in: 0...size, using: &random)
            #expect(truncate(log, off_t(cut)) == 0)
            let next = try left.open()
            if next.head == store.head, next.loss == nil {
                // Pages of an earlier round of the log follow after its end.
                #expect(next.cursor == store.cursor)
                whole += 1
                continue
            }
            try await expectLoss(next, told: store.cursor, "seed \(seed), \(cut) of \(size) bytes")
            var sink = try await SinkSession(next)
            let waiting = try await next.all(RecordQuery()).records.dropFirst(settled.count).map(\.number)
            #expect(
                try await sink.take(500).map(\.number) == Array(waiting),
                "seed \(seed): a sink must receive all waiting records")
            try next.close()
        }
        #expect(whole < 40)
    }

    @Test func `a deleted log begins a new epoch`() async throws {
        try await put(0..<10, in: store)
        try await store.checkpoint()
        try await put(10..<30, in: store)
        let left = try folder.killed()
        try FileManager.default.removeItem(atPath: left.store + "-wal")
        let next = try left.open()
        #expect(next.loss?.sequences.lowerBound == 11)
        try await expectLoss(next, told: store.cursor)
    }

    @Test func `lost transactions without a record are detected, too`() async throws {
        try await put(0..<2, in: store)
        let before = try folder.killed()
        _ = try await store.ensurePersons(["late"], recordedAt: 2)
        let after = try folder.killed()
        try FileManager.default.removeItem(atPath: after.store + "-wal")
        try FileManager.default.copyItem(atPath: before.store + "-wal", toPath: after.store + "-wal")
        let next = try after.open()
        #expect(next.loss?.reason.contains("1 of its last transactions") == true, "\(String(describing: next.loss))")
        try await expectLoss(next, told: store.cursor)
    }

    @Test func `an old copy in the place of the store begins a new epoch, also after an orderly stop`() async throws {
        try await put(0..<7, in: store)
        try store.close()
        let old = try folder.killed()
        let later = try folder.open()
        try await put(7..<10, in: later)
        let told = later.cursor
        try later.close()
        try FileManager.default.removeItem(atPath: folder.store)
        try FileManager.default.copyItem(atPath: old.store, toPath: folder.store)
        let next = try folder.open()
        #expect(next.loss?.reason.contains("it ends at sequence 7, and sequences up to 10") == true)
        try await expectLoss(next, told: told)
        try next.close()
        #expect(try folder.open().loss == nil, "the loss is reported once")
    }

    @Test func `a store of another epoch in the place of the store begins a new epoch`() async throws {
        try await put(0..<4, in: store)
        try store.close()
        let old = try folder.killed()
        let later = try folder.open()
        try await later.newEpoch()
        let told = later.cursor
        try later.close()
        try FileManager.default.removeItem(atPath: folder.store)
        try FileManager.default.copyItem(atPath: old.store, toPath: folder.store)
        try await expectLoss(try folder.open(), told: told)
    }

    @Test
    func `after a power cut sequences continue above all that may have been used, in the same epoch`() async throws {
        try await put(0..<5, in: store)
        let told = store.cursor
        let left = try folder.killed()
        try startMachineAgain(left)
        let next = try left.open()
        let gap = try #require(next.loss)
        #expect(gap.cause == .power && next.epoch == told.epoch)
        #expect(gap.sequences.lowerBound == 6 && next.head == gap.sequences.upperBound - 1)
        #expect(gap.sequences.count <= SequenceReserve.step + 1)
        let placement = try #require(try await next.put(try sample("after"))[0].placement)
        #expect(placement.sequence == gap.sequences.upperBound)
        #expect(try await follow(next, since: told).map(\.number) == [placement.number], "a follower needs no snapshot")
        #expect(try await next.verifyAccounts() == [])
        // A second power cut loses no more than the first.
        let again = try left.killed()
        try startMachineAgain(again)
        #expect(try again.open().loss?.sequences.lowerBound == placement.sequence + 1)
    }

    @Test
    func `R8.38 a follower that has records lost in a power cut must start over with a new snapshot`() async throws {
        try await put(0..<5, in: store)
        try await store.checkpoint()
        let early = try folder.killed()
        try await put(5..<9, in: store)
        // The disk has kept neither the log nor its last accounts: only flushed data is known.
        try startMachineAgain(early)
        let next = try early.open()
        #expect(next.epoch == store.epoch && next.loss?.cause == .power)
        let placement = try #require(try await next.put(try sample("after"))[0].placement)
        #expect(placement.sequence > store.head)
        var query = RecordQuery()
        for lost in 6...store.head {
            query.since = Samples.Cursor(epoch: store.epoch, sequence: lost)
            #expect(await failure { _ = try await next.page(query) }?.code == .epoch, "\(lost)")
        }
        #expect(try await follow(next, since: store.cursor).count == 6, "a follower gets every record")
        query.since = next.cursor
        #expect(try await next.page(query).records == [])
    }

    @Test(arguments: ["missing", "empty", "torn", "foreign"])
    func `without the file of reserved sequences the store gets a new epoch`(_ fault: String) async throws {
        try await put(0..<3, in: store)
        let told = store.cursor
        try store.close()
        let record = URL(fileURLWithPath: SequenceReserve.path(of: folder.store))
        switch fault {
        case "missing": try FileManager.default.removeItem(at: record)
        case "empty": try Data().write(to: record)
        case "torn": try Data(repeating: 0x20, count: 12_288).write(to: record)
        default:
            let other = try TemporaryFolder()
            let stranger = try other.open()
            try await put(0..<9, in: stranger)
            try stranger.close()
            try Data(contentsOf: URL(fileURLWithPath: SequenceReserve.path(of: other.store))).write(to: record)
        }
        let next = try folder.open()
        #expect(next.loss?.cause == .lost && next.epoch != told.epoch, "\(fault)")
        #expect(try await follow(next, since: told).count == 3)
        #expect(try await next.verifyAccounts() == [])
    }

    @Test func `R8.38 sequences lost soon after a power cut are not used again`() async throws {
        try await put(0..<3, in: store)
        let left = try folder.killed()
        try startMachineAgain(left)
        let again = try left.open()
        #expect(again.loss?.cause == .power)
        // From here on the disk keeps no writes.
        let kept = try left.killed()
        try await put(3..<6, in: again)
        let told = again.cursor
        try startMachineAgain(kept)
        let last = try kept.open()
        #expect(last.epoch == told.epoch)
        let placement = try #require(try await last.put(try sample("after"))[0].placement)
        #expect(placement.sequence > told.sequence, "a sequence was used twice")
        #expect(try await follow(last, since: told).count == 4)
        #expect(try await last.verifyAccounts() == [])
    }

    @Test(arguments: 0..<3) func `one torn block does not lose the reserved sequences`(block: Int) async throws {
        try await put(0..<4, in: store)
        let left = try folder.killed()
        let path = SequenceReserve.path(of: left.store)
        let limit = try #require(try SequenceReserve.read(of: left.store)).limit
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        try file.seek(toOffset: UInt64(block) * 4_096 + 30)
        try file.write(contentsOf: Data(repeating: 0xFF, count: 100))
        try file.close()
        #expect(try SequenceReserve.read(of: left.store)?.limit == limit)
        #expect(try left.open().loss == nil)
    }

    @Test func `a reserve older than the store is updated`() async throws {
        try await put(0..<2, in: store)
        let early = try Data(contentsOf: URL(fileURLWithPath: SequenceReserve.path(of: folder.store)))
        try await put(2..<6, in: store)
        try store.close()
        try early.write(to: URL(fileURLWithPath: SequenceReserve.path(of: folder.store)))
        let next = try folder.open()
        #expect(next.loss == nil && next.cursor == store.cursor)
        #expect(try #require(try SequenceReserve.read(of: folder.store)).places[0].head == 6)
    }

    @Test func `no sequence is confirmed before it is reserved on disk`() async throws {
        #expect(try #require(try SequenceReserve.read(of: folder.store)).limit == 0)
        try await put(0..<1, in: store)
        let limit = try #require(try SequenceReserve.read(of: folder.store)).limit
        #expect(limit >= store.head)
        try await put(1..<20, in: store)
        #expect(
            try #require(try SequenceReserve.read(of: folder.store)).limit == limit, "one flush reserves many sequences"
        )
        let many = (0..<(Int(SequenceReserve.step) + 10)).map { "m\($0)" }
        for part in stride(from: 0, to: many.count, by: 20_000) {
            _ = try await store.put(
                try many[part..<min(part + 20_000, many.count)].map { Record.sample(try sample($0)) })
            #expect(try #require(try SequenceReserve.read(of: folder.store)).limit >= store.head)
        }
    }

    @Test func `a store that is known to have held records is not created again when its file is missing`() async throws
    {
        try await put(0..<2, in: store)
        let backup = folder.path + "/backup.sqlite"
        _ = try StoreFile(folder.store).backUp(to: backup)
        try store.close()
        try FileManager.default.removeItem(atPath: folder.store)
        let refusal = await failure { _ = try folder.open() }
        #expect(refusal?.code == .corrupt)
        #expect(refusal?.message.contains("it held sequences up to 2; nothing was changed") == true)
        #expect(!FileManager.default.fileExists(atPath: folder.store))
        #expect(try StoreRestore(of: backup, to: folder.store).carryOut(keepingAs: "replaced-1").replaced == nil)
        let next = try folder.open()
        #expect(next.head == 2 && next.loss == nil)
    }

    @Test func `a restore has the epoch that it reports and does not count as a loss`() async throws {
        try await put(0..<2, in: store)
        let backup = folder.path + "/backup.sqlite"
        _ = try StoreFile(folder.store).backUp(to: backup)
        try await put(2..<5, in: store)
        try store.close()
        let outcome = try StoreRestore(of: backup, to: folder.store).carryOut(keepingAs: "replaced-1")
        let next = try folder.open()
        #expect(next.loss == nil && next.epoch == outcome.epoch && next.head == 2)
        try await put(5..<9, in: next)
        try next.close()
        #expect(try folder.open().loss == nil)
    }

    @Test func `a store of a hub without a reserve continues as it is`() async throws {
        try await put(0..<3, in: store)
        try store.close()
        try folder.change(
            """
            DROP TABLE gap;
            ALTER TABLE meta DROP COLUMN commits;
            DELETE FROM grdb_migrations WHERE identifier = 'v9';
            """)
        try FileManager.default.removeItem(atPath: SequenceReserve.path(of: folder.store))
        let next = try folder.open()
        #expect(next.loss == nil && next.cursor == store.cursor)
        #expect(try #require(try SequenceReserve.read(of: folder.store)).places[0].head == 3)
    }
}
