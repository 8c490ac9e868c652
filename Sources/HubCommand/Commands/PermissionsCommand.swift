import ArgumentParser
import HubClient
import HubCore
import HubSettings
import HubWire

struct PermissionsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "permissions",
        abstract: "What each plugin may read and share, by type; shows and changes it.",
        discussion: """
            A plugin asks in its manifest for types to read and to share (to write). Each
            is granted, denied, or not decided: hub.conf has a list then, and the type is
            not in it. Without a list all that a plugin asks for is granted.

            A plugin is not told that reading was denied: it finds its own records of the
            type, as if there were no others. That sharing was denied it is told.

            allow and deny write grants of [plugin.NAME] in hub.conf, keep all else of the
            file as it is, and have the hub follow it at once, as hub apply does.
            Correlations, such as bloodPressure and food, come with their members. since
            and days of grants limit how far back a plugin reads.

            Examples:
              hub permissions                              of all plugins
              hub permissions exist
              hub permissions deny exist heartRate --read
              hub permissions allow exist weight heartRate --dry-run
              hub permissions --json | jq '.[] | select(.plugin == "exist")'

            Exit codes: 0; 64 there is no such plugin or type, or it does not ask for it;
            65 hub.conf has errors, or cannot be changed without losing something: what to
            write is said; 69 no hub answers; 71 hub.conf cannot be written.
            """,
        subcommands: [PermissionsShowCommand.self, PermissionsAllowCommand.self, PermissionsDenyCommand.self],
        defaultSubcommand: PermissionsShowCommand.self)
}

struct PermissionsShowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "What each plugin may read and share.",
        discussion: """
            Examples:
              hub permissions show exist
            """)

    @Argument(help: "Only this plugin.")
    var plugin: String?
    @Flag(help: "One JSON document: [{\"plugin\",\"permissions\":[{\"type\",\"read\",\"share\"}]}].")
    var json = false
    @OptionGroup var options: ConfigurationOptions

    struct Entry: Encodable {
        var plugin: String
        var permissions: [Permission]
        /// How far back it may read; absent where that is not limited.
        var history: String?
    }

    func run() throws {
        let door = try DoorClient(endpoint: try options.endpoints().door, command: "permissions")
        let plugins =
            if let plugin { [try PluginText.named(plugin, door)] } else {
                try JSON.answer([PluginText].self, try door.ask(.plugins))
            }
        let entries = plugins.map { Entry(plugin: $0.name, permissions: $0.permissions ?? [], history: $0.history) }
        if json { return try Output.json(try JSON.line(entries)) }
        if entries.isEmpty { Terminal.say("no plugins: enable one with [plugin.NAME] in hub.conf") }
        for line in PermissionText.table(entries.flatMap { entry in entry.permissions.map { (entry.plugin, $0) } }) {
            try Output.print(line)
        }
        for entry in entries {
            if let history = entry.history {
                try Output.print("\(entry.plugin) reads what is \(history), and nothing older")
            }
        }
    }
}

/// Permissions for people.
enum PermissionText {
    static func table(_ permissions: [(plugin: String, permission: Permission)]) -> [String] {
        guard !permissions.isEmpty else { return [] }
        var table = Table([("PLUGIN", .left), ("TYPE", .left), ("READ", .left), ("SHARE", .left)])
        for (plugin, permission) in permissions {
            let isAlone = permissions.count { $0.plugin == plugin } == 1
            table.add([
                plugin, permission.type == TypePermissions.all ? isAlone ? "all types" : "all others" : permission.type,
                word(permission.read), word(permission.share),
            ])
        }
        return table.takeLines()
    }

    /// As people read it; what is not asked for has no word.
    static func word(_ state: PermissionState?) -> String {
        switch state {
        case .granted: "granted"
        case .denied: "denied"
        case .notDetermined: "not decided"
        case nil: "-"
        }
    }
}
