import Foundation
import GRDB
import HubProcess
import Samples
import Synchronization
import Testing

@testable import HubStore

/// Backups are consistent copies of the store, also if they are made during writes.
@Suite struct BackupTests {
    let folder: TemporaryFolder
    let store: Store
    var target: String { folder.path + "/backup.sqlite" }

    init() throws { (folder, store) = try newStore() }

    private func mode(_ path: String) throws -> Int {
        try #require(FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int)
    }

    private var files: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() }
    }

    @Test func `a backup of an open store is one private file with all confirmed records`() async throws {
        _ = try await store.put(try (0..<3_000).map { Record.sample(try sample("k\($0)")) })
        _ = try await store.retract(try sample("k7"))
        let before = try StoreFile(folder.store).summary()
        let copied = try StoreFile(folder.store).backUp(to: target)
        #expect(copied == before)
        #expect(copied.head == 3_001 && copied.records == 3_000 && copied.newest == 2)
        #expect(copied.hub == store.hubID && copied.epoch == store.epoch)
        #expect(try mode(target) == 0o600)
        #expect(try files.filter { $0.hasPrefix("backup") } == ["backup.sqlite"])
        #expect(try StoreFile(target).faults(.counters) == [])
        // The store works on as before.
        _ = try await store.put(try sample("later"))
        #expect(store.head == 3_002)
        try store.close()

        let copy = try Store(path: target, now: 9)
        #expect(copy.head == 3_001)
        #expect(try await copy.recordCount() == 3_000)
        #expect(try await copy.put(try sample("k3"))[0].isDuplicate)
    }

    @Test func `a backup under load is a snapshot of the store, with whole commits only`() async throws {
        _ = try await store.put(try (0..<20_000).map { Record.sample(try sample("k\($0)")) })
        let isOver = Mutex(false)
        let writer = Task {
            var number = 0
            while !isOver.withLock({ $0 }) {
                _ = try await store.put(try (0..<10).map { Record.sample(try sample("w\(number)-\($0)")) })
                number += 1
            }
            return number
        }
        var heads: [Int64] = []
        for index in 0..<5 {
            // Each backup waits for commits in the middle of its copy, so that none is made in a quiet moment.
            let began = store.head
            let copied = try StoreFile(folder.store).backUp(to: "\(target)-\(index)") { step in
                while step.done < step.total / 2, store.head < began + 20 { usleep(100) }
                return true
            }
            heads.append(copied.head)
            #expect(try StoreFile("\(target)-\(index)").faults(.counters) == [])
        }
        isOver.withLock { $0 = true }
        let commits = try await writer.value
        #expect(heads == heads.sorted() && heads.allSatisfy { ($0 - 20_000) % 10 == 0 })
        #expect(store.head == 20_000 + Int64(commits) * 10)
    }

    @Test func `a backup replaces no file and leaves no unfinished one`() async throws {
        _ = try await store.put(try (0..<5_000).map { Record.sample(try sample("k\($0)")) })
        try Data("mine".utf8).write(to: URL(fileURLWithPath: target))
        #expect(await failure { _ = try StoreFile(folder.store).backUp(to: target) }?.code == .exists)
        #expect(try Data(contentsOf: URL(fileURLWithPath: target)) == Data("mine".utf8))
        let other = target + ".other"
        #expect(
            await failure { _ = try StoreFile(folder.store).backUp(to: other) { _ in false } }?.code == .interrupted)
        #expect(await failure { _ = try StoreFile(folder.store).backUp(to: "/nonexistent/b") }?.code == .readOnly)
        #expect(try files.filter { $0.hasPrefix("backup") } == ["backup.sqlite"])
        // A draft left by a crash is overwritten.
        try Data(repeating: 1, count: 100_000).write(to: URL(fileURLWithPath: other + ".part"))
        #expect(try StoreFile(folder.store).backUp(to: other).head == 5_000)
    }

    @Test func `a backup of a stopped or killed store contains its write-ahead log`() async throws {
        _ = try await store.put(try sample("a"), try sample("b"))
        // As after kill -9: the log has not been checkpointed into the database.
        let killed = folder.path + "/killed.sqlite"
        for suffix in ["", "-wal"] {
            try FileManager.default.copyItem(atPath: folder.store + suffix, toPath: killed + suffix)
        }
        #expect(try StoreFile(killed).backUp(to: target).head == 2)
        try store.close()
        #expect(try StoreFile(folder.store).backUp(to: target + "2").head == 2)
    }

    @Test func `a damaged store cannot be backed up, and a damaged backup is detected`() async throws {
        _ = try await store.put(try (0..<3_000).map { Record.sample(try sample("k\($0)")) })
        try store.close()
        _ = try StoreFile(folder.store).backUp(to: target)
        for path in [folder.store, target] {
            // Behind the pages with the schema.
            try folder.overwrite(100..<120, of: path)
        }
        #expect(await failure { _ = try StoreFile(folder.store).backUp(to: target + "2") }?.code == .corrupt)
        #expect(!FileManager.default.fileExists(atPath: target + "2"))
        #expect(try StoreFile(target).faults(.pages) != [])
        #expect(await failure { _ = try StoreRestore(of: target, to: folder.store) }?.code == .corrupt)
    }

    @Test(.enabled(if: Need.mount.isMet, "\(Need.mount.reason)"))
    func `a full disk leaves no incomplete backup and an unchanged store`() async throws {
        let disk = try SmallDisk(bytes: 300_000)
        _ = try await store.put(try (0..<5_000).map { Record.sample(try sample("k\($0)")) })
        #expect(await failure { _ = try StoreFile(folder.store).backUp(to: disk.path + "/b") }?.code == .full)
        #expect(try FileManager.default.contentsOfDirectory(atPath: disk.path) == [])
        _ = try await store.put(try sample("later"))
    }

    @Test func `a file that is no store is refused`() async throws {
        #expect(await failure { _ = try StoreFile(target).summary() }?.code == .missing)
        try Data(repeating: 0x41, count: 8_192).write(to: URL(fileURLWithPath: target))
        #expect(await failure { _ = try StoreFile(target).summary() }?.code == .foreign)
        try folder.change("CREATE TABLE mail (id INTEGER)", of: folder.path + "/mail")
        #expect(await failure { _ = try StoreFile(folder.path + "/mail").summary() }?.code == .foreign)
        let other = try TemporaryFolder()
        var newer = StoreSchema.migrator
        newer.registerMigration("v999") { db in try db.execute(sql: "CREATE TABLE later (id INTEGER)") }
        try Store(path: other.store, now: 0, migrator: newer).close()
        #expect(await failure { _ = try StoreFile(other.store).summary() }?.code == .newerSchema)
    }

    // MARK: - Restore

    @Test func `a restore lists the records and people erased since, and those due to be, if the store can be read`()
        async throws
    {
        let anna = try #require(try await store.ensurePersons(["anna", "ben"], recordedAt: 1).first)
        _ = try await store.put(try (1...20).map { .sample(try sample("k\($0)")) }, .person(anna))
        func erase(_ numbers: [Int64]) async throws {
            _ = try await store.beginErasure(of: .numbers(numbers), removingCopies: false)
        }
        try await erase([2])
        try await store.finishErasing()
        _ = try StoreFile(folder.store).backUp(to: target)
        _ = try await store.put(try (21...25).map { .sample(try sample("k\($0)")) }, .person(anna))
        // Two of the backup's records, and one that it does not contain.
        try await erase([3, 7, 24])
        try await store.finishErasing()
        let query = RecordQuery { $0.persons = [.person("ben")] }
        _ = try await store.beginErasure(of: .matching(query), forgetting: "ben", removingCopies: false)
        try await store.finishErasing()
        // Chosen, but the hub ended before they were erased.
        try await erase([11])
        try store.close()

        let revived = try #require(try StoreRestore(of: target, to: folder.store).revived)
        #expect(revived.numbers == [3, 7, 11] && revived.records == 3 && revived.persons == ["ben"])
        #expect(
            await failure { _ = try StoreRestore(of: target, to: folder.store, progress: { _ in false }) }?.code
                == .interrupted)
        // In another history a number may mean another record.
        let restored = try StoreRestore(of: target, to: folder.store)
        _ = try restored.carryOut(keepingAs: "replaced")
        #expect(try StoreRestore(of: target, to: folder.store).revived == nil)
    }

    @Test func `a store whose list of erased records is damaged is still replaced`() async throws {
        _ = try await store.put(try (1...3_000).map { .sample(try sample("k\($0)")) })
        _ = try StoreFile(folder.store).backUp(to: target)
        try await store.erase(Array(1...1_000), removingCopies: false)
        try store.close()
        #expect(try StoreRestore(of: target, to: folder.store).revived?.records == 1_000)
        let pages = try await DatabaseQueue(path: folder.store).read { db in
            try UInt64.fetchAll(
                db, sql: "SELECT pageno FROM dbstat WHERE name = 'erased' AND pagetype = 'leaf' ORDER BY pageno")
        }
        try folder.overwrite(pages.map { $0 - 1 })
        let restore = try StoreRestore(of: target, to: folder.store)
        #expect(restore.revived == nil && restore.lost != nil && restore.damage == nil)
        _ = try restore.carryOut(keepingAs: "replaced")
        #expect(try StoreFile(folder.store).summary().head == 3_000)
    }

    @Test(arguments: [
        (
            "trigger keep_values",
            "CREATE TABLE kept (value); CREATE TRIGGER keep_values BEFORE DELETE ON sample BEGIN INSERT INTO kept VALUES (old.value); END"
        ),
        ("view seen", "CREATE VIEW seen AS SELECT * FROM sample"),
        ("index by_value", "CREATE INDEX by_value ON sample (value)"),
        ("table sqlitekept", "CREATE TABLE sqlitekept (value)"),
        ("table meta differs", "ALTER TABLE meta ADD COLUMN note TEXT"),
        ("index sample_implausible is missing", "DROP INDEX sample_implausible"),
        (
            "index sample_implausible differs",
            "DROP INDEX sample_implausible; CREATE INDEX sample_implausible ON sample (number)"
        ),
    ])
    func `a backup whose schema another program has changed is refused with all differences`(
        part: String, sql: String
    ) async throws {
        _ = try await store.put(try sample("a"))
        _ = try StoreFile(folder.store).backUp(to: target)
        try store.close()
        let before = try Data(contentsOf: URL(filePath: folder.store))
        _ = try StoreRestore(of: target, to: folder.store)

        try folder.change(sql, of: target)
        let refusal = #expect(throws: StoreError.self) { try StoreRestore(of: target, to: folder.store) }
        #expect(refusal?.code == .foreign && refusal?.message.contains(part) == true, "\(refusal?.message ?? "")")
        #expect(try StoreFile(target).schemaFaults().contains { $0.contains(part) })
        #expect(try Data(contentsOf: URL(filePath: folder.store)) == before)
    }

    @Test func `a restored store is the backup with a new epoch, and the replaced store is kept`() async throws {
        _ = try await store.put(try (0..<100).map { Record.sample(try sample("k\($0)")) })
        let old = store.cursor
        _ = try StoreFile(folder.store).backUp(to: target)
        _ = try await store.put(try (0..<7).map { Record.sample(try sample("late\($0)")) })
        let last = store.cursor
        try store.close()

        let restore = try StoreRestore(of: target, to: folder.store)
        #expect(restore.lost == 7)
        #expect(restore.current?.head == 107 && restore.backup.head == 100)
        let outcome = try restore.carryOut(keepingAs: "replaced")
        #expect(outcome.epoch != old.epoch)
        #expect(outcome.replaced == folder.store + ".replaced")
        #expect(try mode(folder.store) == 0o600)
        #expect(try StoreFile(target).summary().epoch == old.epoch, "the backup itself is not changed")
        #expect(try StoreFile(folder.store + ".replaced").summary().head == 107)

        let restored = try folder.open()
        #expect(restored.hubID == store.hubID)
        #expect(restored.cursor == Samples.Cursor(epoch: outcome.epoch, sequence: 100))
        for cursor in [old, last] {
            let query = RecordQuery { $0.since = cursor }
            #expect(await failure { _ = try await restored.page(query) }?.code == .epoch)
        }
        // Records from after the backup are new again; those from before are duplicates.
        #expect(try await restored.put(try sample("late3"))[0].placement?.sequence == 101)
        #expect(try await restored.put(try sample("k3"))[0].isDuplicate)
        #expect(try await restored.verifyAccounts() == [])
        try restored.close()
        #expect(try files.filter { $0.contains("restoring") } == [])
    }

    @Test func `a store is not replaced while it is in use, nor if it has changed since the check`() async throws {
        _ = try await store.put(try sample("a"))
        _ = try StoreFile(folder.store).backUp(to: target)
        let restore = try StoreRestore(of: target, to: folder.store)
        #expect(await failure { _ = try restore.carryOut(keepingAs: "r") }?.code == .locked)
        _ = try await store.put(try sample("b"))
        try store.close()
        #expect(await failure { _ = try restore.carryOut(keepingAs: "r") }?.code == .changed)
        #expect(await failure { _ = try StoreRestore(of: folder.store, to: folder.store) }?.code == .exists)
        #expect(try StoreFile(folder.store).summary().head == 2)
        #expect(
            try files == [
                "backup.sqlite", "hub.sqlite", "hub.sqlite-shm", "hub.sqlite-wal", "hub.sqlite.backups",
                "hub.sqlite.lock",
                "hub.sqlite.sequences",
            ])
    }

    @Test func `a store too damaged to open is replaced and kept with its log`() async throws {
        _ = try await store.put(try sample("a"))
        _ = try StoreFile(folder.store).backUp(to: target)
        try store.close()
        try Data("rubbish".utf8).write(to: URL(fileURLWithPath: folder.store))
        try Data("more".utf8).write(to: URL(fileURLWithPath: folder.store + "-wal"))
        let restore = try StoreRestore(of: target, to: folder.store)
        #expect(restore.current == nil && restore.damage?.code == .foreign && restore.lost == nil)
        _ = try restore.carryOut(keepingAs: "r")
        #expect(try Data(contentsOf: URL(fileURLWithPath: folder.store + ".r")) == Data("rubbish".utf8))
        #expect(try Data(contentsOf: URL(fileURLWithPath: folder.store + ".r-wal")) == Data("more".utf8))
        let restored = try folder.open()
        #expect(restored.head == 1)
    }

    @Test func `a restore without an existing store installs the backup`() async throws {
        _ = try await store.put(try sample("a"))
        _ = try StoreFile(folder.store).backUp(to: target)
        try store.close()
        let fresh = try TemporaryFolder()
        let restore = try StoreRestore(of: target, to: fresh.store)
        #expect(restore.lost == 0)
        #expect(try restore.carryOut(keepingAs: "r").replaced == nil)
        let restored = try fresh.open()
        #expect(restored.head == 1)
    }

    @Test func `a backup of an older format is restored, and upgraded when a hub opens it`() async throws {
        let folder = try TemporaryFolder()
        try folder.makeOld(
            at: target,
            rows: """
                INSERT INTO meta VALUES (1, 'a-hub-of-old', 'abcdefgh', 5);
                INSERT INTO term VALUES (1, 'weight'), (2, 'kg'), (3, 'scale');
                INSERT INTO person VALUES (1, 'uid', 'me', 5);
                INSERT INTO source VALUES (1, 'scale', NULL, NULL);
                INSERT INTO sample (number, seq, source, key, type, kind, person, start, duration, value, unit, provenance, recorded_at)
                    VALUES (1, 1, 1, 'k', 1, 0, 1, 0, 0, 70, 2, 0, 7);
                INSERT INTO stream VALUES (1, 0, 1, 1, 3, 1, 1, 0);
                INSERT INTO account VALUES ('scale', 1, 1, 0, 0, 0, 0);
                """)
        let restore = try StoreRestore(of: target, to: folder.store)
        #expect(restore.backup.schema == "v1" && restore.backup.head == 1 && restore.backup.newest == 7)
        let outcome = try restore.carryOut(keepingAs: "r")
        let store = try folder.open()
        #expect(store.cursor == Samples.Cursor(epoch: outcome.epoch, sequence: 1))
        #expect(try await store.verifyAccounts() == [])
        try store.close()
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(files.contains { $0.hasPrefix("hub.sqlite.before-") })
        #expect(try StoreFile(folder.store).faults(.counters) == [])
    }
}
