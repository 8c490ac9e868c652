import ArgumentParser
import Foundation
import HealthText
import HubClient
import HubWire

struct PlayCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "play", abstract: "Run a hub that misbehaves on command, for authors of client libraries.",
        discussion: """
            A play is a hub with a separate door and feed that forgets sessions, is killed,
            loses answers, has no disk left, is restored from a backup. Nothing of yours is
            touched. The client is started for each play with HUB_DOOR, HUB_FEED and
            HUB_INSTANCE, and its actions are counted and judged:

              publisher   gives the records that it reads from its stdin, a line each, and
                          ends with 0 when they are stored
              follower    prints a line for each version of each weight and nothing else,
                          until SIGTERM
              sink        delivers weights from the beginning, until SIGTERM

            Without a client, each line that you type is done, and each message that comes
            is shown; or the lines of --script, one after the other.

            Examples:
              hub plugin play publisher -- python3 give.py
              hub plugin play killed,answer-lost -- ./client
              hub plugin play --list
              hub plugin play --lines
              hub plugin play                   then type: silent, forget, kill, back
              hub plugin play --script my.play -- ./client

            Exit codes: 0 all plays held; 1 one failed; 65 the client cannot be started, or
            a line of the script is wrong.
            """)

    @Argument(
        help: ArgumentHelp(
            "Names of plays with commas between them, or publisher, follower or sink for all of these.",
            valueName: "plays"))
    var names: String?
    @Argument(parsing: .postTerminator, help: "After --, the client and its arguments.") var client: [String] = []
    @Option(help: "A play of your own: a file with a line for each step.", completion: .file()) var script: String?
    @Option(help: "Number of records that a publisher gives.") var records: Int = 100
    @Option(help: "Seconds to wait for each expected event.") var patience: Int = 30
    @Flag(help: "List the plays, and the client's task in each.") var list = false
    @Flag(help: "List the lines that a play may have.") var lines = false
    @Flag(help: "A JSON object a line.") var json = false

    private var plays: [String] { names.map { $0.split(separator: ",").map(String.init) } ?? [] }

    func validate() throws {
        guard (3...1_000_000).contains(records) else { throw ValidationError("--records takes 3 to 1000000.") }
        guard (1...3_600).contains(patience) else { throw ValidationError("--patience takes 1 to 3600 seconds.") }
        guard script == nil || plays.isEmpty else { throw ValidationError("Name plays, or --script, not both.") }
        for name in plays where Self.named(name).isEmpty {
            throw ValidationError("there is no play \(name); hub plugin play --list shows them")
        }
        if !plays.isEmpty, client.isEmpty, !list {
            throw ValidationError("Say after -- how the client is started: hub plugin play \(plays[0]) -- ./client")
        }
        if !client.isEmpty, plays.isEmpty, script == nil {
            throw ValidationError("Name plays, or publisher, follower or sink, before --.")
        }
    }

    private static func named(_ name: String) -> [Play] {
        Play.all.filter { $0.name == name || $0.role.rawValue == name }
    }

    func run() async throws {
        if list { return try listPlays() }
        if lines { return try listLines() }
        var chosen: [Play] = []
        for play in plays.flatMap(Self.named) where !chosen.contains(where: { $0.name == play.name }) {
            chosen.append(play)
        }
        if chosen.isEmpty { return try await PlayTable(script: script, records: records, patience, client, json).run() }
        var failures = 0
        let bar = ProgressBar("playing")
        for (place, play) in chosen.enumerated() {
            bar.update(Int64(place), of: Int64(chosen.count))
            let outcome = try await perform(play)
            if case .failed = outcome { failures += 1 }
            bar.end()
            try show(play, outcome)
        }
        if !json {
            try Output.print(
                failures == 0
                    ? "All of \(NumberText.count(chosen.count, "play")) held."
                    : "\(failures) of \(NumberText.count(chosen.count, "play")) failed.")
        }
        if failures > 0 { throw ExitCode(HubExit.unhealthy.rawValue) }
    }

    private func perform(_ play: Play) async throws -> Play.Outcome {
        do {
            let steps = try PlayStep.all(play.lines, records: records)
            let hub = try await PlayHub(patience: .seconds(patience))
            let interruption = Interruption()
            let watch = interruption.exit { await hub.close() }
            defer {
                watch.cancel()
                interruption.release()
            }
            let outcome: Play.Outcome
            do {
                outcome = try await hub.run(
                    steps, client: client, input: play.role == .publisher ? Play.lines(records) : "")
            } catch {
                await hub.close()
                throw error
            }
            await hub.close()
            return outcome
        } catch let refusal as PluginError { throw Failure(.badConfiguration, refusal.description) }
    }

    private func show(_ play: Play, _ outcome: Play.Outcome) throws {
        struct Line: Encodable {
            var play, role: String
            var held = true
            var line: String?
            var seen: [String]?
        }
        var line = Line(play: play.name, role: play.role.rawValue)
        if case .failed(let step, let seen) = outcome { (line.held, line.line, line.seen) = (false, step, seen) }
        if json { return try Output.json(try JSON.line(line)) }
        try Output.print("\(line.held ? "held   " : "FAILED ") \(play.role.rawValue) \(play.name): \(play.text)")
        guard !line.held else { return }
        try Output.print("    at:   \(line.line ?? "")")
        for seen in line.seen ?? [] { try Output.print("    seen: \(seen)") }
    }

    private func listPlays() throws {
        struct Line: Encodable { var play, role, text, lines: String }
        for role in Play.Role.allCases {
            let plays = Play.all.filter { $0.role == role && (self.plays.isEmpty || Self.names(self.plays, $0)) }
            if !json, !plays.isEmpty { try Output.print(role.rawValue) }
            for play in plays {
                let line = Line(play: play.name, role: role.rawValue, text: play.text, lines: play.lines)
                try Output.print(["  \(play.name): \(play.text)"], json: json ? try JSON.line(line) : nil)
            }
        }
    }

    private static func names(_ names: [String], _ play: Play) -> Bool {
        names.contains(play.name) || names.contains(play.role.rawValue)
    }

    private func listLines() throws {
        struct Line: Encodable { var line, text: String }
        for (line, text) in PlayStep.grammar {
            try Output.print(
                ["  " + line.padding(toLength: 18, withPad: " ", startingAt: 0) + text],
                json: json ? try JSON.line(Line(line: line, text: text)) : nil)
        }
        if json { return }
        try Output.print("WHAT is one of \(PlayStep.Count.allCases.map(\.rawValue).joined(separator: ", ")).")
        try Output.print("N may be records, the number that a publisher gives, or records-N, which is N fewer.")
    }
}
