import ArgumentParser
import HealthText
import HubClient
import HubSettings
import HubWire
import Samples

struct BackfillCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backfill", abstract: "Have a plugin read the history of its service.",
        discussion: """
            The same as hub do NAME backfill. Records that the hub has stay as they are. A
            backfill that was interrupted in any way continues where it was. --dry-run
            shows when the service's history begins, and how long it will take at least.

            Examples:
              hub backfill sami --dry-run
              hub backfill sami --since 2015-01-01
              hub backfill sami device="Bathroom scale"

            Exit codes: 0 done; 1 the plugin failed, does not run, or did not finish in
            time; 64 no such plugin, it has no backfill, or wrong arguments; 69 no hub
            answers; 75 the plugin or the hub is busy or stopping; 130 given up at Ctrl-C.
            """)

    @Argument(help: "The instance, as hub.conf names it.") var name: String
    @Argument(help: ArgumentHelp("Arguments; hub do NAME lists them.", valueName: "key=value"))
    var arguments: [String] = []
    @Option(
        help: ArgumentHelp("From this day on; all of it if not given.", valueName: "when"),
        transform: DateArgument.parsed)
    var since: DateArgument?
    @Flag(help: "Change nothing; show what would be read.") var dryRun = false
    @OptionGroup var noQuestion: AssumeYesOption
    @OptionGroup var call: CallOptions

    func run() async throws {
        let endpoint = try call.door
        var words = arguments
        if let since {
            let day = try await blocking {
                since.day(by: try DoorClient(endpoint: endpoint, command: "backfill").open().clock(of: []))
            }
            words.append("since=\(day.text)")
        }
        try await call.run(
            PluginCommandCall(
                instance: name, command: "backfill", words: words, isDryRun: dryRun, deadline: call.deadline),
            as: "backfill")
    }
}
