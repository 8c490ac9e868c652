import HubWire

extension OwnCommands.Apply: CommandWork {
    func run(_ call: OwnCommandCall, on hub: Commands) async throws -> ApplyReport {
        guard let keeper = hub.keeper else { throw OwnCommandFailure("busy", "the hub is starting or stopping") }
        return try await keeper.apply(isDryRun: call.isDryRun)
    }
}
