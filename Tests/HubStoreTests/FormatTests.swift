import Foundation
import GRDB
import HubProcess
import Samples
import Testing

@testable import HubStore

/// Stores of earlier schemas, opened by the current hub.
@Suite struct FormatTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private static func rows(_ db: Database) throws -> [String] {
        try OldFormat.questions.flatMap { try String.fetchAll(db, sql: $0) }
    }

    /// The rows that are in only one of the two lists, marked.
    private static func differences(_ found: [String], _ expected: [String]) -> [String] {
        found.filter { !expected.contains($0) }.map { "found " + $0 }
            + expected.filter { !found.contains($0) }.map { "missing " + $0 }
    }

    @Test(arguments: OldFormat.all)
    func `a store of each format is upgraded with all its records and remains usable`(_ format: OldFormat) async throws
    {
        try format.unpack(into: folder.path)
        let expected = try format.rows
        // The tables of each format are known and not taken for another program's.
        #expect(try StoreFile(folder.store).schemaFaults() == [])
        let store = try folder.open()
        #expect(store.loss?.cause != .lost, "\(String(describing: store.loss))")
        #expect(try await store.verifyAccounts() == [])
        #expect(FormatTests.differences(try await store.pool.read(FormatTests.rows), expected) == [])

        // All records are in the answer of a query, and each has its trace.
        let numbers = expected.filter { $0.hasPrefix("sample ") || $0.hasPrefix("day ") }
            .compactMap { $0.split(separator: " ").dropFirst().first.flatMap { Int64($0) } }
        let versions = expected.count { $0.hasPrefix("sample_version ") || $0.hasPrefix("day_version ") }
        #expect(Set(try await store.all(RecordQuery()).records.map(\.number)) == Set(numbers))
        var told = 0
        for number in numbers { told += try #require(try await store.trace(number)).versions.count }
        #expect(told == numbers.count + versions)

        // Records sent before are known, and new ones get sequences above all others.
        let head = store.head
        let again = try sample("anna-1", 62.625, source: Source(plugin: "ihealth-hs5", device: "020000003001"))
        #expect(try await store.put(again)[0].code == nil)
        #expect(try await store.put(try sample("new"))[0].placement?.sequence ?? 0 > head)
        #expect(try await store.verifyAccounts() == [])
        try store.close()
        #expect(try StoreFile(folder.store).faults(.counters) == [])
        #expect(try StoreFile(folder.store).schemaFaults() == [])

        // The old store is kept beside the new one.
        let beside = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            .filter { $0.hasPrefix("hub.sqlite.before-") && !$0.hasSuffix("-wal") && !$0.hasSuffix("-shm") }
        #expect(beside.count == 1)
        let kept = try DatabaseQueue(path: "\(folder.path)/\(try #require(beside.first))")
        let known = try await kept.read { db in
            try OldFormat.questions.flatMap { question in
                do { return try String.fetchAll(db, sql: question) } catch let error as DatabaseError {
                    guard error.message?.contains("no such table") == true else { throw error }
                    return []
                }
            }
        }
        #expect(FormatTests.differences(known, expected) == [])
    }

    @Test(arguments: OldFormat.all.filter { $0.name != "1" })
    func `each sink gets exactly the deliveries that it was owed in the older format`(_ format: OldFormat) async throws
    {
        try format.unpack(into: folder.path)
        let store = try folder.open()
        for overview in try await store.sinks() {
            let before = overview.state.account
            var sink = try await SinkSession(store, overview.state.id, overview.terms)
            sink.now = .max / 2
            var given = 0
            while true {
                let taken = try await sink.take()
                if taken.isEmpty { break }
                given += taken.count
                try await sink.answer(taken)
            }
            let after = try await store.sink(overview.state.id).account
            #expect(after.pending == 0 && after.retrying == 0, "\(overview.state.id)")
            #expect(after.delivered == before.delivered + Int64(given), "\(overview.state.id)")
            #expect(after.wanted >= before.wanted && after.refused == before.refused)
            #expect(before.pending + before.retrying == 0 || given > 0)
        }
        #expect(try await store.verifyAccounts() == [])
    }

    @Test(arguments: OldFormat.withTokens)
    func `a token file of each format opens with all its tokens`(_ format: OldFormat) async throws {
        try format.unpack(into: folder.path)
        let secrets = try SecretStore(path: folder.path + "/secrets.db")
        let exist = try await secrets.token(of: TokenAccount(instance: "exist", name: "anna"))
        #expect(exist.version == 2 && exist.json == Array("{}".utf8))
        let sami = try await secrets.token(of: TokenAccount(instance: "sami", name: "anna"))
        #expect(sami.version == 1 && sami.json == Array(#"{"access_token":"of sami"}"#.utf8))
        let known = try await secrets.overview()
        #expect(known.map(\.account.instance) == ["exist", "sami"])
        #expect(known[1].expires == 1_800_000_000_000_000 && known[1].isRenewable)
        #expect(known[1].failure == TokenFailure(.auth, reason: "revoked") && known.allSatisfy { $0.user == nil })
        try secrets.close()
        #expect(!PageChecksums.areMissing(folder.path + "/secrets.db"))
    }

    @Test func `a caller that waits for the upgrade is informed of its progress`() async throws {
        // Large enough for several callbacks of SQLite.
        try OldFormat.all[0].unpack(into: folder.path)
        try folder.change(
            """
            WITH RECURSIVE n (i) AS (SELECT 1000 UNION ALL SELECT i + 1 FROM n WHERE i < 300000)
            INSERT INTO payload (seq, number, bytes) SELECT i, 1, zeroblob(64) FROM n
            """)
        var told: [OpeningProgress] = []
        try Store(path: folder.store, now: 0) { told.append($0) }.close()
        #expect(told.first?.stage == .summing && told.first?.copied.done == 0)
        #expect(told.last?.stage == .upgrading)
        let copied = told.dropLast().map(\.copied)
        #expect(copied.count > 2 && copied.map(\.done) == copied.map(\.done).sorted())
        #expect(copied.allSatisfy { $0.done <= $0.total && $0.total == copied[0].total })
        // The second time no upgrade is necessary.
        told = []
        try Store(path: folder.store, now: 0) { told.append($0) }.close()
        #expect(told.isEmpty)
    }
}
