import ArgumentParser
import Foundation
import HealthText
import HubClient
import HubWire

@main enum HubMain {
    static func main() async {
        await CommandProgram.main(RootCommand.self) {
            try RootCommand.checkName(CommandLine.arguments.dropFirst())
            try SiblingProgram.become(CommandLine.arguments.dropFirst())
            return try RootCommand.parseAsRoot(BridgeProgram.arguments)
        } usage: {
            RootCommand.usageMessage(for: $0)
        }
    }
}

/// `hub`, with a subcommand for each task.
struct RootCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hub",
        abstract: "A personal health data hub: plugins give it samples, it stores each and hands it on.",
        discussion: """
            Begin here:
              hub demo                           a month of three people and three scales
              hub setup                          asks, and writes hub.conf
              hub run                            run the hub
              hub status                         is all well?

            Results go to stdout, everything else to stderr. With --json there is one
            JSON document, or one per line for records and messages.

            The settings are read from --config FILE, else $HUB_CONF, else the first of
            ./hub.conf, ~/.config/health-hub/hub.conf and /etc/health-hub/hub.conf that
            exists.

            Exit codes: hub exit-codes lists them.
            """,
        version: ProductVersion.current,
        groupedSubcommands: [
            CommandGroup(
                name: "Everyday",
                subcommands: [
                    DemoCommand.self, SetupCommand.self, CheckCommand.self, RunCommand.self, StatusCommand.self,
                    StopCommand.self,
                ]),
            CommandGroup(
                name: "Data",
                subcommands: [
                    SamplesCommand.self, TypesCommand.self, DaysCommand.self, StatsCommand.self, ActivityCommand.self,
                    ProfileCommand.self, SourcesCommand.self, TraceCommand.self, TapCommand.self,
                ]),
            CommandGroup(
                name: "Entry",
                subcommands: [
                    LogCommand.self, EditCommand.self, RetractCommand.self, EraseCommand.self, InboxCommand.self,
                    AssignCommand.self,
                ]),
            CommandGroup(
                name: "Plugin and device",
                subcommands: [
                    PluginsCommand.self, ConfigureCommand.self, ApplyCommand.self, LogsCommand.self,
                    RestartCommand.self, ReleaseCommand.self, DeviceCommand.self, DoCommand.self, RefreshCommand.self,
                    BackfillCommand.self, LogInCommand.self, LogOutCommand.self, PermissionsCommand.self,
                ]),
            CommandGroup(
                name: "Phone, page and network", subcommands: [IngestCommand.self, WebCommand.self, KeysCommand.self]),
            CommandGroup(
                name: "File",
                subcommands: [
                    ImportCommand.self, ExportCommand.self, BackupCommand.self, RestoreCommand.self,
                    RetentionCommand.self,
                ]),
            CommandGroup(
                name: "Repair and operation",
                subcommands: [
                    DoctorCommand.self, SalvageCommand.self, CompactCommand.self, ReplayCommand.self,
                    ForgetSinkCommand.self, ServiceCommand.self, ExitCodesCommand.self,
                ]), CommandGroup(name: "Programming", subcommands: [PluginCommand.self, BridgeCommand.self]),
        ])
}

extension RootCommand {
    /// Command names of other programs, with the equivalent command here.
    private static let redirects = [
        "list": "hub samples lists measurements, hub plugins the plugins, hub status a summary",
        "version": "hub --version prints the version", "start": "hub run starts the hub",
        "show": "hub samples shows measurements, hub trace NUMBER one record", "ls": "hub samples lists records",
        "add": "hub log enters a value, hub ingest new adds a phone", "delete": "hub retract takes a record back",
        "rm": "hub retract takes a record back", "undo": "edit, retract and setup have --undo",
        "config": "hub configure changes hub.conf", "devices": "hub device lists devices",
        "log-in": "hub login logs a plugin in",
        "install": "hub plugin install installs a plugin, hub service install the hub under systemd",
        "enable": "hub configure NAME --enable enables a plugin",
        "disable": "hub configure NAME --disable disables a plugin",
        "person": "hub profile shows a person's profile, hub setup adds a person",
        "people": "hub profile shows a person's profile, hub setup adds a person",
        "users": "hub profile shows a person's profile, hub do ihealth-hs5 users-list the users of a scale",
        "history": "hub samples shows measurements", "weigh": "hub log weight 72.3 enters a weight",
        "weight": "hub log weight 72.3 enters a weight, hub samples weight shows them",
    ]

    /// Options that are gone, with their replacements.
    private static let removedOptions = [
        "backup --incremental":
            "hub backup writes whole backups, and restic keeps small, deduplicated copies of them; see Docs/Backups.md",
        "doctor --rehearse":
            "hub restore FILE --dry-run reads a backup as a restore would and says what would be lost; see Docs/Backups.md",
        "doctor --backup": "it went with --rehearse; hub restore FILE --dry-run takes its place, see Docs/Backups.md",
        "doctor --identity":
            "it went with --rehearse; hub restore FILE --dry-run --identity KEY takes its place, see Docs/Backups.md",
    ]

    /// The fault in the arguments in the style of all errors of the program, followed by the usage of the command.
    static func usageMessage(for error: any Error) -> String {
        let message = fullMessage(for: error)
        let prefix = "Error: "
        guard message.hasPrefix(prefix) else { return message }
        var words = String(message.dropFirst(prefix.count))
        // ArgumentParser suggests by similar letters; these options all mean --at.
        let option = ["--date", "--day", "--when", "--time"].first { words.hasPrefix("Unknown option '\($0)'") }
        let command = CommandLine.arguments.dropFirst().first ?? ""
        if let option, ["log", "edit"].contains(command) {
            words = "Unknown option '\(option)'. Did you mean '--at'?" + words.drop { $0 != "\n" }
        }
        if let (_, option) = words.prefixMatch(of: /Unknown option '(--[a-z]+)'/)?.output,
            let replacement = removedOptions["\(command) \(option)"]
        {
            words = "hub \(command) \(option) is gone: \(replacement)" + words.drop { $0 != "\n" }
        }
        return "hub: " + NameWords.lowered(words)
    }

    /// Refuses an unknown subcommand with a suggestion instead of the whole usage.
    static func checkName(_ arguments: some Collection<String>) throws(Failure) {
        guard let name = arguments.first, !name.hasPrefix("-") else { return }
        let names = configuration.subcommands.compactMap { $0.configuration.commandName } + ["help"]
        guard !names.contains(name) else { return }
        if let redirect = redirects[name.lowercased()] {
            throw Failure(.usage, "there is no command \(name); \(redirect)")
        }
        // First try the name without a repeated last letter, before other names with the same distance.
        let meant =
            names.first { $0 == name.dropLast() } ?? nearestName(to: name, among: names)
            ?? names.first { name.count > 1 && $0.hasPrefix(name) }
        throw Failure(
            .usage,
            "there is no command \(Terminal.cut(name))"
                + (meant.map { "; did you mean hub \($0)?" } ?? "; hub --help lists them"))
    }
}
