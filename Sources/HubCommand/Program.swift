import ArgumentParser
import Foundation
import HubClient
import HubSettings

/// The program `hub`: every failure becomes one line on stderr and one of the documented exit codes.
@main
enum Program {
    static func main() async {
        // A reader that has had enough (`| head -1`) shows as an error of write(2), which ends the command in order.
        signal(SIGPIPE) { _ in }
        do {
            try RootCommand.checkName(CommandLine.arguments.dropFirst())
            try ProgramBeside.become(CommandLine.arguments.dropFirst())
            var command = try RootCommand.parseAsRoot(BridgeProgram.arguments)
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch let failure as Failure {
            Terminal.complain(failure.message)
            exit(failure.exit.rawValue)
        } catch is ReaderGone {
            exit(0)
        } catch  where RootCommand.exitCode(for: error) == .failure && !(error is ExitCode) {
            Terminal.complain("an error of hub itself, please report it: \(error)")
            exit(HubExit.fault.rawValue)
        } catch  where RootCommand.exitCode(for: error) == .validationFailure {
            Terminal.explain(RootCommand.fullMessage(for: error))
            exit(HubExit.usage.rawValue)
        } catch {
            RootCommand.exit(withError: error)
        }
    }
}

/// `hub`, with a subcommand per thing to do.
struct RootCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hub",
        abstract: "A personal health data hub: plugins give it samples, it stores each and hands it on.",
        discussion: """
            Begin here:
              hub demo                           a month of three people and three scales
              hub setup                          asks, and writes hub.conf
              hub check                          is hub.conf right?
              hub run                            run the hub
              hub status                         how is it?
              hub samples weight --last 10       what has been measured
              hub days weight                    a value for every day
              hub stats weight --by month        averages, sums, least and greatest
              hub activity                       the rings of each day, with their goals
              hub tap sample/weight/             see weights as they arrive
              hub export health.sqlite           take it with you

            Results go to stdout, everything else to stderr. With --json there is one
            JSON document, or one a line where it is about records or messages.

            The settings are read from --config FILE, else $HUB_CONF, else the first of
            ./hub.conf, ~/.config/health-hub/hub.conf and /etc/health-hub/hub.conf that
            exists.

            Exit codes:
            \(HubExit.table)
            """,
        version: HubProgram.version,
        subcommands: [
            SetupCommand.self, RunCommand.self, CheckCommand.self, StatusCommand.self, PluginsCommand.self,
            TapCommand.self,
            ApplyCommand.self, ConfigureCommand.self, RestartCommand.self, LogsCommand.self, ReleaseCommand.self,
            DeviceCommand.self,
            PermissionsCommand.self, DoCommand.self, IngestCommand.self, WebCommand.self,
            RefreshCommand.self, BackfillCommand.self, LogInCommand.self, LogOutCommand.self,
            SamplesCommand.self, SourcesCommand.self, DaysCommand.self, StatsCommand.self, ActivityCommand.self,
            ProfileCommand.self, LogCommand.self, EditCommand.self, RetractCommand.self,
            EraseCommand.self, RetentionCommand.self, AssignCommand.self,
            InboxCommand.self, TraceCommand.self, ReplayCommand.self, ForgetSinkCommand.self, KeysCommand.self,
            BridgeCommand.self,
            ExportCommand.self, ImportCommand.self, BackupCommand.self,
            RestoreCommand.self, CompactCommand.self, SalvageCommand.self, DoctorCommand.self, ServiceCommand.self,
            PluginCommand.self, DemoCommand.self,
        ])
}

extension RootCommand {
    /// Refuses a subcommand that does not exist, with the one that was probably meant, instead of the whole usage.
    static func checkName(_ arguments: some Collection<String>) throws(Failure) {
        guard let name = arguments.first, !name.hasPrefix("-") else { return }
        let names = configuration.subcommands.compactMap { $0.configuration.commandName } + ["help"]
        guard !names.contains(name) else { return }
        let meant = nearestName(to: name, among: names) ?? names.first { name.count > 1 && $0.hasPrefix(name) }
        throw Failure(
            .usage,
            "there is no command \(Terminal.cut(name))"
                + (meant.map { "; did you mean hub \($0)?" } ?? "; hub --help lists them"))
    }
}
