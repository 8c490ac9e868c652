import HubWire

extension OwnCommands.ReloadKeys: CommandWork {
    func run(_ call: OwnCommandCall, on hub: Commands) async throws -> Result {
        do throws(HubError) {
            let (keys, revoked) = try hub.door.network.reloadKeys()
            return Result(keys: keys, revoked: revoked)
        } catch {
            throw OwnCommandFailure("keys", error.message)
        }
    }
}
