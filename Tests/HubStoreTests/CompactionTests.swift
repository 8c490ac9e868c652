import Foundation
import GRDB
import HubProcess
import Samples
import Testing

@testable import HubStore

/// Compaction returns free space to the disk and keeps the store's content.
@Suite struct CompactionTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// Fills a store and erases most of it; returns its cursor.
    private func fill() async throws -> Samples.Cursor {
        let store = try folder.open()
        let long = String(repeating: "long ", count: 400)
        var samples = try (0..<2_000).map { try sample("k\($0)") }
        for index in samples.indices { samples[index].metadata = JSONObject(#"{"note":"\#(long)"}"#) }
        for part in 0..<4 { _ = try await store.put(samples[(part * 500)..<(part * 500 + 500)].map(Record.sample)) }
        try await store.erase(Array(1...1_900))
        defer { try? store.close() }
        return store.cursor
    }

    private func size() throws -> Int64 {
        try #require(FileManager.default.attributesOfItem(atPath: folder.store)[.size] as? Int64)
    }

    /// All files except those of the log, which readers of the store create and remove.
    private func files() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted().filter {
            !$0.hasSuffix("hub.sqlite-wal") && !$0.hasSuffix("hub.sqlite-shm")
        }
    }

    @Test func `compaction returns free space to the disk and keeps records, sequences and epoch`() async throws {
        let cursor = try await fill()
        let before = (try size(), try files())
        let plan = try StoreCompaction(of: folder.store)
        #expect(plan.free > 0 && plan.needed == plan.store.bytes - plan.free)
        var steps = 0
        let after = try plan.carryOut { step in
            steps += 1
            return true
        }
        #expect(try size() == after && after <= before.0 - plan.free && after < before.0 / 2 && steps > 0)
        #expect(try files() == before.1)
        #expect(try StoreFile(folder.store).faults(.counters) == [])
        let store = try folder.open()
        #expect(store.cursor == cursor && store.loss == nil)
        #expect(try await store.verifyAccounts() == [])
        #expect(try await store.put(try sample("k5"))[0].isDuplicate)
        #expect(try await store.records(numbers: [1_951]).first?.number == 1_951)
        #expect(try await store.put(try sample("new"))[0].placement?.sequence == cursor.sequence + 1)
    }

    @Test func `a store in use is not compacted, and an interrupted compaction leaves it as it was`() async throws {
        let cursor = try await fill()
        let plan = try StoreCompaction(of: folder.store)
        let store = try folder.open()
        #expect(await failure { _ = try plan.carryOut() }?.code == .locked)
        try store.close()
        let before = try files()
        #expect(await failure { _ = try plan.carryOut { _ in false } }?.code == .interrupted)
        #expect(try files() == before)
        #expect(try folder.open().cursor == cursor)
    }

    @Test(.enabled(if: Need.mount.isMet, "\(Need.mount.reason)"))
    func `a full disk leaves the store as it was`() async throws {
        let store = try folder.open()
        _ = try await store.put(try (0..<5_000).map { Record.sample(try sample("k\($0)")) })
        try store.close()
        let disk = try SmallDisk(bytes: Int(try size()) + 400_000)
        try FileManager.default.copyItem(atPath: folder.store, toPath: disk.path + "/hub.sqlite")
        let plan = try StoreCompaction(of: disk.path + "/hub.sqlite")
        #expect(await failure { _ = try plan.carryOut() }?.code == .full)
        #expect(try StoreFile(disk.path + "/hub.sqlite").faults(.counters) == [])
        #expect(!FileManager.default.fileExists(atPath: disk.path + "/hub.sqlite.compacting"))
    }

    @Test func `a kill before or after the exchange leaves a complete store`() async throws {
        let cursor = try await fill()
        // As after a kill during the copy: its draft exists and is overwritten.
        try Data("half a copy".utf8).write(to: URL(fileURLWithPath: folder.store + ".compacting"))
        _ = try StoreCompaction(of: folder.store).carryOut()
        // While the files of the log are set aside: the note lists what to restore.
        try StoreExchange.begin(folder.store, keeping: folder.store + ".before-compact")
        let store = try folder.open()
        #expect(store.cursor == cursor && store.loss == nil)
        try store.close()
        // After the exchange: the old store is left and is removed by the next compaction.
        try FileManager.default.copyItem(atPath: folder.store, toPath: folder.store + ".before-compact")
        _ = try StoreCompaction(of: folder.store).carryOut()
        #expect(try !files().contains { $0.contains("compact") })
        #expect(try folder.open().cursor == cursor)
    }
}
