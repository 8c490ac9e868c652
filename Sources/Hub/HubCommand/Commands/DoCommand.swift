import ArgumentParser
import Foundation
import HealthText
import HubClient
import HubWire

struct DoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "do", abstract: "Run a command of a plugin.",
        discussion: """
            Without a command it lists the plugin's commands and their arguments.
            Arguments are written key=value; a list as key=a,b or key=a key=b. The hub
            checks them before it asks the plugin. Ctrl-C asks the plugin to give up, a
            second Ctrl-C leaves at once.

            Examples:
              hub do sami
              hub do sami backfill since=2020-01-01 --dry-run
              hub do sami backfill since=2020-01-01 --deadline 10min --json

            Exit codes: 0 done; 1 the plugin failed, does not run, or did not finish in
            time; 64 no such plugin or command, or wrong arguments; 69 no hub answers; 75
            the plugin or the hub is busy or stopping; 130 given up at Ctrl-C.
            """)

    @Argument(help: "The instance, as hub.conf names it.") var name: String
    @Argument(help: "The command; if not given, the commands are listed.") var command: String?
    @Argument(help: ArgumentHelp("Arguments of the command.", valueName: "key=value")) var arguments: [String] = []
    @Flag(help: "Change nothing; show what would be done.") var dryRun = false
    @OptionGroup var noQuestion: AssumeYesOption
    @OptionGroup var call: CallOptions

    func run() async throws {
        guard let command else {
            let plugin = try PluginEntry.named(name, try DoorClient(endpoint: try call.door, command: "do"))
            return try plugin.listCommands(json: call.json)
        }
        try await call.run(
            PluginCommandCall(
                instance: name, command: command, words: arguments, isDryRun: dryRun, deadline: call.deadline),
            as: "do")
    }
}

struct RefreshCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "refresh", abstract: "Have a plugin ask its device or service again, now.",
        discussion: """
            The same as hub do NAME refresh. New records arrive as always, and are stored
            once.

            Examples:
              hub refresh sami
              hub refresh sami days=30 --deadline 5min

            Exit codes: 0 done; 1 the plugin failed, does not run, or did not finish in
            time; 64 no such plugin, it has no refresh, or wrong arguments; 69 no hub
            answers; 75 the plugin or the hub is busy or stopping; 130 given up at Ctrl-C.
            """)

    @Argument(help: "The instance, as hub.conf names it.") var name: String
    @Argument(help: ArgumentHelp("Arguments; hub do NAME lists them.", valueName: "key=value"))
    var arguments: [String] = []
    @OptionGroup var call: CallOptions

    func run() async throws {
        try await call.run(
            PluginCommandCall(instance: name, command: "refresh", words: arguments, deadline: call.deadline),
            as: "refresh")
    }
}

/// The common options of the commands that call plugins.
struct CallOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("Give up after this time, such as 30s or 10min; up to 24h.", valueName: "time"),
        transform: CallOptions.deadline)
    var deadline: Int64?
    @OptionGroup var options: ConfigurationOptions
    @Flag(help: "One JSON document: the command's result, or the list.") var json = false

    var door: String { get throws { try options.endpoints().door } }

    /// Parses a deadline; returns milliseconds.
    static func deadline(_ text: String) throws -> Int64 {
        let milliseconds = SettingDuration(text).map { $0.microseconds / 1_000 } ?? 0
        guard CommandRequest.deadlines.contains(milliseconds) else {
            throw ValidationError("'\(text)' is not a time such as 30s, 10min or 2h, of at most 24h.")
        }
        return milliseconds
    }

    /// Makes the call and prints the result.
    func run(_ call: PluginCommandCall, as command: String) async throws {
        let (endpoint, interruption) = (try door, Interruption())
        let result = try await blocking {
            do {
                return try call.run(
                    try DoorClient(endpoint: endpoint, command: command), interruption, ask: TerminalAnswer.ask)
            } catch let failure as Failure where failure.exit == .usage && failure.member == "COMMAND.instance" {
                _ = try PluginEntry.named(call.instance, try DoorClient(endpoint: endpoint, command: command))
                throw failure
            }
        }
        if json { return try Output.json(result?.text ?? "null") }
        guard let result else { return try Output.print("done") }
        // Times are in the zone of the plugin's person. The command is done, so print its result even if the hub has ended meanwhile.
        let zone = try? await blocking {
            let client = try DoorClient(endpoint: endpoint, command: command)
            return try client.open().clock(of: PluginEntry.named(call.instance, client).persons ?? []).zone
        }
        try Output.print(ResultText(zone: zone ?? .current).lines(result))
    }
}

/// Asks a person for an answer at the terminal.
enum TerminalAnswer {
    /// Shows the question.
    static func ask(_ question: CommandQuestion) throws -> CallCallbacks.Answer {
        let url = question.url.map { " (\($0))" } ?? ""
        // A secret may come from a program through stdin; other answers need a person at a terminal.
        guard Terminal.canAsk || question.isSecret else {
            throw Failure(.usage, "there is no terminal to ask at: \(question.prompt)\(url)")
        }
        if let url = question.url { Terminal.say(url) }
        guard !question.isSecret else {
            Terminal.say("\(question.prompt) (it is not displayed)")
            let line = HiddenInput()
            return { try line.take().map(RawJSON.string) }
        }
        Terminal.progress("\(question.prompt) ")
        return {
            guard Terminal.hasTyped else { return nil }
            guard let line = readLine() else {
                throw Failure(.usage, "the input ended before the question was answered")
            }
            return RawJSON.string(line)
        }
    }
}
