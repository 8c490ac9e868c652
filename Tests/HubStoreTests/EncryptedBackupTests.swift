import Foundation
import HubProcess
import Platform
import Samples
import Synchronization
import Testing

@testable import HubStore

/// Writes to a file unchanged, in place of a program that encrypts.
final class FileSink: ByteSink {
    private let file: CInt

    init(_ file: CInt) { self.file = file }

    func write(_ bytes: [UInt8]) throws(StoreError) { try writeAll(bytes, to: file, "write the backup") }
    func finish() {}
}

/// Backups that are written page by page through an encryption.
@Suite struct EncryptedBackupTests {
    let folder: TemporaryFolder
    let stick: TemporaryFolder
    let store: Store

    init() throws {
        (folder, stick) = (try TemporaryFolder(), try TemporaryFolder())
        store = try folder.open()
    }

    private func backUp(_ name: String, progress: @escaping (CopyProgress) -> Bool = { _ in true }) throws -> (
        path: String, store: StoreSummary
    ) {
        let path = "\(stick.path)/\(name)"
        return (
            path,
            try StoreFile(folder.store).backUp(
                to: path, through: { (file) throws(StoreError) in FileSink(file) }, progress: progress)
        )
    }

    private func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: stick.path).sorted() }

    @Test func `the pages are a sound store, described by the summary beside them`() async throws {
        _ = try await store.put(try (0..<3_000).map { Record.sample(try sample("k\($0)")) })
        _ = try await store.retract(try sample("k7"))
        let made = try backUp("one")
        #expect(made.store == (try StoreFile(folder.store).summary()))
        #expect(try StoreFile(made.path).summary() == made.store)
        #expect(try StoreFile(made.path).faults(.counters) == [])
        #expect(try names() == ["one", "one.summary"])
        let size = try FileManager.default.attributesOfItem(atPath: made.path)[.size] as? Int64
        #expect(
            BackupSummary.all(in: stick.path) == ["one": BackupSummary(size: try #require(size), store: made.store)])
        #expect(try KnownBackup.all(of: folder.store).map(\.head) == [made.store.head])
    }

    @Test func `a backup leaves no file if it is interrupted or cannot be encrypted, and replaces none`() async throws {
        _ = try await store.put(try (0..<20_000).map { Record.sample(try sample("k\($0)")) })
        #expect(await failure { _ = try backUp("one") { _ in false } }?.code == .interrupted)
        let path = stick.path + "/two"
        let failed = await failure {
            _ = try StoreFile(folder.store).backUp(to: path) { (_) throws(StoreError) in
                throw StoreError(.missing, "age is missing")
            }
        }
        #expect(failed?.message == "age is missing")
        #expect(try names() == [])
        _ = try backUp("three")
        #expect(await failure { _ = try backUp("three") }?.code == .exists)
    }

    @Test
    func `a page has the same backup content in the log as in the file, without leftovers of SQLite`() async throws {
        // Out of order, so that pages are split and keep copies of moved cells.
        _ = try await store.put(try (0..<3_000).map { Record.sample(try sample("k\($0 &* 7_919 % 3_001)")) })
        let first = try backUp("first")
        try await store.checkpoint()
        let second = try backUp("second")
        #expect(try Data(contentsOf: URL(filePath: first.path)) == Data(contentsOf: URL(filePath: second.path)))
    }

    @Test func `a backup as pages under load is a snapshot of the store, with whole commits only`() async throws {
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
            let made = try backUp("\(index)")
            #expect(made.store.head % 10 == 0)
            #expect(try StoreFile(made.path).faults(.counters) == [])
            #expect(try StoreFile(made.path).summary().head == made.store.head)
        }
        isOver.withLock { $0 = true }
        try await writer.value
    }
}
