import HubWire

extension OwnCommands.ReloadKeys: CommandWork {
    func run(_ call: OwnCommandCall, on hub: isolated Commands) async throws -> Result {
        do throws(HubError) {
            let (keys, revoked) = try hub.outlet.reloadKeys()
            return Result(keys: keys, revoked: revoked)
        } catch {
            throw OwnCommandFailure("keys", error.message)
        }
    }
}
