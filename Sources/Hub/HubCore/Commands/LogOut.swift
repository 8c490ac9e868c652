import HubStore
import HubWire

/// `logout`: the hub forgets the tokens of an instance.
struct LogOut: OwnCommand {
    static let declaration = CommandDeclaration(
        "logout", help: "Forgets the tokens of an instance.",
        arguments: [
            SettingDeclaration("instance", .string(), help: "As hub.conf names it.", required: true),
            SettingDeclaration("account", .string(), help: "Only this account."),
        ], canDryRun: true)

    var instance: String
    var account: String?

    private struct Result: Encodable {
        var instance: String
        /// The accounts whose tokens were removed, or would be.
        var accounts: [String]
        var dryRun: Bool
    }

    func run(_ call: CommandCall, on hub: isolated Commands) async throws -> RawJSON {
        let secrets: SecretStore
        do throws(StoreError) { secrets = try hub.secrets.get() } catch {
            throw CommandFailure("store", error.message)
        }
        let known = try await secrets.overview().filter { token in
            token.account.instance == instance && token.isThere && (account == nil || token.account.name == account)
        }
        guard !known.isEmpty || hub.facts.plugins.contains(where: { $0.name == instance }) else {
            let hint = nearestName(to: instance, among: hub.facts.plugins.map(\.name)).map { "; did you mean \($0)?" }
            throw CommandFailure(
                "command", "COMMAND.args: instance: hub.conf has no [plugin.\(instance.prefix(64))]\(hint ?? "")")
        }
        guard !call.isDryRun else {
            return RawJSON(encoding: Result(instance: instance, accounts: known.map(\.account.name), dryRun: true))
        }
        let removed = try await secrets.remove(instance: instance, account: account)
        // In its new session, the plugin asks for its tokens again.
        if !removed.isEmpty {
            hub.outlet.dismiss(instance, because: "the log-in was removed")
        }
        return RawJSON(encoding: Result(instance: instance, accounts: removed, dryRun: false))
    }
}
