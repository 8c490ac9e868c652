import Foundation
import GRDB
import HubProcess
import Samples
import Testing

@testable import HubStore

/// The write-ahead log must not grow without limit.
@Suite struct WriteAheadLogTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private var log: Int {
        get throws { try #require(FileManager.default.attributesOfItem(atPath: folder.store + "-wal")[.size] as? Int) }
    }

    /// Records whose order differs from that of their keys touch many pages.
    private func commit(_ round: Int, to store: Store) async throws {
        _ = try await store.put(
            try (0..<2_000).map { Record.sample(try sample("\(($0 &* 7_919 &+ round) % 2_000)-\(round)")) })
    }

    @Test
    func `the log grows while a reader holds an old snapshot, and is truncated after the reader ends`() async throws {
        let store = try folder.open()
        try await commit(0, to: store)
        var configuration = Configuration()
        configuration.readonly = true
        configuration.allowsUnsafeTransactions = true
        let reader = try DatabaseQueue(path: folder.store, configuration: configuration)
        try await reader.unsafeRead { db in
            try db.execute(sql: "BEGIN; SELECT count(*) FROM meta")
            _ = try Int.fetchOne(db, sql: "SELECT count(*) FROM sample")
        }
        var round = 1
        while try log < 80_000_000 {
            try await commit(round, to: store)
            round += 1
        }
        try await reader.unsafeRead { db in try db.execute(sql: "COMMIT") }
        // The first commit afterwards checkpoints the log, and the next one starts it from the beginning.
        for _ in 0..<3 {
            try await commit(round, to: store)
            round += 1
        }
        #expect(try log <= 67_108_864)
        #expect(try await store.verifyAccounts() == [])
    }

    @Test func `without such a reader the log stays short`() async throws {
        let store = try folder.open()
        for round in 0..<30 {
            try await commit(round, to: store)
            #expect(try log < 40_000_000)
        }
        try store.close()
        // Pages checkpointed before the file had a first page have checksums, too.
        #expect(try StoreFile(folder.store).faults(.indices) == [])
    }
}
