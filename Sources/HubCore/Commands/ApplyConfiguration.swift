import HubWire

/// `apply`: the hub reads `hub.conf` again and follows it.
struct ApplyConfiguration: OwnCommand {
    static let declaration = CommandDeclaration(
        "apply", help: "Reads hub.conf again and follows it; a file with errors changes nothing.", canDryRun: true)

    func run(_ call: CommandCall, on bus: isolated Bus) async throws -> RawJSON {
        guard let keeper = bus.keeper else { throw CommandFailure("busy", "the hub is starting or stopping") }
        return JSONText().object(try await keeper.apply(isDryRun: call.isDryRun))
    }
}
