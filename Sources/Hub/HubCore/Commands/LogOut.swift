import HubStore
import HubWire

extension OwnCommands.LogOut: CommandWork {
    func run(_ call: OwnCommandCall, on hub: Commands) async throws -> Result {
        let secrets: SecretStore
        do throws(StoreError) { secrets = try hub.secrets.get() } catch {
            throw OwnCommandFailure("store", error.message)
        }
        let known = try await secrets.overview().filter { token in
            token.account.instance == instance && token.isThere && (account == nil || token.account.name == account)
        }
        guard !known.isEmpty || hub.facts.plugins.contains(where: { $0.name == instance }) else {
            let hint = nearestName(to: instance, among: hub.facts.plugins.map(\.name)).map { "; did you mean \($0)?" }
            throw OwnCommandFailure(
                "command", "COMMAND.args: instance: hub.conf has no [plugin.\(instance.prefix(64))]\(hint ?? "")")
        }
        guard !call.isDryRun else {
            return Result(instance: instance, accounts: known.map(\.account.name), dryRun: true)
        }
        let removed = try await secrets.remove(instance: instance, account: account)
        // In its new session, the plugin asks for its tokens again.
        if !removed.isEmpty {
            hub.door.dismiss(instance, because: "the log-in was removed")
        }
        return Result(instance: instance, accounts: removed, dryRun: false)
    }
}
