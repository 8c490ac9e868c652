import Foundation
import HubProcess
import Testing

/// A disk that becomes full, or refuses writes, while sources send.
@Suite(.serialized, .timeLimit(.minutes(3))) struct FullDiskTests {
    @Test(.enabled(if: Need.mount.isMet, "\(Need.mount.reason)"))
    func `R5.5 R5.7 if the disk fills while four sources send, each record is stored once when there is room again`()
        async throws
    {
        let host = try HubHost()
        let disk = try SmallDisk(at: host.folder.path + "/data", bytes: 2_500_000)
        let hub = try await host.start()
        let count = 8_000
        let sources = try sources(of: host, count)
        try await state(of: host) { $0.state == "full" }
        let status = try await host.command("status")
        #expect(status.status == 1)
        #expect(status.lines.contains { $0.hasPrefix("store") && $0.contains("full") && $0.contains("make room") })
        let early = try await statusReport(host)
        #expect(early.records < 4 * count)
        // The sources try again and again; the hub confirms only as much as fits.
        disk.resize(bytes: 200_000_000)
        try await settle(sources, count, in: host)
        // The hub itself finds out, without a restart and without a source that tries.
        try await state(of: host) { $0.state == "ok" }
        #expect(await hub.stop() == 0)
        _ = disk
    }

    /// SQLite maps the index of its log into memory: a write there without room on the disk would end the process.
    @Test(.enabled(if: Need.blockDisk.isMet, "\(Need.blockDisk.reason)"))
    func `a hub on a full disk of small blocks says so without a crash, and has everything when there is room`()
        async throws
    {
        let host = try HubHost()
        let data = host.folder.path + "/data"
        let disk = try SmallDisk(at: data, blocks: 16_384, ofBytes: 1_024)
        let hub = try await host.start()
        let source = try ExampleSource(in: host, count: 50)
        #expect(await source.process.waitForExit() == 0)
        #expect(await hub.stop() == 0)

        for room in [4, 8, 12, 16, 24, 32] {
            let reserve = Data(repeating: 1, count: room * 1_024)
            try reserve.write(to: URL(filePath: data + "/reserve"))
            Tool.run("dd", ["if=/dev/zero", "of=\(data)/filler", "bs=1024"])
            unlink(data + "/reserve")
            let hub = try ChildProcess("hub", ["run", "--config", host.configuration])
            let ready = await hub.errorLines(count: 1) { $0.contains("ready") }
            if !ready.isEmpty { hub.signal(SIGTERM) }
            let code = await hub.waitForExit()
            #expect(code == (ready.isEmpty ? 71 : 0), "\(room) KiB: \(hub.errorLines)")
            #expect(
                !ready.isEmpty || hub.errorLines.contains { $0.lowercased().contains("no space left") },
                "\(hub.errorLines)")
            unlink(data + "/filler")
        }
        let last = try await host.start()
        #expect(try await statusReport(host).records == 50)
        #expect(await last.stop() == 0)
        _ = disk
    }

    @Test(.enabled(if: Need.immutableFiles.isMet, "\(Need.immutableFiles.reason)"))
    func `R5.5 R5.7 while writing is forbidden nothing is confirmed, and nothing is lost`() async throws {
        let host = try HubHost()
        let hub = try await host.start()
        // Immutable files also refuse writes by programs that have them open, like a file system that became read-only.
        #expect(Tool.run("chattr", ["+i", host.folder.path + "/data/hub.sqlite-wal"]))
        defer { Tool.run("chattr", ["-i", host.folder.path + "/data/hub.sqlite-wal"]) }
        let count = 2_000
        let sources = try sources(of: host, count)
        try await state(of: host) { $0.state != "ok" }
        #expect(try await statusReport(host).records == 0)
        #expect(try await host.command("samples", "--json").lines == [])
        #expect(Tool.run("chattr", ["-i", host.folder.path + "/data/hub.sqlite-wal"]))
        try await settle(sources, count, in: host)
        try await state(of: host) { $0.state == "ok" }
        #expect(await hub.stop() == 0)
    }

    @Test(.enabled(if: Need.immutableFiles.isMet, "\(Need.immutableFiles.reason)"))
    func `a hub that receives nothing finds out that it can store again`() async throws {
        let host = try HubHost()
        let hub = try await host.start()
        #expect(Tool.run("chattr", ["+i", host.folder.path + "/data/hub.sqlite-wal"]))
        defer { Tool.run("chattr", ["-i", host.folder.path + "/data/hub.sqlite-wal"]) }
        // This source gives up: it is killed after the hub has refused its records.
        let source = try ExampleSource(in: host, count: 10)
        try await state(of: host) { $0.state != "ok" }
        await source.process.killAndWait()
        #expect(Tool.run("chattr", ["-i", host.folder.path + "/data/hub.sqlite-wal"]))
        try await state(of: host) { $0.state == "ok" }
        #expect(await hub.stop() == 0)
    }

    // MARK: - Helpers

    /// Starts four sources with `count` records each.
    private func sources(of host: HubHost, _ count: Int) throws -> [ExampleSource] {
        try (1...4).map { try ExampleSource(in: host, name: "source-\($0)", count: count, seed: $0) }
    }

    /// Waits until all sources have given everything, and compares it with the hub's records.
    private func settle(_ sources: [ExampleSource], _ count: Int, in host: HubHost) async throws {
        for source in sources { #expect(await source.process.waitForExit() == 0) }
        let given = try sources.flatMap { try $0.keys() }
        #expect(given.count == 4 * count)
        struct Part: Decodable { var key: String }
        let keys = try await host.jsonLines("samples", "weight", as: Part.self).map(\.key)
        #expect(keys.count == given.count)
        #expect(Set(keys) == Set(given))
        let report = try await statusReport(host)
        #expect(report.records == given.count)
        for account in report.accounts { #expect(account.received == account.stored + account.duplicates) }
    }

    private struct Report: Decodable {
        struct Store: Decodable { var state: String }
        struct Account: Decodable { var received, stored, duplicates: Int }
        var records: Int
        var store: Store
        var accounts: [Account]
    }

    private func statusReport(_ host: HubHost) async throws -> Report { try await host.status() }

    /// Waits until the store has this state.
    private func state(of host: HubHost, _ isMeant: (Report.Store) -> Bool) async throws {
        try await eventually { isMeant(try await statusReport(host).store) }
    }
}
