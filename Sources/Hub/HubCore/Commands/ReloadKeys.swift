import HubWire

/// `reload-keys`: reads the changed keys of plugins on other machines from the disk, and ends sessions with a revoked key at once.
struct ReloadKeys: OwnCommand {
    static let declaration = CommandDeclaration(
        "reload-keys", help: "Reads the keys of plugins on other machines again, and ends sessions of revoked keys.")

    private struct Result: Encodable {
        var keys: Int
        var revoked: [String]
    }

    func run(_ call: CommandCall, on hub: isolated Commands) async throws -> RawJSON {
        do throws(HubError) {
            let (keys, revoked) = try hub.outlet.reloadKeys()
            return RawJSON(encoding: Result(keys: keys, revoked: revoked))
        } catch {
            throw CommandFailure("keys", error.message)
        }
    }
}
