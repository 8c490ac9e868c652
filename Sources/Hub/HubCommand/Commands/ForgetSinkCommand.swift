import HealthText
import ArgumentParser
import HubClient
import HubWire

struct ForgetSinkCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "forget-sink",
        abstract: "Drop a subscription whose plugin is gone.",
        discussion: """
            The hub keeps records for a sink until they are delivered, even if its plugin
            is no longer in hub.conf: more and more records wait. This command drops the
            subscription and the list of its deliveries. A plugin that asks for it again
            begins as if new. The sink is an instance, or instance/subscription as hub
            status shows it.

            Examples:
              hub forget-sink old-cloud --dry-run
              hub forget-sink old-cloud/days --yes

            Exit codes: 0 dropped; 1 the hub failed, or the answer was no; 64 there is
            no such sink, or --yes is missing without a terminal; 69 no hub answers.
            """)

    @Argument(help: "The sink: an instance, or instance/subscription.")
    var sink: String
    @Flag(help: "Change nothing; show what would be dropped.")
    var dryRun = false
    @Flag(help: "Do not ask.")
    var yes = false
    @Flag(help: "One JSON document: {\"sinks\":[{\"sink\",\"undelivered\"}],\"dryRun\"}.")
    var json = false
    @OptionGroup var options: ConfigurationOptions

    private struct Arguments: Encodable { var sink: String }

    private struct Answer: Decodable {
        struct Entry: Decodable {
            var sink: String
            var undelivered: Int64
        }
        var sinks: [Entry]
    }

    func run() throws {
        let door = try DoorClient(endpoint: try options.endpoints().door, command: "forget-sink")
        let expected = try ask(door, isDryRun: true)
        if dryRun { return try show(expected, "would be dropped") }
        if !yes { try confirm(expected) }
        try show(try ask(door, isDryRun: false), "dropped")
    }

    private func ask(_ door: DoorClient, isDryRun: Bool) throws -> RawJSON {
        let arguments = RawJSON(trusted: Array(try JSON.line(Arguments(sink: sink)).utf8))
        guard let result = try door.command("forget-sink", arguments: arguments, isDryRun: isDryRun) else {
            throw Failure(.dialogue, "the hub's answer has no report; check it with hub status")
        }
        return result
    }

    private func confirm(_ expected: RawJSON) throws {
        guard Terminal.canAsk else {
            throw Failure(.usage, "there is no terminal to ask at; say --yes, or look first with --dry-run")
        }
        for line in try lines(expected, "") { Terminal.say(line) }
        Terminal.progress("Drop all that the hub knows of this? [y/N] ")
        let answer = readLine()?.lowercased() ?? ""
        guard answer == "y" || answer == "yes" else { throw Failure(.notWell, "nothing was changed") }
    }

    private func show(_ result: RawJSON, _ verb: String) throws {
        if json { return try Output.json(result.text) }
        for line in try lines(result, verb) { try Output.print(line) }
    }

    private func lines(_ result: RawJSON, _ verb: String) throws -> [String] {
        try JSON.answer(Answer.self, result).sinks.map { entry in
            let left = "\(NumberText.count(entry.undelivered, "record")) not delivered"
            return verb.isEmpty ? "\(entry.sink): \(left)" : "\(entry.sink) \(verb), \(left)"
        }
    }
}
