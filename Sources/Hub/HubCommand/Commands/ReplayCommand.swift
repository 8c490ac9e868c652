import ArgumentParser
import FoundationEssentials
import HealthText
import HubClient
import HubWire
import Samples

struct ReplayCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay", abstract: "Deliver records to a sink again.",
        discussion: """
            Use it if a file or a cloud has lost records. Records go out in their current
            version; records that wait for the sink already, or that it does not ask for,
            are left out. The sink is an instance, or instance/subscription as hub status
            shows it. --since takes a date, for records measured since then, or a cursor,
            for records changed after it. With --dry-run a running sink that can plan
            (hub do NAME plan) also reports the requests that it would send to its service.

            Examples:
              hub replay --to json-lines --since 2026-03-01 --dry-run
              hub replay --to json-lines --since 30d --type weight
              hub replay --to exist/days --since k7qz2m5a-1042 --json

            Exit codes: 0 they wait for the sink now; 1 the hub failed; 64 there is no
            such sink or type; 69 no hub answers.
            """)

    @Option(help: ArgumentHelp("The sink: an instance, or instance/subscription.", valueName: "sink")) var to: String
    @Option(
        help: ArgumentHelp(
            "Only records from this time on, or changed after this cursor; if not given, all.",
            valueName: "date|cursor"))
    var since: String?
    @Option(
        name: .customLong("type"), help: ArgumentHelp("Only records of this type; may be repeated.", valueName: "type"))
    var types: [String] = []
    @Flag(help: "Change nothing; count what would be delivered.") var dryRun = false
    @OptionGroup var noQuestion: AssumeYesOption
    @Flag(help: "One JSON document: {\"sinks\":[{\"sink\",\"records\"}],\"dryRun\"}.") var json = false
    @OptionGroup var options: ConfigurationOptions

    func validate() throws {
        if let since, Cursor(since) == nil, DateArgument(since) == nil {
            throw ValidationError(
                "'\(since)' is neither a cursor such as k7qz2m5a-1042 nor one of: \(DateArgument.forms)")
        }
    }

    func run() throws {
        let types = try TypeArgument.resolved(types)
        let door = try options.door("replay")
        var command = OwnCommands.Replay(to: to, types: types.isEmpty ? nil : types)
        if let since {
            if Cursor(since) != nil {
                command.since = since
            } else if let date = DateArgument(since) {
                command.from = date.start(by: try door.open().clock(of: [])).text
            }
        }
        let (result, answer) = try door.run(command, isDryRun: dryRun) { step in
            guard Terminal.showsProgress || Terminal.canAsk else { return }
            Terminal.progress("\(step.text ?? "") \(NumberText.count(step.done, "record"))")
        }
        if Terminal.canAsk { Terminal.progress("") }
        if json { return try Output.json(answer.text) }
        for entry in result.sinks {
            let count = NumberText.count(entry.records, "record")
            try Output.print(
                dryRun
                    ? "\(entry.sink): \(count) would be delivered again"
                    : "\(entry.sink): \(count) to be delivered again")
        }
        if dryRun { try plans(door, of: result.sinks.map(\.sink)) }
    }

    /// Prints the plans of the plugins that can plan; a plugin that is not running cannot.
    private func plans(_ door: DoorClient, of sinks: [String]) throws {
        let instances = Set(sinks.compactMap { $0.split(separator: "/").first.map(String.init) })
        let able = try door.ask(.plugins, as: [PluginEntry].self).filter { plugin in
            instances.contains(plugin.name) && plugin.commands?.contains { $0.name == "plan" && $0.canDryRun } == true
        }
        for plugin in able {
            let call = PluginCommandCall(instance: plugin.name, command: "plan", words: [], isDryRun: true)
            guard let result = try? call.run(try options.door("replay"), Interruption(), ask: TerminalAnswer.ask) else {
                continue
            }
            try Output.print("\(plugin.name) would send by now:")
            for line in ResultText().lines(result) { try Output.print("  \(line)") }
        }
    }
}
