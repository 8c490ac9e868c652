import ArgumentParser
import HubClient
import HubWire

struct RestartCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restart", abstract: "End a plugin's process and start it again.",
        discussion: """
            The plugin is asked to finish (STOP) and has five seconds; then its process is
            ended, and started again with the settings that the hub follows. It keeps
            records that it had not given to the hub, and gives them then. A plugin that is
            waiting, quarantined, failed or finished is started at once. Other plugins are
            not disturbed.

            After a change of hub.conf, or of the plugin's program, hub apply restarts the
            plugins concerned, and no other.

            Examples:
              hub restart ihealth-hs3
              hub restart ihealth-hs3 --dry-run       show its state; change nothing
              hub logs ihealth-hs3 --last 20          its messages after that

            Exit codes: 0 it is being started again; 1 there is no such plugin, or the hub
            does not start it (disabled, on another machine, without its program); 69 no
            hub answers.
            """)

    @Argument(help: "The instance, as hub.conf names it.") var name: String
    @OptionGroup var options: ConfigurationOptions
    @Flag(help: "Change nothing; show its state.") var dryRun = false
    @OptionGroup var noQuestion: AssumeYesOption
    @Flag(
        help:
            "One JSON document: {\"instance\",\"state\",\"ended\"}; state is its state before, ended whether it had a process."
    )
    var json = false

    func run() throws {
        let door = try options.door("restart")
        let (result, answer) = try door.run(OwnCommands.Restart(instance: name), isDryRun: dryRun)
        if json { return try Output.json(answer.text) }
        let verb = dryRun ? "would be" : "is being"
        try Output.print(
            "\(name) was \(result.state.rawValue) and \(verb) \(result.ended ? "ended and started again" : "started")")
    }
}
