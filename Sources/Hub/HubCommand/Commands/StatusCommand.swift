import ArgumentParser
import HealthText
import HubClient
import HubWire

struct StatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Show the state of the hub and its plugins.",
        discussion: """
            The first line says whether all is well, or names the problem and its remedy.

            Three lamps per plugin: alive (it runs and talks to the hub), fresh (it gave a
            record within the last day) and delivering (records reach it; none is stuck).
            A lamp shows - if it does not apply. Below the table there is a line for each
            plugin with a problem, and the command to run next. --all adds disabled
            plugins, addresses, ids, and the numbers of records that each plugin gave and
            each sink received.

            States: running, starting, restarting (in that many seconds), silent (its
            process lives but sends no messages), quarantined (crashed too often; see hub
            release), failed (a person must repair something), finished (all done), resting
            (runs when something waits for it), ending (asked to end), stopped (not
            started, or ended with the hub), away (on another machine, without a session),
            disabled.

            Examples:
              hub status
              hub status --all
              eval "$(hub status --env)"              sets HUB_DOOR and HUB_FEED
              hub status --json | jq .records
              hub status > /dev/null || echo 'look at the hub'

            Exit codes: 0 all is well; 1 an enabled plugin is not alive, does not deliver,
            needs a log-in, reports an error that is not over (a warning does not count),
            or had to go back to its former settings, or the store has a problem or soon
            will have one (little room); 69 no hub answers. --env always succeeds: the
            addresses are in hub.conf.
            """)

    @OptionGroup var options: ConfigurationOptions
    @Flag(help: "Also disabled plugins, addresses, ids and the accounts of plugins and sinks.") var all = false
    @Flag(help: "One JSON document, as the hub gives it.") var json = false
    @Flag(help: "Two lines for eval: export HUB_DOOR=… and export HUB_FEED=….") var env = false

    func validate() throws {
        if json, env { throw ValidationError("--json and --env exclude each other.") }
    }

    func run() throws {
        let endpoints = try options.endpoints()
        if env {
            if UnixSocket.presence(endpoints.door) == .absent {
                Terminal.complain(
                    "\(DoorClient.absent(endpoints.door).message) (these are the addresses of that hub.conf; a demo has its own, see the export line it prints)"
                )
            }
            return try Output.lines(endpoints.exports)
        }
        let answer = try DoorClient(endpoint: endpoints.door, command: "status", greeting: .seconds(2)).ask(.status)
        let status = try JSON.answer(HubStatus.self, answer)
        try Output.print(
            StatusText(status, all: all, colours: Terminal.hasColours).lines, json: json ? answer.text : nil)
        if !status.isWell { throw ExitCode(HubExit.unhealthy.rawValue) }
    }
}
