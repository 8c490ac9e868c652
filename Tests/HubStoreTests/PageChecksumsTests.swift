import CPageSums
import Foundation
import GRDB
import HubProcess
import Platform
import Samples
import Testing

@testable import HubStore

/// The hub detects if the disk returns other bytes than were written.
@Suite struct PageChecksumsTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// Fills a store with pages of every kind: leaves and interior pages of tables and indices, overflow and free
    /// pages.
    private func fill(_ store: Store) async throws {
        _ = try await store.put(try (0..<4_000).map { Record.sample(try sample("\($0 &* 7_919 % 4_001)-\($0)")) })
        let owner = try await store.me()
        let long = IntakeRecord(
            record: .sample(try sample("long")), assignment: owner, rawPayload: [UInt8](repeating: 7, count: 20_000))
        _ = try await store.commit([IntakeBatch(instance: "scale", records: [long])], recordedAt: 3)
        _ = try await store.put([.day(try day("2026-03-01", 71.5))])
        try await store.pool.write { db in
            try db.execute(
                sql: """
                    CREATE TABLE junk (text TEXT) STRICT;
                    INSERT INTO junk SELECT hex(randomblob(1000)) FROM sample LIMIT 60;
                    DROP TABLE junk
                    """)
        }
    }

    private func flip(_ bit: Int, of path: String) throws {
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        defer { try? file.close() }
        try file.seek(toOffset: UInt64(bit / 8))
        let byte = try #require(try file.read(upToCount: 1)?.first)
        try file.seek(toOffset: UInt64(bit / 8))
        try file.write(contentsOf: Data([byte ^ UInt8(1 << (bit % 8))]))
    }

    private func size(_ path: String) throws -> Int {
        try #require(FileManager.default.attributesOfItem(atPath: path)[.size] as? Int)
    }

    /// The faults found in the whole file, or the reason why it cannot be checked.
    private func faults(_ path: String) throws -> [String] {
        do throws(StoreError) {
            return try StoreFile(path).faults(.pages)
        } catch {
            #expect(error.code == .corrupt, "\(error)")
            return [error.message]
        }
    }

    /// The number of the table page that contains these bytes.
    private func leaf(with bytes: [UInt8]) throws -> Int {
        let data = try Data(contentsOf: URL(fileURLWithPath: folder.store))
        return try #require(
            (1..<data.count / 4_096).first { page in
                data[page * 4_096] == 0x0D && data.range(of: Data(bytes), in: page * 4_096..<(page + 1) * 4_096) != nil
            }) + 1
    }

    @Test func `the checksum is CRC-32C, with the processor's instruction or the table`() {
        #expect(page_sums_crc(0, "123456789", 9) == 0xE306_9283)
        var random = SeededGenerator(seed: 7)
        for count in 0..<300 {
            let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
            #expect(page_sums_crc(0, bytes, UInt32(count)) == page_sums_crc_plain(0, bytes, UInt32(count)))
        }
    }

    @Test func `every flipped bit of the file is found, in pages of every kind, and an intact file has no faults`()
        async throws
    {
        let seed = Thoroughness.seed(1)
        var random = SeededGenerator(seed: seed)
        let store = try folder.open()
        try await fill(store)
        try store.close()
        #expect(try faults(folder.store) == [])
        let pages = try size(folder.store) / 4_096
        #expect(pages > 100)
        // Each byte of the header that SQLite reads first, one bit of each page (each fourth with `make test`), and some bits anywhere.
        var bits = (0..<100).map { $0 * 8 + Int.random(in: 0..<8, using: &random) } + (4_084..<4_096).map { $0 * 8 }
        bits += stride(from: 0, to: pages, by: Thoroughness.isWhole ? 1 : 4)
            .map { $0 * 32_768 + Int.random(in: 0..<32_768, using: &random) }
        bits += (0..<Thoroughness.rounds(300)).map { _ in Int.random(in: 0..<pages * 32_768, using: &random) }
        for bit in bits {
            try flip(bit, of: folder.store)
            #expect(try !faults(folder.store).isEmpty, "seed \(seed): bit \(bit % 32_768) of page \(bit / 32_768 + 1)")
            try flip(bit, of: folder.store)
        }
        #expect(try faults(folder.store) == [])
    }

    @Test func `a quick check of a large file reports how much it read, and repeated checks find damage anywhere`()
        async throws
    {
        let store = try folder.open()
        try await fill(store)
        try store.close()
        let file = StoreFile(folder.store)
        #expect(try file.glance() == StoreFile.Glance(faults: []), "all pages of a small store are checked")
        #expect(try file.glance(most: 16) == StoreFile.Glance(faults: [], looked: 65_536))
        let pages = try size(folder.store) / 4_096
        for page in [2, pages / 2, pages - 1] {
            try flip(page * 32_768 + 5_000, of: folder.store)
            var glances = 0
            // About one check in seventy reads the first or the last pages.
            while glances < 1_000, try file.glance(most: 16).faults.isEmpty { glances += 1 }
            #expect(glances < 1_000, "page \(page + 1) of \(pages)")
            try flip(page * 32_768 + 5_000, of: folder.store)
        }
    }

    @Test func `every flipped bit in the log of a running hub is found`() async throws {
        let seed = Thoroughness.seed(1)
        var random = SeededGenerator(seed: seed)
        let store = try folder.open()
        _ = try await store.put(try (0..<500).map { Record.sample(try sample("k\($0)")) })
        let log = folder.store + "-wal"
        let (frames, head) = ((try size(log) - 32) / 4_120, 32 * 8)
        for round in 0..<24 {
            let bit =
                round < 8
                ? Int.random(in: 0..<head, using: &random)
                : head + Int.random(in: 0..<frames * 4_120 * 8, using: &random)
            try flip(bit, of: log)
            #expect(try !faults(folder.store).isEmpty, "seed \(seed): bit \(bit)")
            try flip(bit, of: log)
        }
        #expect(try faults(folder.store) == [])
    }

    @Test func `a flipped bit in the log of a killed hub is reported as a lost end`() async throws {
        let seed = Thoroughness.seed(1)
        var random = SeededGenerator(seed: seed)
        let store = try folder.open()
        for key in 0..<20 { _ = try await store.put(try sample("k\(key)")) }
        for _ in 0..<40 {
            let killed = try TemporaryFolder()
            for file in ["", "-wal", ".sequences"] {
                try FileManager.default.copyItem(atPath: folder.store + file, toPath: killed.store + file)
            }
            let bit = Int.random(in: 0..<(try size(killed.store + "-wal")) * 8, using: &random)
            try flip(bit, of: killed.store + "-wal")
            do throws(StoreError) {
                let next = try Store(path: killed.store, now: 1)
                #expect(next.loss?.cause == .lost && next.epoch != store.epoch, "seed \(seed): bit \(bit)")
            } catch {
                // The schema was in the log.
                #expect(error.code == .corrupt || error.code == .foreign, "seed \(seed): bit \(bit): \(error)")
            }
        }
    }

    @Test func `a damaged page is named by the read that meets it, and no record is confirmed until a person decides`()
        async throws
    {
        var store = try folder.open()
        try await fill(store)
        try store.close()
        let page = try leaf(with: Array("\(2_000 * 7_919 % 4_001)-2000".utf8))
        let bit = (page - 1) * 32_768 + 4_000 * 8
        try flip(bit, of: folder.store)
        store = try folder.open()
        #expect(try await store.records(numbers: [1]).count == 1, "records in intact pages are still read")
        let error = await failure { _ = try await store.records(numbers: [2_001]) }
        #expect(error?.code == .corrupt)
        #expect(error?.message.contains("page \(page) of \(folder.store)") == true, "\(String(describing: error))")
        #expect(store.damage?.contains("page \(page) of ") == true)
        let refusal = await failure { _ = try await store.put(try sample("later")) }
        #expect(refusal?.code == .corrupt)
        for word in ["hub restore BACKUP", "page \(page) of "] {
            #expect(refusal?.message.contains(word) == true, "\(String(describing: refusal))")
        }
        let head = store.head
        try store.close()
        #expect(try faults(folder.store).contains { $0.contains("page \(page) of ") })
        let copy = folder.path + "/backup.sqlite"
        #expect(await failure { _ = try StoreFile(folder.store).backUp(to: copy) }?.code == .corrupt)
        #expect(!FileManager.default.fileExists(atPath: copy))

        // The disk returns the right bytes again, but a person still has to confirm that.
        try flip(bit, of: folder.store)
        store = try folder.open()
        #expect(await failure { _ = try await store.put(try sample("later")) }?.code == .corrupt)
        #expect(try faults(folder.store) == [])
        try StoreFile(folder.store).forgetDamage()
        #expect(try await store.put(try sample("later"))[0].placement?.sequence == head + 1)
        #expect(store.damage == nil)
        #expect(try await store.verifyAccounts() == [])
    }

    @Test func `the check reads the store in pieces, continues after a restart, and finds damage in unread pages`()
        async throws
    {
        var store = try folder.open()
        try await fill(store)
        try store.close()
        store = try folder.open()
        var check = try await store.check(pages: 50, now: 5)
        #expect(check.next == 51 && check.whole == nil)
        try store.close()
        store = try folder.open()
        check = try await store.check(pages: 50, now: 6)
        #expect(check.next == 101)
        while check.next != 1 { check = try await store.check(pages: 50, now: 7) }
        #expect(check.whole == 7 && store.checked == check)
        try store.close()

        let free = try await DatabaseQueue(path: folder.store).read {
            try Int.fetchOne($0, sql: "PRAGMA freelist_count")
        }
        #expect(try #require(free) > 10)
        // Almost all of the last pages are free, and no query reads them.
        let page = try size(folder.store) / 4_096 - 3
        try flip((page - 1) * 32_768 + 12_345, of: folder.store)
        store = try folder.open()
        for _ in 0..<100 where store.damage == nil { check = try await store.check(pages: 50, now: 8) }
        #expect(store.damage?.contains("page \(page) of \(folder.store)") == true)
        #expect(store.checked.whole == 7, "the last intact check is the one before the damage")
        try store.close()
        #expect(try folder.open().damage?.contains("page \(page) of ") == true)
    }

    @Test func `a page that the disk returns in the place of another is found`() async throws {
        let store = try folder.open()
        try await fill(store)
        try store.close()
        var data = try Data(contentsOf: URL(fileURLWithPath: folder.store))
        data.replaceSubrange(40 * 4_096..<41 * 4_096, with: Data(data[50 * 4_096..<51 * 4_096]))
        try data.write(to: URL(fileURLWithPath: folder.store))
        #expect(try faults(folder.store).first?.contains("page 41 of ") == true)
        #expect(try faults(folder.store).first?.contains("says that it is page 51") == true)
        try data.prefix(data.count - 8_192).write(to: URL(fileURLWithPath: folder.store))
        data.replaceSubrange(40 * 4_096..<41 * 4_096, with: Data(count: 4_096))
        #expect(try !faults(folder.store).isEmpty, "a page of zeros is a fault")
    }

    @Test func `during commits and checkpoints no check reports an intact page`() async throws {
        let store = try folder.open()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for round in 0..<8 {
                    _ = try await store.put(
                        try (0..<1_500).map { Record.sample(try sample("\(($0 &* 7_919 &+ round) % 1_500)-\(round)")) })
                    try await store.checkpoint()
                }
            }
            group.addTask {
                for _ in 0..<15 {
                    _ = try await store.check(pages: .max, now: 1)
                    _ = try await store.all(RecordQuery())
                }
            }
            try await group.waitForAll()
        }
        #expect(store.damage == nil)
        try store.close()
        #expect(try faults(folder.store) == [])
    }

    @Test func `a transaction larger than the cache reads its own writes back from the log`() async throws {
        let store = try folder.open()
        try await store.pool.writeWithoutTransaction {
            try $0.execute(sql: "PRAGMA cache_size = 10; PRAGMA cache_spill = 1")
        }
        for round in 0..<3 {
            _ = try await store.put(
                try (0..<5_000).map { Record.sample(try sample("\(($0 &* 7_919) % 5_000)-\(round)")) })
        }
        #expect(store.damage == nil)
        #expect(try await store.verifyAccounts() == [])
        try store.close()
        #expect(try faults(folder.store) == [])
    }

    @Test func `a store made before checksums is replaced once by a copy that has them`() async throws {
        let store = try folder.open()
        _ = try await store.put(try sample("a"), try sample("b"))
        try store.close()
        // As an older hub wrote it: without the reserved bytes.
        let plain = folder.path + "/plain.sqlite"
        let queue = try DatabaseQueue(path: folder.store)
        try await queue.writeWithoutTransaction { db in try db.execute(sql: "PRAGMA journal_mode = DELETE") }
        let dump = try DatabaseQueue(path: plain)
        try PlainCopy.make(of: queue, into: dump)
        try queue.close()
        try dump.close()
        #expect(PageChecksums.areMissing(plain))
        try FileManager.default.removeItem(atPath: folder.store)
        try FileManager.default.moveItem(atPath: plain, toPath: folder.store)
        let next = try folder.open()
        #expect(next.cursor == store.cursor && next.loss == nil)
        _ = try await next.put(try sample("c"))
        #expect(try await next.verifyAccounts() == [])
        try next.close()
        #expect(!PageChecksums.areMissing(folder.store))
        #expect(try StoreFile(folder.store + ".before-sums").summary().head == 2)
        #expect(try faults(folder.store) == [])
        try flip(5 * 32_768 + 77, of: folder.store)
        #expect(try !faults(folder.store).isEmpty)
    }

    @Test(.enabled(if: Need.python.isMet, "\(Need.python.reason)"))
    func `a backup can be read by every program with SQLite`() async throws {
        let store = try folder.open()
        try await fill(store)
        let copy = folder.path + "/backup.sqlite"
        _ = try StoreFile(folder.store).backUp(to: copy)
        try store.close()
        let reader = try ChildProcess(
            "/usr/bin/env",
            [
                "python3", "-c",
                """
                import sqlite3
                base = sqlite3.connect("\(copy)")
                print(base.execute("PRAGMA integrity_check").fetchone()[0], base.execute("SELECT count(*) FROM sample").fetchone()[0])
                """,
            ])
        #expect(await reader.lines(count: 1) == ["ok 4001"], "\(reader.errorLines)")
        #expect(try faults(copy) == [], "reading leaves the store unchanged")
    }

    @Test func `a flipped bit in a token is an error and returns no token`() async throws {
        let path = folder.path + "/secrets.db"
        let account = TokenAccount(instance: "exist", name: "me")
        let secrets = try SecretStore(path: path)
        let token = NewToken(json: Array(#"{"access":"0123456789"}"#.utf8), expires: nil, isRenewable: false)
        _ = try await secrets.put(token, for: account, expecting: 0, at: 1)
        try secrets.close()
        let data = try Data(contentsOf: URL(fileURLWithPath: path))
        let place = try #require(data.range(of: Data("0123456789".utf8))).lowerBound
        try flip(place * 8 + 1, of: path)
        let damaged = try SecretStore(path: path)
        let error = await failure { _ = try await damaged.token(of: account) }
        #expect(error?.code == .corrupt, "\(String(describing: error))")
    }
}

/// Copies a database by SQL statements, so that the copy has no reserved bytes.
private enum PlainCopy {
    static func make(of source: DatabaseQueue, into target: DatabaseQueue) throws {
        let (statements, rows) = try source.read { db in
            let objects = try Row.fetchAll(
                db,
                sql:
                    "SELECT name, type, sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY type = 'index'"
            )
            let tables = try objects.filter { $0["type"] == "table" }.map { object -> (String, [Row]) in
                (object["name"], try Row.fetchAll(db, sql: "SELECT * FROM \"\(object["name"] as String)\""))
            }
            return (objects.map { $0["sql"] as String }, tables)
        }
        try target.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA foreign_keys = OFF; PRAGMA application_id = \(StoreSchema.applicationID)")
            for statement in statements { try db.execute(sql: statement) }
            for (table, rows) in rows {
                for row in rows {
                    let values = row.map { $0.1 }
                    let marks = values.map { _ in "?" }.joined(separator: ", ")
                    try db.execute(
                        sql: "INSERT INTO \"\(table)\" VALUES (\(marks))", arguments: StatementArguments(values))
                }
            }
        }
    }
}
