import HubWire

/// `apply`: the hub reads `hub.conf` again and applies it.
struct ApplyConfiguration: OwnCommand {
    static let declaration = CommandDeclaration(
        "apply", help: "Reads hub.conf again and applies it; a file with errors changes nothing.", canDryRun: true)

    func run(_ call: CommandCall, on hub: isolated Commands) async throws -> RawJSON {
        guard let keeper = hub.keeper else { throw CommandFailure("busy", "the hub is starting or stopping") }
        return RawJSON(encoding: try await keeper.apply(isDryRun: call.isDryRun))
    }
}
