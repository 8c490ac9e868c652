import ArgumentParser
import HubClient
import HubWire

struct PermissionsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "permissions", abstract: "Show or change which types each plugin may read and share.",
        discussion: """
            A plugin asks in its manifest for types to read and to share (to write). Each
            is granted, denied, or not decided, which means that hub.conf has a list
            without the type. Without a list all requested types are granted.

            A plugin does not learn that reading was denied: it finds only its own records
            of the type, as if there were no others. It does learn that sharing was denied.

            allow and deny write grants of [plugin.NAME] in hub.conf, keep all else of the
            file as it is, and have the hub follow it at once, as hub apply does.
            Correlations, such as bloodPressure and food, come with their members. since
            and days of grants limit how far back a plugin reads.

            The owner's rights, such as hub status and hub trace, are for plugins whose
            manifest asks for them and to whom hub.conf grants them by name, in the section
            [plugin.NAME]: grants = { owner = ["status", "trace"] }, or ["*"] for all that
            it asks for. allow and deny write that with --owner.

            Examples:
              hub permissions                              of all plugins
              hub permissions exist
              hub permissions deny exist heartRate --read
              hub permissions allow exist weight heartRate --dry-run
              hub permissions --json | jq '.[] | select(.plugin == "exist")'

            Exit codes: 0; 64 there is no such plugin or type, or it does not ask for it;
            65 hub.conf has errors, or cannot be changed without losing something: the
            message has the lines to write; 69 no hub answers; 71 hub.conf cannot be
            written.
            """,
        subcommands: [PermissionsShowCommand.self, PermissionsAllowCommand.self, PermissionsDenyCommand.self],
        defaultSubcommand: PermissionsShowCommand.self)
}

struct PermissionsShowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Show which types each plugin may read and share.",
        discussion: """
            Examples:
              hub permissions show exist
            """)

    @Argument(help: "Only this plugin.") var plugin: String?
    @Flag(help: "One JSON document: [{\"plugin\",\"permissions\":[{\"type\",\"read\",\"share\"}],\"owner\"?}].")
    var json = false
    @OptionGroup var options: ConfigurationOptions

    struct Entry: Encodable {
        var plugin: String
        var permissions: [Permission]
        /// The limit on how far back it may read; absent if there is none.
        var history: String?
        /// The owner's rights that it asks for and has; absent if it asks for none.
        var owner: Owner?

        struct Owner: Encodable { var asked, granted: [String] }

        init(_ plugin: PluginEntry) {
            (self.plugin, permissions, history) = (plugin.name, plugin.permissions ?? [], plugin.history)
            owner = plugin.owner.map { Owner(asked: $0, granted: plugin.grants?.owner ?? []) }
        }
    }

    func run() throws {
        let door = try options.door("permissions")
        let plugins =
            if let plugin { [try PluginEntry.named(plugin, door)] } else {
                try door.ask(.plugins, as: [PluginEntry].self)
            }
        let entries = plugins.map(Entry.init)
        if json { return try Output.json(try JSON.line(entries)) }
        if entries.isEmpty { Terminal.say("no plugins: hub setup adds one") }
        for line in PermissionText.table(entries.flatMap { entry in entry.permissions.map { (entry.plugin, $0) } }) {
            try Output.print(line)
        }
        for entry in entries {
            if let history = entry.history {
                try Output.print("\(entry.plugin) reads records \(history), and nothing older")
            }
            if let line = entry.owner.map({ PermissionText.owner($0.asked, $0.granted, of: entry.plugin) }) {
                try Output.print(line)
            }
        }
    }
}

/// Permissions for people.
enum PermissionText {
    static func table(_ permissions: [(plugin: String, permission: Permission)]) -> [String] {
        guard !permissions.isEmpty else { return [] }
        return Table.lines(["PLUGIN", "TYPE", "READ", "SHARE"], of: permissions) { plugin, permission in
            let isAlone = permissions.count { $0.plugin == plugin } == 1
            return [
                plugin, permission.type == TypePermissions.all ? isAlone ? "all types" : "all others" : permission.type,
                word(permission.read), word(permission.share),
            ]
        }
    }

    /// The owner's rights that a plugin has, and how to grant the others that it asks for.
    static func owner(_ asked: [String], _ granted: [String], of plugin: String) -> String {
        let refused = asked.filter { !granted.contains($0) }
        let may =
            granted.isEmpty ? "use no owner's rights" : "use the owner's rights " + granted.joined(separator: ", ")
        guard !refused.isEmpty else { return "\(plugin) may \(may)" }
        return
            "\(plugin) may \(may); it asks also for \(refused.joined(separator: ", ")): \(OwnerRight.line(asked, of: plugin))"
    }

    /// The state in words; `-` if the plugin does not ask for it.
    static func word(_ state: PermissionState?) -> String {
        switch state {
        case .granted: "granted"
        case .denied: "denied"
        case .notDetermined: "not decided"
        case nil: "-"
        }
    }
}
