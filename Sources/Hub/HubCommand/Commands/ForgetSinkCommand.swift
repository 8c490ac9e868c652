import HealthText
import ArgumentParser
import HubClient
import HubWire

struct ForgetSinkCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "forget-sink", abstract: "Drop a subscription whose plugin is gone.",
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

    @Argument(help: "The sink: an instance, or instance/subscription.") var sink: String
    @Flag(help: "Change nothing; show what would be dropped.") var dryRun = false
    @Flag(help: "Do not ask.") var yes = false
    @Flag(help: "One JSON document: {\"sinks\":[{\"sink\",\"undelivered\"}],\"dryRun\"}.") var json = false
    @OptionGroup var options: ConfigurationOptions

    func run() throws {
        let door = try options.door("forget-sink")
        let command = OwnCommands.ForgetSink(sink: sink)
        let expected = try door.run(command, isDryRun: true)
        if dryRun { return try show(expected, "would be dropped") }
        try ConsentPrompt.ask("Drop all that the hub knows of this?", about: lines(expected.result, ""), isGiven: yes)
        try show(try door.run(command), "dropped")
    }

    private func show(_ answer: (result: OwnCommands.ForgetSink.Result, json: RawJSON), _ verb: String) throws {
        try Output.print(lines(answer.result, verb), json: json ? answer.json.text : nil)
    }

    private func lines(_ result: OwnCommands.ForgetSink.Result, _ verb: String) -> [String] {
        result.sinks.map { entry in
            let left = "\(NumberText.count(entry.undelivered, "record")) not delivered"
            return verb.isEmpty ? "\(entry.sink): \(left)" : "\(entry.sink) \(verb), \(left)"
        }
    }
}
