import Foundation
import HubProcess
import Platform
import Testing

/// Changes by hand are complete or not there if the hub is killed meanwhile, and can safely be repeated.
@Suite(.serialized) struct HandKillTests {
    /// The number of kills of each action, which `HAND_KILLS` can change; three with `make test-all`.
    private static let kills =
        ProcessInfo.processInfo.environment["HAND_KILLS"].flatMap(Int.init) ?? (Thoroughness.isWhole ? 3 : 1)
    private static let count = 300

    @Test(.timeLimit(.minutes(5)))
    func `assign, edit and retract are complete or not there if the hub is killed, and can be repeated`() async throws {
        let seed = ProcessInfo.processInfo.environment["HAND_SEED"].flatMap(UInt64.init) ?? .random(in: 0 ... .max)
        var generator = SeededGenerator(seed: seed)
        let host = try HubHost(plugins: "[person.you]\n")
        var hub = try await host.start()
        let source = try ExampleSource(in: host, count: Self.count)
        #expect(await source.process.waitForExit() == 0)
        let numbers = (1...Self.count).map(String.init)

        /// Runs the command while the hub is killed, checks the records, repeats the command, and checks again.
        func torture(_ words: [String], _ isDone: (Facts) -> Bool, undo: [String]) async throws {
            for _ in 0..<Self.kills {
                let before = try await Self.facts(host)
                let saying = try ChildProcess("hub", words, environment: ["HUB_CONF": host.configuration])
                try await Task.sleep(for: .milliseconds(Int64.random(in: 20...250, using: &generator)))
                await hub.killAndWait()
                let said = await saying.waitForExit()
                hub = try await host.start()
                let after = try await Self.facts(host)
                let isUntouched = after.all == before.all
                #expect(
                    isUntouched || isDone(after),
                    "seed \(seed): \(words[0]) was carried out only in part: \(after.all.count)")
                // A command that reported success must have been carried out.
                if said == 0 {
                    #expect(isDone(after), "seed \(seed): \(words[0]) was confirmed, but its effect is missing")
                }
                let again = try await host.command(words)
                #expect(again.status == 0, "seed \(seed): \(again.errors)")
                let done = try await Self.facts(host)
                #expect(isDone(done), "seed \(seed): \(words[0])")
                if !isUntouched { #expect(done.head == after.head, "seed \(seed): \(words[0]) was carried out twice") }
                #expect(try await host.command(undo).status == 0)
            }
        }
        try await torture(
            ["assign"] + numbers + ["--to", "me", "--yes"], { $0.of("me") == Self.count && $0.inbox == 0 },
            undo: ["assign"] + numbers + ["--nobody", "--yes"])
        #expect(try await host.command(["assign"] + numbers + ["--to", "you", "--yes"]).status == 0)
        try await torture(
            ["retract"] + numbers + ["--yes"], { $0.all.isEmpty && $0.inbox == 0 },
            undo: ["retract"] + numbers + ["--undo", "--yes"])
        try await torture(
            ["edit", "7", "99", "kg", "--yes"], { $0.all.first { $0.number == 7 }?.value == 99 },
            undo: ["edit", "7", "--undo", "--yes"])
        let status = try await Self.facts(host)
        #expect(status.of("you") == Self.count)
        #expect(await hub.stop() == 0)
    }

    private struct Record: Decodable, Equatable {
        var number, seq: Int64
        var value: Double
        var person: String?
    }

    private struct Facts {
        var all: [Record]
        var inbox: Int
        var head: Int64
        func of(_ person: String) -> Int { all.count { $0.person == person } }
    }

    private static func facts(_ host: HubHost) async throws -> Facts {
        struct Status: Decodable { var inbox: Int, head: Int64 }
        let said = try await host.json("status", as: Status.self)
        return Facts(all: try await host.jsonLines("samples", "weight"), inbox: said.inbox, head: said.head)
    }
}
