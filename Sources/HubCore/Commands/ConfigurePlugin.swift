import HubSettings
import HubWire

/// `configure`: settings of an instance, and whether it is enabled, are written into `hub.conf`, and the hub follows.
struct ConfigurePlugin: OwnCommand {
    static let declaration = CommandDeclaration(
        "configure", help: "Writes settings of an instance into hub.conf, and follows it.",
        arguments: [
            SettingDeclaration("instance", .string(), help: "As hub.conf names it.", required: true),
            SettingDeclaration("enabled", .boolean, help: "Whether it is to run."),
            SettingDeclaration(
                "set", .list(of: .string()),
                help: "Settings that its manifest declares, each NAME=VALUE, VALUE in JSON."),
            SettingDeclaration("unset", .list(of: .string()), help: "Settings that are to have their defaults again."),
            SettingDeclaration(
                "revision", .string(),
                help: "As an answer said it: nothing is written where hub.conf is another by now."),
        ], canDryRun: true)

    var instance: String
    var enabled: Bool?
    var set, unset: [String]?
    var revision: String?

    func run(_ call: CommandCall, on hub: isolated Commands) async throws -> RawJSON {
        guard let keeper = hub.keeper else { throw CommandFailure("busy", "the hub is starting or stopping") }
        let edit = try ConfigurationEdit(
            instance: instance, enabled: enabled, set: set ?? [], unset: unset ?? [], asker: call.scope?.instance)
        return RawJSON(encoding: try await keeper.configure(edit, at: revision, isDryRun: call.isDryRun))
    }
}
