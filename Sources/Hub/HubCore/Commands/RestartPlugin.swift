import HubWire

/// `restart`: a person ends and restarts an instance's process.
struct RestartPlugin: OwnCommand {
    static let declaration = CommandDeclaration(
        "restart",
        help: "Asks the process of an instance to finish, and starts it again; a waiting instance starts at once.",
        arguments: [SettingDeclaration("instance", .string(), help: "As hub.conf names it.", required: true)],
        canDryRun: true)

    var instance: String

    private struct Result: Encodable {
        var instance: String
        /// The state before the command.
        var state: PluginState
        /// Whether a process was ended first, or would be.
        var ended: Bool
    }

    func run(_ call: CommandCall, on hub: isolated Commands) async throws -> RawJSON {
        guard let supervisor = hub.supervisor,
            let state = await supervisor.restart(instance, isDryRun: call.isDryRun)
        else { throw CommandFailure(cannotStart: instance, hub.facts.plugins) }
        let report = LifeReport(state: state)
        return RawJSON(encoding: Result(instance: instance, state: report.word, ended: report.hasProcess))
    }
}
