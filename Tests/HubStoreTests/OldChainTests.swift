import Foundation
import HubProcess
import Platform
import Testing

@testable import HubStore

/// Chains of backups that an earlier version has made.
@Suite struct OldChainTests {
    let folder: TemporaryFolder
    private let whole, first, second: String

    init() throws {
        folder = try TemporaryFolder()
        try OldFormat.unpackChain(into: folder.path)
        let files = ["13Z.sqlite", "15Z.increment", "17Z.increment"].map { "/plain/hub-20261129T2155" + $0 }
        (whole, first, second) = (folder.path + files[0], folder.path + files[1], folder.path + files[2])
    }

    /// The restored content of a backup, byte for byte.
    private func assembled(_ path: String) throws -> Data {
        let copy = try BackupCopy(of: path, beside: folder.path + "/copy", as: "looking") { (path) throws(StoreError) in
            try PlainSource(path)
        }
        _ = try copy.file.summary()
        return try Data(contentsOf: URL(filePath: copy.file.path))
    }

    @Test func `every backup of a chain restores the store of its time`() async throws {
        for (days, file) in [whole, first, second].enumerated() {
            let target = try TemporaryFolder()
            _ = try StoreRestore(of: file, to: target.store).carryOut(keepingAs: "r")
            let store = try target.open()
            #expect(store.head == Int64(5 * (days + 1)))
            #expect(try await store.recordCount() == 5 * (days + 1))
            #expect(try await store.verifyAccounts() == [])
            try store.close()
            #expect(try StoreFile(target.store).faults(.counters) == [])
        }
        #expect(try assembled(whole) == Data(contentsOf: URL(filePath: whole)))
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == [
                "encrypted", "key.txt", "plain",
            ])
    }

    @Test func `a change of any byte of an increment is detected`() throws {
        let whole = try Data(contentsOf: URL(filePath: second))
        let head = try #require(whole.firstRange(of: Data([10, 10]))).upperBound
        // Every byte outside the pages, and every hundredth within them.
        let places = whole.indices.filter {
            $0 < head || $0 >= whole.count - 40 || ($0 - head) % 4_100 < 4 || $0 % 101 == 0
        }
        for place in places {
            var damaged = whole
            damaged[place] ^= UInt8.random(in: 1...255)
            try damaged.write(to: URL(filePath: second))
            #expect(throws: StoreError.self, "byte \(place)") { _ = try assembled(second) }
        }
        for length in [
            0, 1, 15, 16, head - 1, head, head + 3, head + 4, head + 4_099, whole.count - 33, whole.count - 1,
        ] {
            try whole.prefix(length).write(to: URL(filePath: second))
            #expect(throws: StoreError.self, "\(length) bytes") { _ = try assembled(second) }
        }
        try (whole + Data([0])).write(to: URL(filePath: second))
        #expect(throws: StoreError.self) { _ = try assembled(second) }
        try whole.write(to: URL(filePath: second))
        _ = try assembled(second)
    }

    @Test func `a missing or wrong link of a chain is named, and the backups before it can be restored`() async throws {
        let bytes = try Data(contentsOf: URL(filePath: first))
        try FileManager.default.removeItem(atPath: first)
        let missing = await failure { _ = try assembled(second) }
        #expect(missing?.code == .missing)
        #expect(missing?.message.contains("\(first), from which \(second) goes on, is missing") == true)
        _ = try assembled(whole)
        // A different but valid backup in its place.
        for other in [whole, second] {
            try FileManager.default.copyItem(atPath: other, toPath: first)
            let wrong = await failure { _ = try assembled(second) }
            #expect(wrong?.message.hasSuffix("\(first) is not the backup from which \(second) goes on") == true)
            try FileManager.default.removeItem(atPath: first)
        }
        try bytes.write(to: URL(filePath: first))
        _ = try assembled(second)
        // Every page of the whole backup is verified, also those without their own checksum.
        var full = try Data(contentsOf: URL(filePath: whole))
        full[5_000] ^= 1
        try full.write(to: URL(filePath: whole))
        #expect(await failure { _ = try assembled(second) }?.code == .corrupt)
    }

    @Test func `the catalogue of a chain describes each of its files`() throws {
        let found = BackupSummary.all(in: folder.path + "/plain")
        #expect(found.count == 3)
        for (days, file) in [whole, first, second].enumerated() {
            let summary = try #require(found[URL(filePath: file).lastPathComponent])
            #expect(summary.store.records == Int64(5 * (days + 1)))
            #expect(try FileManager.default.attributesOfItem(atPath: file)[.size] as? Int64 == summary.size)
        }
        #expect(try StoreFile(whole).summary() == found[URL(filePath: whole).lastPathComponent]?.store)
    }
}
