import Foundation
import GRDB
import HubProcess
import Samples
import Testing

@testable import HubStore

@Suite struct FailureTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test
    func `a commit that does not fit leaves no trace, and the next continues after the last good one`() async throws {
        let store = try folder.open()
        _ = try await store.put(try sample("a"), try sample("b"))
        let accounts = try await store.accounts()
        try await store.pool.writeWithoutTransaction { db in
            let pages = try Int.fetchOne(db, sql: "PRAGMA page_count") ?? 0
            try db.execute(sql: "PRAGMA max_page_count = \(pages + 4)")
        }
        let source = Source(plugin: "new-plugin")
        let many = try (0..<2_000).map { Record.sample(try sample("many-\($0)", type: "stepCount", source: source)) }
        let error = await failure { try await store.put(many, instance: "other") }
        #expect(error?.code == .full)
        #expect(store.head == 2)
        #expect(try await store.accounts() == accounts)
        #expect(try await store.page(RecordQuery()).records.count == 2)

        try await store.pool.writeWithoutTransaction { db in try db.execute(sql: "PRAGMA max_page_count = 1073741823") }
        let placements = try await store.put(many, instance: "other").map(\.placement)
        #expect(placements.map(\.?.sequence) == (3...2_002).map(Int64?.some))
        #expect(placements.map(\.?.previous) == ([0] + (3...2_001)).map(Int64?.some))
        #expect(try await store.verifyAccounts() == [])
    }

    @Test func `an error within a commit rolls back words, sources, streams and persons`() async throws {
        let store = try folder.open()
        _ = try await store.put(try sample("a"))
        try await store.pool.writeWithoutTransaction { db in
            try db.execute(
                sql: """
                    CREATE TEMP TRIGGER fault BEFORE INSERT ON main.sample WHEN NEW.key = 'fault'
                    BEGIN SELECT RAISE(ABORT, 'fault'); END
                    """)
        }
        let strange = Source(plugin: "strange", device: "d")
        #expect(
            await failure {
                try await store.put([
                    .sample(try sample("b", type: "stepCount", source: strange)), .sample(try sample("fault")),
                ])
            } != nil)
        #expect(store.head == 1)
        let words = try await store.pool.read { db in
            try Int.fetchOne(db, sql: "SELECT count(*) FROM term WHERE text IN ('strange', 'stepCount')")
        }
        #expect(words == 0)
        // The words of the next commit reuse the released ids; no cache may refer to their old meaning.
        let other = Source(plugin: "other")
        let results = try await store.put([
            .sample(try sample("c", type: "heartRate", source: other)),
            .sample(try sample("b", type: "stepCount", source: strange)),
        ])
        #expect(results.map(\.placement?.sequence) == [2, 3])
        #expect(results.map(\.placement?.previous) == [0, 0])
        let back = try await store.records(numbers: [2, 3])
        #expect(back.map(\.record.source) == [other, strange])
        #expect(back.map(\.type.rawValue) == ["heartRate", "stepCount"])
        #expect(try await store.verifyAccounts() == [])
    }

    @Test(.enabled(if: Need.mount.isMet, "\(Need.mount.reason)"))
    func `a full disk is an error that ends when there is space again`() async throws {
        let disk = try SmallDisk(bytes: 1_000_000)
        let store = try Store(path: disk.path + "/hub.sqlite", now: 0)
        var stored = 0
        var error: StoreError?
        while error == nil, stored < 100_000 {
            let records = try (stored..<stored + 100).map { Record.sample(try sample("k\($0)")) }
            error = await failure { try await store.put(records) }
            if error == nil { stored += 100 }
        }
        #expect(error?.code == .full)
        #expect(store.head == Int64(stored))
        disk.resize(bytes: 50_000_000)
        _ = try await store.put(try (stored..<stored + 100).map { Record.sample(try sample("k\($0)")) })
        #expect(try await store.recordCount() == Int64(stored + 100))
        #expect(try await store.verifyAccounts() == [])
    }

    @Test(.enabled(if: Need.mount.isMet, "\(Need.mount.reason)"))
    func `a disk that cannot be written is reported as read-only`() async throws {
        let disk = try SmallDisk(bytes: 4_000_000)
        try Store(path: disk.path + "/hub.sqlite", now: 0).close()
        disk.makeReadOnly()
        let error = await failure { _ = try Store(path: disk.path + "/hub.sqlite", now: 0) }
        #expect(error?.code == .readOnly)
    }

    @Test(.enabled(if: Need.python.isMet, "\(Need.python.reason)"))
    func `only the program that holds the file is named`() async throws {
        let store = try folder.open()
        #expect(LockHolders.others(of: folder.store) == [])
        let holder = try ChildProcess(
            "/usr/bin/env",
            [
                "python3", "-c",
                """
                import signal, sqlite3
                connection = sqlite3.connect("\(folder.store)", isolation_level=None)
                connection.execute("BEGIN IMMEDIATE")
                print("held", flush=True)
                signal.pause()
                """,
            ])
        #expect(await holder.lines(count: 1) == ["held"], "\(holder.errorLines)")
        let name = try #require(LockHolders.others(of: folder.store).first)
        #expect(name.wholeMatch(of: /process [0-9]+ \(python3?[0-9.]*\)/) != nil, "\(name)")
        let error = await failure { _ = try await store.put(try sample("a")) }
        #expect(error?.code == .busy)
        #expect(error?.message.contains("\(name) holds it; end that program") == true)
        await holder.killAndWait()
        _ = try await store.put(try sample("a"))
    }

    @Test func `a page that the disk failed to read is not reported as damaged`() throws {
        // In the words of SQLite's integrity check.
        let unread = ["Tree 5 page 9: unable to get the page. error code=266"]
        #expect(throws: DatabaseError.self) { try StoreFile(folder.store).refuseUnread(unread) }
        try StoreFile(folder.store).refuseUnread([
            "Tree 5 page 9: btreeInitPage() returns error code 11", "row 7 missing",
        ])
    }

    @Test func `a damaged file is an error, not a crash`() async throws {
        let store = try folder.open()
        _ = try await store.put(try (0..<3_000).map { Record.sample(try sample("k\($0)")) })
        try store.close()
        let size = try #require(FileManager.default.attributesOfItem(atPath: folder.store)[.size] as? UInt64)
        try folder.overwrite(8..<size / 4_096)
        let error = await failure {
            let damaged = try folder.open()
            _ = try await damaged.all(RecordQuery())
        }
        #expect(error?.code == .corrupt)
    }
}
