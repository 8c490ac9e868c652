import HubWire
import Logging

/// `stop`: ends the hub in order.
struct StopHub: OwnCommand {
    static let declaration = CommandDeclaration("stop", help: "Stops the hub in an orderly way.", canDryRun: true)

    func run(_ call: CommandCall, on hub: isolated Commands) async throws -> RawJSON {
        guard !call.isDryRun else { return RawJSON(trusted: Array(#"{"wouldStop":true}"#.utf8)) }
        hub.logger.notice("stopping on request")
        hub.stopHub?()
        return .emptyObject
    }
}
