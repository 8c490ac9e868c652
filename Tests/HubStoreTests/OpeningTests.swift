import Foundation
import GRDB
import HubProcess
import Samples
import Testing

@testable import HubStore

@Suite struct OpeningTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func mode(_ path: String) throws -> Int {
        try #require(FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int)
    }

    @Test func `every file of the store is readable by its owner only`() async throws {
        let store = try folder.open()
        _ = try await store.put(try sample("a"))
        for file in ["", "-wal", "-shm", ".lock"] { #expect(try mode(folder.store + file) == 0o600, "\(file)") }
    }

    @Test func `a store readable by others gets private permissions when it is opened`() throws {
        try folder.open().close()
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: folder.store)
        try folder.open().close()
        #expect(try mode(folder.store) == 0o600)
    }

    @Test func `a copy of a closed store's file contains all its records`() async throws {
        let store = try folder.open()
        _ = try await store.put(try sample("a"))
        try store.close()
        let copy = folder.store + ".copy"
        try FileManager.default.copyItem(atPath: folder.store, toPath: copy)
        let other = try Store(path: copy, now: 0)
        #expect(try await other.recordCount() == 1)
    }

    @Test func `commits are durable: WAL with full synchronisation`() async throws {
        let store = try folder.open()
        let settings = try await store.pool.writeWithoutTransaction { db in
            try ["journal_mode", "synchronous"].map { try String.fetchOne(db, sql: "PRAGMA \($0)") }
        }
        #expect(settings == ["wal", "2"])
    }

    @Test(arguments: [
        ("UPDATE sample SET type = 999", "sample", "term"), ("UPDATE sample SET person = 99", "sample", "person"),
        ("DELETE FROM source", "sample", "source"),
    ])
    func `the check of counters finds a row that refers to a missing row`(
        _ fault: String, _ table: String, _ parent: String
    ) async throws {
        let store = try folder.open()
        _ = try await store.put(try sample("a"))
        #expect(try StoreFile(folder.store).faults(.counters) == [])
        try await store.pool.writeWithoutTransaction { db in try db.execute(sql: fault) }
        let faults = try StoreFile(folder.store).faults(.counters)
        #expect(faults.contains("\(table): has a row that points to one of \(parent) that is not there"), "\(faults)")
    }

    @Test func `a second hub is refused with the process that has the store`() async throws {
        let store = try folder.open()
        let error = await failure { _ = try folder.open() }
        #expect(error?.code == .locked)
        #expect(error?.message.contains("process \(ProcessInfo.processInfo.processIdentifier)") == true)
        _ = try await store.put(try sample("a"))
    }

    @Test(arguments: [".lock", ".exchange"])
    func `the store does not write its files through a symbolic link`(_ name: String) async throws {
        let mine = folder.path + "/mine"
        try Data("what I wrote".utf8).write(to: URL(fileURLWithPath: mine))
        try FileManager.default.createSymbolicLink(atPath: folder.store + name, withDestinationPath: mine)
        let error = await failure { _ = try folder.open() }
        #expect(error?.code == .foreign)
        #expect(error?.message.contains("\(folder.store)\(name): it is a symbolic link") == true)
        #expect(try String(contentsOfFile: mine, encoding: .utf8) == "what I wrote")
        try FileManager.default.removeItem(atPath: folder.store + name)
        try folder.open().close()
    }

    @Test func `a closed store answers every call with an error`() async throws {
        let store = try folder.open()
        try store.close()
        try store.close()
        let error = await failure { _ = try await store.put([], .nobody(reason: "")) }
        #expect(error?.code == .closed, "\(String(describing: error))")
        #expect(await failure { _ = try await store.page(RecordQuery()) }?.code == .closed)
    }

    @Test func `after an orderly close the file alone is the complete store`() async throws {
        let store = try folder.open()
        _ = try await store.put(try sample("a"), try sample("b"))
        #expect(try await store.all(RecordQuery()).records.count == 2, "a reader also has the store open")
        try store.close()
        let alone = try TemporaryFolder()
        try FileManager.default.copyItem(atPath: folder.store, toPath: alone.store)
        let copy = try alone.open()
        #expect(copy.head == 2)
    }

    @Test func `a file that is not a database is refused and not changed`() async throws {
        let bytes = Data(repeating: 0x41, count: 8_192)
        try bytes.write(to: URL(fileURLWithPath: folder.store))
        #expect(await failure { _ = try folder.open() }?.code == .foreign)
        #expect(try Data(contentsOf: URL(fileURLWithPath: folder.store)) == bytes)
    }

    @Test func `a database of another program is refused`() async throws {
        try folder.change("CREATE TABLE mail (id INTEGER)")
        #expect(await failure { _ = try folder.open() }?.code == .foreign)
    }

    @Test func `a folder that does not exist is named`() async throws {
        let error = await failure { _ = try Store(path: folder.path + "/missing/hub.sqlite", now: 0) }
        #expect(error?.code == .readOnly)
        #expect(error?.message.contains("missing/hub.sqlite") == true)
    }

    @Test(arguments: [true, false])
    func `a store whose file is missing or empty is refused, and its log is not changed`(isGone: Bool) async throws {
        let store = try folder.open()
        _ = try await store.put(try sample("a"))
        let backup = folder.path + "/backup.sqlite"
        _ = try StoreFile(folder.store).backUp(to: backup)
        let cut = try TemporaryFolder()
        let log = try Data(contentsOf: URL(fileURLWithPath: folder.store + "-wal"))
        try #require(!log.isEmpty)
        try log.write(to: URL(fileURLWithPath: cut.store + "-wal"))
        if !isGone { try Data().write(to: URL(fileURLWithPath: cut.store)) }

        let refusal = await failure { _ = try cut.open() }
        #expect(refusal?.code == .corrupt)
        #expect(refusal?.message.contains("the file is \(isGone ? "missing" : "empty"), but its log") == true)
        #expect(await failure { _ = try StoreFile(cut.store).summary() } == refusal)
        #expect(FileManager.default.fileExists(atPath: cut.store) == !isGone)
        #expect(try Data(contentsOf: URL(fileURLWithPath: cut.store + "-wal")) == log)

        let outcome = try StoreRestore(of: backup, to: cut.store).carryOut(keepingAs: "replaced-1")
        #expect(try Data(contentsOf: URL(fileURLWithPath: try #require(outcome.replaced) + "-wal")) == log)
        #expect(try cut.open().head == 1)
    }

    @Test func `a pipe and a folder are refused as backups without waiting for input`() async throws {
        let pipe = folder.path + "/pipe"
        try #require(mkfifo(pipe, 0o600) == 0)
        #expect(await failure { _ = try StoreFile(pipe).summary() }?.message.hasSuffix("not a regular file") == true)
        let error = await failure { _ = try StoreRestore(of: folder.path, to: folder.store) }
        #expect(error?.message.hasSuffix("it is a folder; name the file in it") == true)
    }

    @Test func `a newer schema is refused with the remedy`() async throws {
        var newer = StoreSchema.migrator
        newer.registerMigration("v999") { db in
            try db.execute(sql: "CREATE TABLE later (id INTEGER PRIMARY KEY) STRICT")
        }
        try Store(path: folder.store, now: 0, migrator: newer).close()
        let error = await failure { _ = try folder.open() }
        #expect(error?.code == .newerSchema)
        #expect(error?.message.contains("v999") == true)
    }

    @Test func `an older store is copied with its rows before its migration`() async throws {
        let store = try folder.open()
        _ = try await store.put(try sample("a"), try sample("b"))
        try store.close()
        var newer = StoreSchema.migrator
        newer.registerMigration("v999") { db in try db.execute(sql: "ALTER TABLE sample ADD COLUMN mood INTEGER") }
        let migrated = try Store(path: folder.store, now: 0, migrator: newer)
        #expect(migrated.head == 2)
        #expect(try await migrated.put(try sample("a"))[0].isDuplicate)
        try migrated.close()
        let copy = folder.store + ".before-v999"
        #expect(try mode(copy) == 0o600)
        let old = try Store(path: copy, now: 0)
        #expect(old.head == 2)
        #expect(old.hubID == store.hubID)
    }

    @Test(.enabled(if: Need.mount.isMet, "\(Need.mount.reason)"))
    func `without space for the copy an older store is not migrated, and the error says why`() async throws {
        let disk = try SmallDisk(bytes: 3_000_000)
        let path = disk.path + "/hub.sqlite"
        let store = try Store(path: path, now: 0)
        _ = try await store.put(try (0..<5_000).map { Record.sample(try sample("k\($0)")) })
        try store.close()
        let size = try #require(FileManager.default.attributesOfItem(atPath: path)[.size] as? Int)
        try Data(repeating: 1, count: 3_000_000 - size - 400_000).write(
            to: URL(fileURLWithPath: disk.path + "/ballast"))
        var newer = StoreSchema.migrator
        newer.registerMigration("v999") { db in try db.execute(sql: "ALTER TABLE sample ADD COLUMN mood INTEGER") }
        let error = await failure { _ = try Store(path: path, now: 0, migrator: newer) }
        #expect(error?.code == .full, "\(String(describing: error))")
        #expect(error?.message.contains("copied before it is brought up to date (v999)") == true)
        #expect(try FileManager.default.contentsOfDirectory(atPath: disk.path).filter { $0.contains("before") } == [])
        #expect(try StoreFile(path).summary().schema != "v999")
        try FileManager.default.removeItem(atPath: disk.path + "/ballast")
        disk.resize(bytes: 20_000_000)
        let migrated = try Store(path: path, now: 0, migrator: newer)
        #expect(migrated.head == 5_000)
        #expect(try await migrated.verifyAccounts() == [])
    }

    @Test func `only the newest copies of older stores are kept`() async throws {
        try folder.open().close()
        var migrator = StoreSchema.migrator
        for step in 901...905 {
            migrator.registerMigration("v\(step)") { db in
                try db.execute(sql: "CREATE TABLE later\(step) (id INTEGER PRIMARY KEY) STRICT")
            }
            try Store(path: folder.store, now: 0, migrator: migrator).close()
        }
        let copies = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.contains("before") }
        #expect(copies.sorted() == (903...905).map { "hub.sqlite.before-v\($0)" })
    }

    @Test func `a new store has no copy beside it`() throws {
        try folder.open().close()
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(!files.contains { $0.contains("before") })
    }

    @Test func `the schema is strict, and its constraints catch our own faults`() async throws {
        let store = try folder.open()
        _ = try await store.put(try sample("a"))
        let loose = try await store.pool.read { db in
            try String.fetchAll(
                db,
                sql:
                    "SELECT name FROM pragma_table_list WHERE schema = 'main' AND NOT strict AND name NOT LIKE 'sqlite%' AND name NOT LIKE 'grdb%'"
            )
        }
        #expect(loose == [])
        let faults = [
            "UPDATE sample SET seq = number - 1", "UPDATE sample SET duration = -1",
            "UPDATE sample SET person = NULL", "UPDATE sample SET value = NULL", "UPDATE sample SET start = 'noon'",
            "UPDATE account SET received = received + 1", "INSERT INTO meta VALUES (2, 'x', 'abcdefgh', 0)",
            "INSERT INTO source (plugin, device, account) SELECT plugin, device, account FROM source",
        ]
        for fault in faults {
            #expect(throws: DatabaseError.self, "\(fault)") {
                try store.pool.write { db in try db.execute(sql: fault) }
            }
        }
    }

    @Test func `a new epoch makes every older cursor invalid`() async throws {
        let store = try folder.open()
        _ = try await store.put(try sample("a"))
        let query = RecordQuery { $0.since = store.cursor }
        let epoch = try await store.newEpoch()
        #expect(Samples.Cursor.isEpoch(epoch))
        #expect(store.epoch == epoch)
        #expect(await failure { _ = try await store.page(query) }?.code == .epoch)
        try store.close()
        #expect(try folder.open().epoch == epoch)
    }

    @Test func `a person is created once and keeps its uid`() async throws {
        let store = try folder.open()
        let made = try await store.ensurePersons(["me", "you", "me"], recordedAt: 1)
        #expect(made[0] == made[2])
        #expect(made[0].uid != made[1].uid)
        try store.close()
        let again = try folder.open()
        #expect(try await again.ensurePersons(["you"], recordedAt: 1) == [made[1]])
        #expect(try await again.persons() == [made[0], made[1]])
        #expect(await failure { _ = try await again.ensurePersons([""], recordedAt: 1) }?.code == .query)
    }
}
