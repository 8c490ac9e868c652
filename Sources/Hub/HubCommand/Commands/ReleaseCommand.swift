import ArgumentParser
import HubClient
import HubWire

struct ReleaseCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "release", abstract: "Start a quarantined, waiting or finished plugin now.",
        discussion: """
            A plugin that crashes again and again is quarantined: hub status shows the
            reason, and hub logs NAME its last output. When you have removed the cause,
            this command starts it. It also ends any other wait, and runs a finished plugin
            again.

            Examples:
              hub release ihealth-hs3
              hub release ihealth-hs3 --json

            Exit codes: 0 it is being started, or runs already; 1 there is no such plugin,
            or it cannot be started as hub.conf has it; 69 no hub answers.
            """)

    @Argument(help: "The instance, as hub.conf names it.") var name: String
    @OptionGroup var options: ConfigurationOptions
    @Flag(help: "Change nothing; show its state.") var dryRun = false
    @OptionGroup var noQuestion: AssumeYesOption
    @Flag(help: "One JSON document: {\"instance\",\"state\",\"released\"}; state is its state before.") var json = false

    func run() throws {
        let door = try options.door("release")
        let (result, answer) = try door.run(OwnCommands.Release(instance: name), isDryRun: dryRun)
        if json { return try Output.json(answer.text) }
        let verb = dryRun ? "would be started" : "is being started"
        try Output.print(
            result.released ? "\(name) was \(result.state.rawValue) and \(verb)" : "\(name) is \(result.state.rawValue)"
        )
    }
}
