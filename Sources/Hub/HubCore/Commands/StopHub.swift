import HubWire
import Logging

extension OwnCommands.Stop: CommandWork {
    func run(_ call: OwnCommandCall, on hub: Commands) async throws -> Result {
        guard !call.isDryRun else { return Result(wouldStop: true) }
        hub.logger.notice("stopping on request")
        hub.stopHub?()
        return Result()
    }
}
