import HubWire

/// `configure`: writes settings of an instance, a person or `[hub]`, and whether an instance is enabled, into `hub.conf`, and applies the file.
struct ConfigurePlugin: OwnCommand {
    static let declaration = CommandDeclaration(
        "configure", help: "Writes settings of an instance, a person or [hub] into hub.conf, and applies it.",
        arguments: [
            SettingDeclaration("instance", .string(), help: "Its name in hub.conf; or:"),
            SettingDeclaration(
                "person", .string(), help: "Name of a person, added if hub.conf has no such section; or:"),
            SettingDeclaration("hub", .boolean, help: "Whether [hub] is meant."),
            SettingDeclaration("enabled", .boolean, help: "Whether it is to run."),
            SettingDeclaration(
                "set", .list(of: .string()),
                help:
                    "Settings that its manifest declares, or those of persons and [hub] that can be set, each NAME=VALUE, VALUE in JSON."
            ),
            SettingDeclaration("unset", .list(of: .string()), help: "Settings to reset to their defaults."),
            SettingDeclaration(
                "revision", .string(),
                help: "The revision of an earlier answer: nothing is written if hub.conf has changed since."),
        ], canDryRun: true)

    var instance, person: String?
    var hub, enabled: Bool?
    var set, unset: [String]?
    var revision: String?

    func run(_ call: CommandCall, on hub: isolated Commands) async throws -> RawJSON {
        guard let keeper = hub.keeper else { throw CommandFailure("busy", "the hub is starting or stopping") }
        let section = try ConfiguredSection(
            plugin: instance, person: person.map { hub.facts.persons.named($0)?.name ?? $0 }, isHub: self.hub ?? false)
        if section.plugin == nil, let scope = call.scope, scope.persons != nil {
            throw CommandFailure(
                "forbidden",
                "\(scope.instance) serves only some persons (persons in its section) and cannot change settings of others; use \(section.command)"
            )
        }
        let edit = try ConfigurationEdit(
            section, enabled: enabled, set: set ?? [], unset: unset ?? [], asker: call.scope?.instance)
        return RawJSON(encoding: try await keeper.configure(edit, at: revision, isDryRun: call.isDryRun))
    }
}
