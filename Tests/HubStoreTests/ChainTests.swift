import Foundation
import GRDB
import Platform
import Samples
import Synchronization
import Testing

@testable import HubStore

/// Full backups and increments as pages, and their reassembly.
@Suite struct ChainTests {
    let folder: Folder
    let stick: Folder
    private var file: StoreFile { StoreFile(folder.store) }

    init() throws { (folder, stick) = (try Folder(), try Folder()) }

    @discardableResult
    private func backUp(_ stem: String, incremental: Bool = true, into folder: Folder? = nil) throws -> BackupMade {
        try file.backUp(into: (folder ?? stick).path, named: stem, .none, isIncremental: incremental)
    }

    /// The restored content of a backup, byte for byte.
    private func assembled(_ path: String) throws -> Data {
        let copy = try BackupCopy(of: path, beside: folder.path + "/copy", as: "looking") { (path) throws(StoreError) in
            try PlainSource(path)
        }
        _ = try copy.file.summary()
        return try Data(contentsOf: URL(filePath: copy.file.path))
    }

    private func names(_ folder: Folder) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    }

    @Test func `every backup of a chain restores the store of its time, byte for byte`() async throws {
        let seed = UInt64.random(in: .min ... .max)
        var random = SeededGenerator(seed: seed)
        var store = try folder.open()
        var (known, wholes): ([String], [Data]) = ([], [])
        let beside = try Folder()
        for round in 0..<9 {
            // Changes of every kind and size, or none, some only in the log and some checkpointed.
            for _ in 0..<Int.random(in: 0...6, using: &random) {
                switch Int.random(in: 0...4, using: &random) {
                case 0:
                    _ = try await store.put(
                        try (0..<Int.random(in: 1...800, using: &random)).map {
                            Record.sample(try sample("r\(round)-\($0)"))
                        })
                case 1:
                    _ = try await store.put(
                        try sample("v", Double.random(in: 40...90, using: &random), version: Int64(round)))
                case 2: _ = try await store.retract(try sample("v"))
                case 3: try await store.checkpoint()
                default:
                    try store.close()
                    store = try folder.open()
                }
            }
            let made = try backUp("hub-20260101T00000\(round)Z")
            #expect(
                made.position == (round == 0 ? 0 : wholes.count - (known.lastIndex { $0.hasSuffix(".sqlite") } ?? 0)))
            known.append(made.file)
            // A full backup of the same moment.
            let whole = try backUp("hub-\(round)", incremental: false, into: beside)
            wholes.append(try Data(contentsOf: URL(filePath: whole.file)))
            #expect(made.store == whole.store && made.store.head == store.head, "seed \(seed)")
            #expect(try StoreFile(whole.file).faults(.counters) == [], "seed \(seed)")
        }
        for _ in 0..<8 {
            let point = Int.random(in: 0..<known.count, using: &random)
            #expect(try assembled(known[point]) == wholes[point], "seed \(seed): \(known[point])")
        }
        #expect(try assembled(known[8]) == wholes[8], "seed \(seed)")
        #expect(try names(folder).filter { $0.contains("looking") } == [])
        try store.close()

        // The last backup can be restored in place of a store.
        let restored = try Folder()
        _ = try StoreRestore(of: known[8], to: restored.store).carryOut(keepingAs: "r")
        let again = try restored.open()
        #expect(try await again.verifyAccounts() == [])
        #expect(again.head == store.head && again.hubID == store.hubID && again.epoch != store.epoch)
    }

    @Test
    func `a page has the same backup content in the log as in the file, without leftovers of SQLite`()
        async throws
    {
        let store = try folder.open()
        // Out of order, so that pages are split and keep copies of moved cells.
        _ = try await store.put(try (0..<3_000).map { Record.sample(try sample("k\($0 &* 7_919 % 3_001)")) })
        try backUp("hub-20260101T000000Z")
        try await store.checkpoint()
        let second = try backUp("hub-20260102T000000Z")
        #expect(second.position == 1 && second.pages == 0)
        try store.close()
    }

    @Test func `a backup as pages under load is a snapshot of the store, with whole commits only`() async throws {
        let store = try folder.open()
        _ = try await store.put(try (0..<5_000).map { Record.sample(try sample("k\($0)")) })
        let isOver = Mutex(false)
        let writer = Task {
            var number = 0
            while !isOver.withLock({ $0 }) {
                _ = try await store.put(try (0..<10).map { Record.sample(try sample("w\(number)-\($0)")) })
                number += 1
                if number.isMultiple(of: 50) { try await store.checkpoint() }
            }
        }
        for index in 0..<6 {
            let began = store.head
            while store.head < began + 300 { usleep(200) }
            let made = try backUp("hub-20260101T0000\(10 + index)Z")
            #expect(made.store.head % 10 == 0)
            let copy = try Folder()
            try assembled(made.file).write(to: URL(filePath: copy.store))
            #expect(try StoreFile(copy.store).faults(.counters) == [])
            #expect(try StoreFile(copy.store).summary().head == made.store.head)
        }
        isOver.withLock { $0 = true }
        try await writer.value
        try store.close()
    }

    @Test func `an increment contains the changed pages, and one of more than half the store becomes a full backup`()
        async throws
    {
        let store = try folder.open()
        _ = try await store.put(try (0..<2_000).map { Record.sample(try sample("k\($0)")) })
        let first = try backUp("hub-20260101T000000Z")
        #expect(first.position == 0 && first.reason == "there is no backup to continue")
        _ = try await store.put(try sample("one"))
        let second = try backUp("hub-20260102T000000Z")
        #expect(second.position == 1 && second.pages < 20 && second.reason == nil)
        let size = try FileManager.default.attributesOfItem(atPath: second.file)[.size] as? Int
        #expect(try #require(size) < 100_000)
        _ = try await store.put(try (0..<4_000).map { Record.sample(try sample("m\($0)")) })
        let third = try backUp("hub-20260103T000000Z")
        #expect(third.position == 0 && third.reason?.hasPrefix("more than half of the pages have changed") == true)
        // Files that the newest backup needs must not keep erased records.
        try await store.pool.write { db in
            try db.execute(sql: "INSERT INTO erased (number, at, named) VALUES (1, 5, 1)")
        }
        let erased = "records were erased since, which the chain there still has"
        #expect(try backUp("hub-20260103T010000Z").reason == erased)
        try await store.pool.write { db in try db.execute(sql: "UPDATE erased SET named = NULL") }
        #expect(try backUp("hub-20260103T020000Z").reason == erased, "the key was erased since")
        try await store.pool.write { db in try db.execute(sql: "DELETE FROM erased") }
        // A new epoch, as after a restore, and a missing key also begin a new chain.
        try await store.newEpoch()
        #expect(try backUp("hub-20260104T000000Z").reason == "the store has a new epoch")
        try FileManager.default.removeItem(atPath: folder.store + ".backup-key")
        #expect(try backUp("hub-20260105T000000Z").reason?.contains("made with another key") == true)
        #expect(try backUp("hub-20260106T000000Z").position == 1)
        #expect(
            try KnownBackup.all(of: folder.store).map(\.path).contains {
                $0.hasSuffix("hub-20260106T000000Z.increment")
            })
        try store.close()
    }

    @Test func `a change of any byte of an increment is detected`() async throws {
        let store = try folder.open()
        _ = try await store.put(try sample("a"))
        try backUp("hub-20260101T000000Z")
        _ = try await store.put(try sample("b"))
        let made = try backUp("hub-20260102T000000Z")
        try store.close()
        let whole = try Data(contentsOf: URL(filePath: made.file))
        let head = try #require(whole.firstRange(of: Data([10, 10]))).upperBound
        // Every byte outside the pages, and every hundredth within them.
        let places = whole.indices.filter {
            $0 < head || $0 >= whole.count - 40 || ($0 - head) % 4_100 < 4 || $0 % 101 == 0
        }
        for place in places {
            var damaged = whole
            damaged[place] ^= UInt8.random(in: 1...255)
            try damaged.write(to: URL(filePath: made.file))
            #expect(throws: StoreError.self, "byte \(place)") { _ = try assembled(made.file) }
        }
        for length in [
            0, 1, 15, 16, head - 1, head, head + 3, head + 4, head + 4_099, whole.count - 33, whole.count - 1,
        ] {
            try whole.prefix(length).write(to: URL(filePath: made.file))
            #expect(throws: StoreError.self, "\(length) bytes") { _ = try assembled(made.file) }
        }
        try (whole + Data([0])).write(to: URL(filePath: made.file))
        #expect(throws: StoreError.self) { _ = try assembled(made.file) }
        try whole.write(to: URL(filePath: made.file))
        _ = try assembled(made.file)
    }

    @Test func `a missing or wrong link of a chain is named, and the backups before it can be restored`() async throws {
        let store = try folder.open()
        var made: [BackupMade] = []
        for number in 0..<5 {
            _ = try await store.put(try sample("k\(number)"))
            made.append(try backUp("hub-2026010\(number)T000000Z"))
        }
        try store.close()
        let third = URL(filePath: made[2].file)
        let bytes = try Data(contentsOf: third)
        try FileManager.default.removeItem(at: third)
        let missing = await failure { _ = try assembled(made[4].file) }
        #expect(missing?.code == .missing)
        #expect(missing?.message.contains("\(made[2].file), from which \(made[3].file) goes on, is missing") == true)
        _ = try assembled(made[1].file)
        // A different but valid backup in its place.
        try FileManager.default.copyItem(atPath: made[1].file, toPath: third.path)
        let wrong = await failure { _ = try assembled(made[4].file) }
        #expect(
            wrong?.message.hasSuffix("\(made[2].file) is not the backup from which \(made[3].file) goes on") == true)
        try bytes.write(to: third)
        _ = try assembled(made[4].file)
        // Every page of the full backup is verified, also those without their own checksum.
        var full = try Data(contentsOf: URL(filePath: made[0].file))
        full[5_000] ^= 1
        try full.write(to: URL(filePath: made[0].file))
        #expect(await failure { _ = try assembled(made[4].file) }?.code == .corrupt)
    }

    @Test func `a catalogue reveals no values, and a damaged one is not continued`() async throws {
        let store = try folder.open()
        _ = try await store.put(try sample("a"))
        try backUp("hub-20260101T000000Z")
        let (other, twin) = (try Folder(), try Folder())
        for name in try names(folder) where !name.contains("key") && !name.hasSuffix(".lock") && !name.hasSuffix("-shm")
        {
            try FileManager.default.copyItem(atPath: "\(folder.path)/\(name)", toPath: "\(twin.path)/\(name)")
        }
        // The same store with another key has no digest in common, so a digest cannot confirm a guess of a page's content.
        _ = try StoreFile(twin.store).backUp(
            into: other.path, named: "hub-20260101T000000Z", .none, isIncremental: false)
        func digests(_ folder: Folder) throws -> Set<Data> {
            let catalogue = try #require(BackupCatalogue.all(in: folder.path).first)
            return Set(
                stride(from: 0, to: catalogue.digests.count, by: 32).map { Data(catalogue.digests[$0..<$0 + 32]) })
        }
        #expect(try !digests(stick).isEmpty && digests(stick).isDisjoint(with: digests(other)))

        let path = stick.path + "/hub-20260101T000000Z.chain"
        var bytes = try Data(contentsOf: URL(filePath: path))
        bytes[bytes.count - 40] ^= 1
        try bytes.write(to: URL(filePath: path))
        #expect(try backUp("hub-20260102T000000Z").reason?.contains("is damaged") == true)
        try store.close()
    }
}
