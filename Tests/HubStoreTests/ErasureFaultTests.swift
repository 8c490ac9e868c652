import Foundation
import GRDB
import HubProcess
import Samples
import Testing

@testable import HubStore

/// A record that cannot be erased does not delay others, and is erased once that is possible.
@Suite struct ErasureFaultTests {
    let folder: TemporaryFolder
    let store: Store

    init() throws { (folder, store) = try newStore() }

    /// As for a cause unknown to the hub: SQLite refuses each change of a row.
    private func refuse(_ table: String, _ number: Int64, in store: Store) async throws {
        try await store.pool.write { db in
            try db.execute(
                sql: """
                    CREATE TRIGGER refuse BEFORE UPDATE ON \(table) WHEN old.number = \(number)
                    BEGIN SELECT RAISE(ABORT, 'for a test'); END
                    """)
        }
    }

    private func allow(in store: Store) async throws {
        try await store.pool.write { db in try db.execute(sql: "DROP TRIGGER refuse") }
    }

    private func carryOut(_ store: Store) async throws {
        try await store.finishErasing()
        #expect(try await store.erasure() == nil)
        #expect(try await store.verifyAccounts() == [])
    }

    /// The keys that occur in files of the store.
    private func keys(_ range: Range<Int>) throws -> [Int] {
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            .map { try Data(contentsOf: URL(fileURLWithPath: folder.path + "/" + $0)) }
        return range.filter { key in files.contains { $0.range(of: Data("needle-\(key)-".utf8)) != nil } }
    }

    @Test func `R6.45 a record that cannot be erased is reported, delays no other, and is erased later`() async throws {
        _ = try await store.put(try (1...120).map { .sample(try sample("needle-\($0)-")) })
        try await refuse("sample", 7, in: store)
        #expect(try await store.beginErasure(of: .numbers(Array(1...119)), removingCopies: true) == 119)
        try await carryOut(store)
        #expect(try keys(1..<121) == [7, 120])
        let faults = try await store.erasureFaults()
        #expect(faults.count == 1 && faults.first.map(\.number) == [7])
        #expect(faults.first.first?.reason.contains("for a test") == true)
        let left = try #require(try await store.records(numbers: [7]).first)
        #expect(left.sequence == 7 && left.type == .weight)

        // Another erasure, an interrupted choice or a restart of the hub do not forget it.
        #expect(try await store.beginErasure(of: .numbers([120]), removingCopies: true) == 1)
        try await carryOut(store)
        try await store.retryErasure()
        #expect(try await store.erasure()?.total == 1)
        try await carryOut(store)
        try store.close()
        let again = try folder.open()
        #expect(try await again.erasureFaults().first.map(\.number) == [7])
        try await allow(in: again)
        try await again.retryErasure()
        try await carryOut(again)
        #expect(try await again.erasureFaults().count == 0)
        #expect(try keys(1..<121) == [])
        try await again.retryErasure()
        #expect(try await again.erasure() == nil)
    }

    @Test func `R6.45 a name that cannot be removed delays no other name`() async throws {
        _ = try await store.put(try (1...3).map { .sample(try sample("needle-\($0)-")) })
        var sink = try await SinkSession(store, from: .beginning)
        try await sink.answer(try await sink.take())
        _ = try await store.beginErasure(of: .numbers([1, 2, 3]), removingCopies: true)
        try await carryOut(store)
        #expect(try await store.namedErasures().records == 3)
        try await refuse("erased", 2, in: store)
        try await sink.answer(try await sink.take())
        try await store.removeErasedNames()
        try await carryOut(store)
        #expect(try keys(1..<4) == [2])
        #expect(try await store.erasureFaults().first.map(\.number) == [2])
        try await allow(in: store)
        try await store.retryErasure()
        try await store.removeErasedNames()
        try await carryOut(store)
        #expect(try keys(1..<4) == [])
        #expect(try await store.erasureFaults().count == 0)
    }

    @Test func `a sink that has not confirmed the last of many erased records is listed`() async throws {
        let numbers = Array(Int64(1)...1_001)
        _ = try await store.put(try numbers.map { .sample(try sample("\($0)")) })
        var sink = try await SinkSession(store, from: .beginning)
        try await sink.answer(try await sink.take(1_000))
        let idle = SinkID(instance: "idle", want: "all")
        _ = try await SinkSession(store, idle)
        _ = try await store.beginErasure(of: .numbers(Array(numbers.prefix(1_000))), removingCopies: true)
        try await carryOut(store)
        _ = try await store.beginErasure(of: .numbers([1_001]), removingCopies: true)
        try await carryOut(store)
        let told = try await sink.take(1_000)
        #expect(told.count == 1_001)
        try await sink.answer(told.filter { $0.number <= 1_000 })
        let waiting = try await store.namedErasures()
        #expect(waiting.records == 1_001)
        #expect(waiting.sinks.contains(exporter))
    }
}
