import Foundation
import HubProcess
import Platform
import Testing

/// Every STORED record survives kill -9 of the hub while sources send.
@Suite(.serialized) struct HubKillTests {
    /// The number of kills of the hub in one run, which `HUB_KILLS` can change; `make test-all` has 20 while it gives 100,000 records.
    private static let kills =
        ProcessInfo.processInfo.environment["HUB_KILLS"].flatMap(Int.init) ?? (Thoroughness.isWhole ? 20 : 5)
    private static let recordsOfEach = Thoroughness.isWhole ? 25_000 : 5_000

    @Test func `R5.1 R5.7 Each record of four sources is stored once while the hub is killed`() async throws {
        let seed = ProcessInfo.processInfo.environment["HUB_SEED"].flatMap(UInt64.init) ?? .random(in: 0 ... .max)
        var generator = SeededGenerator(seed: seed)
        let host = try HubHost()
        var hub = try await host.start()
        let sources = try (1...4).map { number in
            try ExampleSource(in: host, name: "source-\(number)", count: Self.recordsOfEach, seed: number)
        }
        for _ in 0..<Self.kills {
            // At random moments of its work, measured in stored records.
            let stored = try await storedRecords(host)
            try await storedRecords(host, reach: stored + Int.random(in: 1...4_000, using: &generator))
            await hub.killAndWait()
            hub = try await host.start()
        }
        for source in sources { #expect(await source.process.waitForExit() == 0, "seed \(seed)") }

        let given = try sources.flatMap { try $0.keys() }
        #expect(given.count == 4 * Self.recordsOfEach)
        struct Part: Decodable { var key: String }
        let keys = try await host.jsonLines("samples", "weight", as: Part.self).map(\.key)
        #expect(keys.count == given.count, "seed \(seed)")
        #expect(Set(keys) == Set(given), "seed \(seed)")

        let account = try await host.json("status", as: Status.self)
        #expect(account.records == Int64(given.count), "seed \(seed)")
        for entry in account.accounts {
            #expect(
                entry.received == entry.stored + entry.versions + entry.retractions + entry.duplicates + entry.rejected)
            #expect(entry.versions == 0 && entry.rejected == 0)
        }
        #expect(await hub.stop() == 0)
    }

    private struct Status: Decodable {
        struct Account: Decodable { var received, stored, versions, retractions, duplicates, rejected: Int64 }
        var records: Int64
        var accounts: [Account]
    }

    private func storedRecords(_ host: HubHost) async throws -> Int {
        Int(try await host.status(as: Status.self).records)
    }

    /// Waits until the hub has `count` records, or all of them.
    private func storedRecords(_ host: HubHost, reach count: Int) async throws {
        let goal = min(count, 4 * Self.recordsOfEach)
        while try await storedRecords(host) < goal { try await Task.sleep(for: .milliseconds(10)) }
    }
}
