import Foundation
import HubClient
import HubCore
import HubProcess
import HubWire
import Testing

@testable import HubDemo

/// The complete path from three simulated scales through their connectors and the hub to the account.
@Suite(.serialized) struct DemoTests {
    private struct Account: Decodable {
        struct Row: Decodable {
            var scale: String
            var weighIns, inbox, missing, doubled, wrong: Int
            var persons: [String: Int]
        }
        struct Days: Decodable { var measured, carried, empty, missing, wrong: Int }
        var scales: [Row]
        var exist: Days
        var problems: [String]
        var addsUp: Bool

        var weighIns: Int { scales.reduce(0) { $0 + $1.weighIns } }
    }

    private func account(_ demo: ChildProcess.Result) throws -> Account {
        try #require(demo.code == 0, "\(demo.errors.suffix(4_000))\(demo.output)")
        return try JSON.decode(Account.self, from: demo.output.utf8)
    }

    private func days(_ count: Int, _ story: String) -> [Substring] {
        let lines = story.split(separator: "\n")
        let first = lines.firstIndex { $0.hasPrefix("Sun 1 March") } ?? 0
        let last = lines.firstIndex { $0.hasPrefix("The scales, as hub device") } ?? lines.endIndex
        // The hub's odds for a weight depend slightly on the current time.
        return lines[first..<last].map { Substring($0.replacing(/(over )?\d+ %\)/, with: "n %)")) }
    }

    /// Checks the views of the year while the hub stays.
    private func look(_ page: String, _ folder: String) async throws {
        let exist = try #require(LocalService(page))
        func hub(_ arguments: [String]) async throws -> String {
            let answer = try await Programs.hub(arguments + ["--config", folder + "/hub.conf"])
            #expect(answer.code == 0, "\(answer.errors)")
            return answer.output
        }
        func shown() async throws -> String {
            String(decoding: try await blocking { try exist.send("GET", "/") }, as: UTF8.self)
        }
        let ask = ["days", "weight", "--person", "anna", "--from", "2025-03-01", "--json"]
        let deadline = ContinuousClock.now + .seconds(30)
        var (before, days): (String, [Substring]) = ("", [])
        // The clock ran fast until just now: the last days may still be in transit, and the exporter may be starting.
        repeat {
            _ = try await Programs.hub(["do", "exist", "sync", "--config", folder + "/hub.conf"])
            days = try await hub(ask).split(separator: "\n")
            before = try await shown()
        } while !before.contains("· \(days.count) days, 2025-03-01 to 2026-0") && ContinuousClock.now < deadline
        #expect(before.contains("· \(days.count) days, 2025-03-01 to 2026-0"), "\(before)")
        // One line before the days to which no value is carried, and one after them.
        #expect(before.ranges(of: "<polyline").count == 2, "\(before)")
        #expect(before.contains("owned by hub"))
        #expect(days.first?.contains(#""date":"2025-03-01""#) == true)
        #expect(days.contains { $0.contains(#""date":"2025-11-18","method":"carried""#) })
        #expect(!days.contains { $0.contains(#""date":"2025-11-19""#) })
        _ = try await hub(["log", "weight", "58.75kg", "--person", "anna", "--yes"])
        while try await !hub(ask).contains(#""value":58.75,"#) { try #require(ContinuousClock.now < deadline) }
        _ = try await hub(["do", "exist", "sync"])
        #expect(try await shown().contains(">58.75<"))
    }

    @Test func `ten days add up, follow the plan, can be viewed, and leave no files`() async throws {
        let program = try ChildProcess("hub", ["demo", "--days", "10", "--for", "8", "--stay", "--json"])
        var (folder, page) = ("", "")
        try await program.line { line in
            if let found = line.firstMatch(of: /HUB_CONF=(\/\S+)\/hub\.conf/) { folder = String(found.1) }
            if let found = line.firstMatch(of: /(http:\/\/127\S+)\/$/) { page = String(found.1) }
            return line.hasPrefix("It is 2026-0")
        }
        try await look(page, folder)
        program.signal(SIGINT)
        let demo = await program.result()
        let account = try account(demo)
        #expect(account.addsUp && account.problems.isEmpty)
        #expect(account.weighIns == DemoLife.plan(days: 10, seed: 1).weighings.count)
        #expect(account.scales.allSatisfy { $0.missing + $0.doubled + $0.wrong == 0 })
        // Two guests and a cat.
        let inbox: Int = account.scales.reduce(0) { $0 + $1.inbox }
        #expect(inbox >= 3)
        // A weight near those of two persons may wait in the inbox; if weights were not distinguished, most of them would.
        #expect(inbox <= 6, "\(account.scales)")
        // A hole of 45 days is filled for 29 of them.
        #expect(account.exist.empty == 16 && account.exist.measured > 150 && account.exist.carried > 100)
        #expect(folder.contains("/hub-demo-") && !FileManager.default.fileExists(atPath: folder))
        let story = days(10, demo.errors)
        for part in [
            "ben: “HS4: stand still, movement while measuring (Er7)”", "→ inbox: somebody else",
            "HS3  has 4 weigh-ins in its memory, from before the hub", "they are marked clockSuspect",
            "HS3  comes back:", "HS5  has WiFi again: 3 weigh-ins out of its memory", "(user of the scale)",
            "HS3: the battery is low; replace it (Lo)", "kept in the scale",
        ] {
            #expect(story.contains { $0.contains(part) }, "\(part)")
        }
        #expect(!story.contains { $0.contains("not seen") }, "\(demo.errors)")
        #expect(demo.errors.contains("  HS5: check the batteries; replace them if this comes again (Lo)\n"))
        // The link to the page comes first, and hints follow when there is something to see.
        let link = try #require(demo.errors.range(of: "/login/")?.lowerBound)
        #expect(link < (demo.errors.range(of: "HUB_CONF=")?.lowerBound ?? demo.errors.startIndex))
        #expect(story.count { $0.hasPrefix("        look: ") } >= 4, "\(demo.errors)")
    }

    /// `BrowserTests` plays a whole month in `make test`.
    @Test(.enabled(if: Thoroughness.isWhole, "a part of make test-all"))
    func `a month adds up to its second cut link, and interrupted memories are read completely`() async throws {
        let demo = try await Programs.hub(["demo", "--days", "23", "--for", "10", "--seed", "2", "--json"])
        let account = try account(demo)
        #expect(account.addsUp && account.problems.isEmpty)
        #expect(account.weighIns == DemoLife.plan(days: 23, seed: 2).weighings.count)
        let story = days(23, demo.errors)
        #expect(story.count { $0.contains("the link is cut in the middle") } == 2, "\(demo.errors)")
    }

    @Test
    func `while Exist's programs are built the month passes; its days are sent and checked afterwards`() async throws {
        let folder = try TemporaryFolder()
        let progress = folder.path + "/progress"
        func build(_ line: String) throws {
            try Data("building 7 of 8: hub-exist-server\n\(line)\n".utf8).write(to: URL(filePath: progress))
        }
        try build("building 8 of 8: hub-exist, 20 %")
        let program = try ChildProcess("hub", ["demo", "--days", "4", "--for", "3", "--json", "--building", progress])
        var settings = ""
        try await program.line { line in
            if let found = line.firstMatch(of: /HUB_CONF=(\/\S+hub\.conf)/) { settings = String(found.1) }
            return line == "building 8 of 8: hub-exist, 20 %"
        }
        // The printed lines for pasting work until the end.
        let days = try await Programs.hub(["days", "weight", "--person", "anna", "--config", settings])
        #expect(days.code == 0 && days.output.contains("carried from"), "\(days.errors)")
        // The page opens as soon as its program is built, on the running hub.
        try build("built hub-web\nbuilding 8 of 8: hub-exist, 30 %")
        try await program.line { $0.hasPrefix("  http://hub-") && $0.contains("/login/") }
        try build("done")
        let account = try account(await program.result())
        #expect(account.addsUp && account.problems.isEmpty)
        #expect(account.exist.empty == 16 && account.exist.measured > 150 && account.exist.carried > 100)
        // The scales' account does not wait for a build.
        try build("building 8 of 8: hub-exist, 40 %")
        let other = try ChildProcess("hub", ["demo", "--days", "1", "--for", "1", "--building", progress])
        try await other.line { $0 == "building 8 of 8: hub-exist, 40 %" }
        #expect(other.lines.contains("Every weigh-in is stored once, with the right person or in the inbox."))
        other.signal(SIGINT)
        #expect(await other.result().code == 0)
        try build("failed: .build/demo.log says why")
        let demo = try await Programs.hub(["demo", "--days", "1", "--for", "1", "--building", progress])
        #expect(demo.code == HubExit.system.rawValue && demo.errors.contains(".build/demo.log"))
    }

    @Test func `the story depends only on the seed`() async throws {
        let first = try await Programs.hub(["demo", "--days", "4", "--for", "3", "--seed", "9"])
        #expect(first.code == 0, "\(first.errors)")
        let second = try await Programs.hub(["demo", "--days", "4", "--for", "4", "--seed", "9"])
        #expect(second.code == 0, "\(second.errors)")
        #expect(days(4, first.output) == days(4, second.output))
        #expect(days(4, first.output).count > 12)
    }

    /// The HS4's connector is not killed here; `ScaleKillTests` kill it in real time.
    ///
    /// A live weight that is killed between its spool and its acknowledgement is found again by its time, which is a few seconds off. In a
    /// month that passes in seconds, those seconds are days.
    @Test func `killed connectors lose and double nothing, and status lists all scales`() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/demo"
        let program = try ChildProcess("hub", ["demo", "--days", "9", "--for", "13", "--keep", path, "--json"])
        func status() async throws -> HubStatus {
            let answer = try await Programs.hub(["status", "--json", "--config", path + "/hub.conf"])
            return try JSON.decode(HubStatus.self, from: answer.output.utf8)
        }
        func kill(_ instance: String) async throws {
            let pid = try #require(try await status().plugins.first { $0.name == instance }?.pid)
            #expect(Foundation.kill(pid_t(pid), SIGKILL) == 0)
        }
        try await program.line { $0.contains("movement while measuring (Er7)") }
        let devices = try await status().devices
        #expect(Set(devices.map(\.device)) == Set(DemoScale.allCases.map(\.device)))
        try await program.line { $0.contains("  HS5  carl ") }
        try await kill("ihealth-hs5")
        try await program.line { $0.hasPrefix("Fri 6 March") }
        try await kill("ihealth-hs3")
        try await program.line { $0.hasPrefix("Sat 7 March") }
        try await kill("ihealth-hs5")
        let demo = await program.result()
        let account = try account(demo)
        #expect(account.addsUp && account.problems.isEmpty)
        #expect(account.weighIns == DemoLife.plan(days: 9, seed: 1).weighings.count)
        // The folder stays, with a hub.conf that works without scales.
        let check = try await Programs.hub(["check", "--config", path + "/hub.conf"])
        #expect(check.code == 0, "\(check.output)\(check.errors)")
    }

    @Test func `Ctrl-C ends the demo early, and the weigh-ins up to then add up`() async throws {
        let program = try ChildProcess("hub", ["demo", "--for", "62", "--json"])
        try await program.line { $0.hasPrefix("Mon 2 March") }
        program.signal(SIGINT)
        let demo = await program.result()
        let account = try account(demo)
        #expect(account.addsUp && account.weighIns >= 4)
        #expect(demo.errors.contains("Ended early: every scale comes back and gives its stored weigh-ins.\n"))
    }

    @Test func `hub demo --help lists the options, and a wrong value is a usage failure`() async throws {
        let file = try #require(Bundle.module.url(forResource: "help", withExtension: "txt"))
        let help = try await Programs.hub(["demo", "--help"])
        #expect(try help.output == String(contentsOf: file, encoding: .utf8))
        #expect(help.code == 0)
        let wrong = try await Programs.hub(["demo", "--for", "0"])
        #expect(wrong.code == HubExit.usage.rawValue)
        #expect(wrong.errors.hasPrefix("Error: --for takes 1 to 86400 seconds.\nUsage: hub demo "), "\(wrong.errors)")
    }

    @Test func `without hub-demo, hub demo prints its expected path and how to build it`() async throws {
        // In the same folder as the others, because a hard link cannot cross file systems.
        let folder = try TemporaryFolder(at: Programs.path("alone-\(UUID().uuidString)"))
        try FileManager.default.linkItem(atPath: Programs.path("hub"), toPath: folder.path + "/hub")
        let alone = try await ChildProcess(folder.path + "/hub", ["demo"]).result()
        #expect(alone.code == HubExit.system.rawValue)
        #expect(
            alone.errors.hasPrefix(
                "hub: \(folder.path)/hub-demo: the program cannot be started (No such file or directory); make demo "))
    }

    @Test func `a folder with files is refused`() async throws {
        let folder = try TemporaryFolder()
        try folder.write("")
        let demo = try await Programs.hub(["demo", "--keep", folder.path])
        #expect(demo.code == HubExit.usage.rawValue)
        #expect(demo.errors == "hub: --keep \(folder.path): the folder is not empty; name a new one\n")
    }
}
