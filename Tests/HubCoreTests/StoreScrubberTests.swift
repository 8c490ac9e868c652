import Foundation
import HubStore
import HubWire
import Samples
import Testing

@testable import HubCore

/// The hub rereads the whole store in the background, to find damage that no query meets.
@Suite struct StoreScrubberTests {
    private func filled(_ folder: Folder) async throws -> Store {
        let store = try Store(path: folder.path + "/hub.sqlite", now: 0)
        let samples = try (0..<2_000).map { number in
            IntakeItem.success(
                IntakeRecord(
                    record: .sample(
                        Sample(
                            source: Source(plugin: "p"), key: try #require(RecordKey("key-\(number)")),
                            type: try TypeID("weight"), value: .quantity(70, unit: "kg"),
                            start: Timestamp(microseconds: 0), end: Timestamp(microseconds: 0))),
                    assignment: .nobody(reason: "test")))
        }
        _ = try await store.commit([IntakeBatch(instance: "i", items: samples)], recordedAt: 1)
        return store
    }

    private func rounds(of store: Store) -> StoreScrubber {
        StoreScrubber(store: store, clock: .system, beginning: .zero, pause: .zero, interval: .milliseconds(1))
    }

    /// Runs rounds until `isSo` returns true, in the time that the test tool allows.
    private func goRound(_ store: Store, until isSo: () -> Bool) async {
        let leaving = Latch()
        async let end: Void = rounds(of: store).run(until: leaving)
        while !isSo() { await Task.yield() }
        leaving.raise()
        await end
    }

    @Test func `an undamaged store is reported as undamaged, and the rounds end with the hub`() async throws {
        let folder = try Folder()
        let store = try await filled(folder)
        await goRound(store) { store.checked.whole != nil }
        #expect(store.damage == nil)
        try store.close()
    }

    @Test func `damage that no query meets is found`() async throws {
        let folder = try Folder()
        var store = try await filled(folder)
        try store.close()
        let path = folder.path + "/hub.sqlite"
        let place = try #require(try Data(contentsOf: URL(filePath: path)).firstRange(of: Data("key-1000".utf8)))
        let page = place.lowerBound / 4_096 + 1
        let file = try FileHandle(forUpdating: URL(filePath: path))
        try file.seek(toOffset: UInt64(place.lowerBound))
        try file.write(contentsOf: Data("damage".utf8))
        try file.close()
        store = try Store(path: path, now: 0)
        await goRound(store) { store.damage != nil }
        #expect(store.damage?.contains("page \(page) of \(path)") == true, "\(String(describing: store.damage))")
        #expect(store.checked.whole == nil)
        try store.close()
    }

    @Test(arguments: [(0, 4_096), (100_000, 4_096), (2_000_000, 11_905)] as [(Int64, Int64)])
    func `an hourly share is a 168th of the store, and at least 16 MiB`(
        pages: Int64, share: Int64
    ) {
        #expect(StoreScrubber.share(of: pages) == share)
    }
}
