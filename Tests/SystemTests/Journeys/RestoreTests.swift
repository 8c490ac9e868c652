import Foundation
import HubProcess
import Testing

/// A restored hub gives numbers and sequences again that the backup does not have: peers must not confuse old records with new ones.
@Suite struct RestoreTests {
    @Test(.timeLimit(.minutes(2))) func `R10.6 after a restore a sink treats reused sequences as other records`()
        async throws
    {
        let host = try HubHost()
        let folder = host.folder.path
        var hub = try await host.start()
        let settings = "path = \"\(folder)/files\"\nrotate = \"never\"\n"
        var sink = try host.plugin("hub-json-lines", settings: settings)
        var given: Set<String> = []
        func give(_ count: Int, seed: Int, delivered: Int64) async throws {
            let source = try ExampleSource(in: host, name: "source-\(seed)", count: count, seed: seed)
            #expect(await source.process.waitForExit() == 0)
            given.formUnion(try source.keys())
            try await eventually { try await Self.sink(host)?.delivered == delivered }
        }
        try await give(50, seed: 1, delivered: 50)
        #expect(try await host.command("backup", "\(folder)/backup.sqlite").status == 0)
        try await give(60, seed: 2, delivered: 110)
        #expect(await hub.stop() == 0)
        #expect(await sink.waitForExit() == 0, "\(sink.errorLines.suffix(10))")  // The hub said STOP.
        let restored = try await host.command("restore", "\(folder)/backup.sqlite", "--yes")
        #expect(restored.status == 0, "\(restored.errors)")
        hub = try await host.start()
        sink = try host.plugin("hub-json-lines", settings: settings)
        // Sequences 51 to 110 for the second time, and some new ones.
        try await give(70, seed: 3, delivered: 120)
        let account = try #require(try await Self.sink(host))
        #expect(account.wanted == 120 && account.pending == 0)
        #expect(await sink.stop() == 0, "\(sink.errorLines.suffix(10))")
        #expect(await hub.stop() == 0)

        let lines = try FileManager.default.contentsOfDirectory(atPath: "\(folder)/files").flatMap { name in
            try String(contentsOfFile: "\(folder)/files/\(name)", encoding: .utf8).split(separator: "\n").map {
                try JSONDecoder().decode(Line.self, from: Data($0.utf8)).key
            }
        }
        #expect(lines.count == 180 && Set(lines) == given)
    }

    @Test(.timeLimit(.minutes(2)))
    func `hub restore reports the records erased since the backup, and how to erase them again`() async throws {
        let host = try HubHost()
        let folder = host.folder.path
        var hub = try await host.start()
        let source = try ExampleSource(in: host, name: "source", count: 30, seed: 1)
        #expect(await source.process.waitForExit() == 0)
        func stop() async { #expect(await hub.stop() == 0) }
        func restore(_ file: String, _ words: String...) async throws -> String {
            let said = try await host.command(["restore", "\(folder)/\(file)"] + words)
            #expect(said.status == 0, "\(said.errors)")
            return said.lines.joined(separator: "\n")
        }
        func revived(_ file: String) async throws -> Revived {
            let text = try await restore(file, "--dry-run", "--json")
            return try JSONDecoder().decode(Report.self, from: Data(text.utf8)).revived
        }
        #expect(try await host.command("erase", "2", "28", "--yes").status == 0)
        #expect(try await host.command("backup", "\(folder)/before.sqlite").status == 0)
        let many = (5...27).map { "\($0)" }
        #expect(try await host.command(["erase"] + many + ["--yes"]).status == 0)
        #expect(try await host.command("backup", "\(folder)/after.sqlite").status == 0)
        #expect(try await host.command("erase", "30", "--yes").status == 0)
        await stop()
        #expect(try await revived("before.sqlite") == Revived(records: 24, numbers: Array(5...27) + [30], persons: []))
        #expect(try await revived("after.sqlite") == Revived(records: 1, numbers: [30], persons: []))
        #expect(try await restore("after.sqlite", "--dry-run").contains("hub erase 30"))
        let said = try await restore("before.sqlite", "--yes")
        #expect(said.contains("erased   since this backup, and back with it: 24 records"), "\(said)")
        // Runs the command of the report with the hub of this test.
        let list = try #require(
            said.split(separator: "xargs -n 1000 hub erase --yes < ").last?.split(separator: "\n").first)
        let numbers = try String(contentsOfFile: String(list), encoding: .utf8).split(separator: "\n").map(String.init)
        hub = try await host.start()
        let erased = try await host.command(["erase", "--yes"] + numbers)
        #expect(erased.status == 0 && erased.lines.first == "erased 24 records", "\(erased)")
        await stop()
        let again = try await restore("before.sqlite", "--dry-run")
        #expect(again.contains("erased   unknown: the store and the backup have no common past"), "\(again)")
    }

    private struct Report: Decodable { var revived: Revived }
    private struct Revived: Decodable, Equatable {
        var records: Int64
        var numbers: [Int64]
        var persons: [String]
    }
    private struct Line: Decodable { var key: String }
    private struct Account: Decodable { var wanted, delivered, pending: Int64 }

    private static func sink(_ host: HubHost) async throws -> Account? {
        struct Status: Decodable { var sinks: [Account] }
        return try? await host.json("status", as: Status.self).sinks.first
    }
}
