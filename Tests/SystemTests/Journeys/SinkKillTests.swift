import Foundation
import HubProcess
import Platform
import Testing

/// Every DONE delivery survives kill -9 of the hub and of a sink while records pass through both.
@Suite(.serialized) struct SinkKillTests {
    /// The number of kills in one run, which `SINK_KILLS` can change; `make test-all` has 12 while it delivers 20,000 records.
    private static let kills =
        ProcessInfo.processInfo.environment["SINK_KILLS"].flatMap(Int.init) ?? (Thoroughness.isWhole ? 12 : 5)
    private static let records = Thoroughness.isWhole ? 20_000 : 8_000

    @Test(.timeLimit(.minutes(10)))
    func `R10.3 R10.6 R10.19 R10.23 after kills of hub and sink the files have each version once and accounts balance`()
        async throws
    {
        let seed = ProcessInfo.processInfo.environment["SINK_SEED"].flatMap(UInt64.init) ?? .random(in: 0 ... .max)
        print("seed \(seed)")
        var generator = SeededGenerator(seed: seed)
        let host = try HubHost()
        var hub = try await host.start()
        var sink = try Self.startSink(host)
        let source = try ExampleSource(in: host, count: Self.records)
        for _ in 0..<Self.kills {
            // At random moments of the sink's work, measured in deliveries that the hub has counted.
            let before = try await Self.account(host)?.delivered ?? 0
            let goal = before + Int64.random(in: 1...2_000, using: &generator)
            try await eventually { try await Self.account(host)?.delivered ?? 0 >= min(goal, Int64(Self.records)) }
            let victims = Int.random(in: 0..<3, using: &generator)
            if victims != 0 { await hub.killAndWait() }
            if victims != 1 { await sink.killAndWait() }
            if victims != 0 { hub = try await host.start() }
            if victims != 1 { sink = try Self.startSink(host) }
        }
        #expect(await source.process.waitForExit() == 0, "seed \(seed)")
        try await eventually { try await Self.account(host)?.delivered ?? 0 >= Int64(Self.records) }

        let account = try #require(try await Self.account(host))
        #expect(account.wanted == account.delivered, "seed \(seed): \(account)")
        #expect(account.wanted == Int64(Self.records), "seed \(seed): \(account)")
        // A program that has just been started dies of SIGTERM until it can handle the signal.
        try await eventually { try await Self.account(host)?.open == true }
        let end = await sink.stop()
        #expect(end == 0, "seed \(seed): \(sink.errorLines.suffix(10))")
        #expect(await hub.stop() == 0)

        let given = try source.keys()
        let lines = try Self.lines(host)
        #expect(lines.count == Self.records, "seed \(seed)")
        #expect(Set(lines.map(\.seq)).count == lines.count, "seed \(seed)")
        #expect(Set(lines.map(\.key)) == Set(given), "seed \(seed)")
    }

    private struct Account: Decodable { var name: String, open: Bool, wanted, delivered, pending, retrying: Int64 }

    /// The sink's account; `nil` if there is none, or if no hub answers.
    private static func account(_ host: HubHost) async throws -> Account? {
        struct Status: Decodable { var sinks: [Account] }
        return try? await host.status(as: Status.self).sinks.first
    }

    private static func startSink(_ host: HubHost) throws -> ChildProcess {
        try host.plugin(
            "hub-json-lines",
            settings: "path = \"\(host.folder.path)/files\"\nrotate = \"never\"\nmax_size = \"256KiB\"\n")
    }

    private struct Line: Decodable { var key: String, seq: Int64 }

    private static func lines(_ host: HubHost) throws -> [Line] {
        let folder = "\(host.folder.path)/files"
        return try FileManager.default.contentsOfDirectory(atPath: folder).flatMap { name in
            try String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8).split(separator: "\n").map {
                try JSONDecoder().decode(Line.self, from: Data($0.utf8))
            }
        }
    }
}
