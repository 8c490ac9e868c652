import ArgumentParser
import HubClient
import HubWire

struct LogOutCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "logout", abstract: "Log out: revoke the token at the service if it can, and forget it here.",
        discussion: """
            If the plugin's service can revoke a token, the plugin asks it to do so. Then
            the hub forgets the token, and reports the service's answer. If the service
            cannot be reached, nothing is forgotten, so that you can try again; --only-here
            forgets the token anyway. A token that was only forgotten here still works
            wherever there is a copy of it, until it expires or is withdrawn at the
            service. Records from the service stay.

            With --json each account has "service": revoked (the service refuses the token
            now; that was tried), accepted (it said yes; that was not tried), unknown (it
            no longer accepted the token), unsaid (the plugin only says that it is done),
            untold (the service was not notified); with --dry-run asked, or untold.

            Examples:
              hub logout exist --dry-run
              hub logout exist
              hub logout exist --account me --yes --json
              hub logout exist --only-here

            Exit codes: 0 done, or no one was logged in; 1 the service could not be
            reached, said no or still accepts the token; 64 no such plugin; 69 no hub
            answers; 75 the plugin or the hub is busy or stopping; 130 given up at Ctrl-C.
            """)

    @Argument(help: "The instance, as hub.conf names it.") var name: String
    @Option(help: "Only this account; hub status shows them.") var account: String?
    @Flag(help: "Do not notify the service.") var onlyHere = false
    @Flag(help: "Change nothing; show what would be done.") var dryRun = false
    @Flag(help: "Do not ask.") var yes = false
    @OptionGroup var options: ConfigurationOptions
    @Flag(help: "One JSON document: instance, dryRun, accounts (account, service).") var json = false

    /// The outcome for a token at the service.
    private enum Service: String, Codable {
        case revoked, accepted, unknown, unsaid, untold, asked

        var text: String {
            switch self {
            case .revoked: "the service has revoked the token (it refuses it now), and the hub has forgotten it"
            case .accepted: "the service says that it has revoked the token (not tried), and the hub has forgotten it"
            case .unknown: "the service no longer accepted the token; the hub has forgotten it"
            case .unsaid: "the plugin did not report whether the service revoked the token; the hub has forgotten it"
            case .untold:
                "forgotten by this hub only; the service was not notified, and may accept the token until it expires or you withdraw it there"
            case .asked: "the service would be asked to revoke the token; then the hub would forget it"
            }
        }
    }

    private struct Account: Codable {
        var account: String
        var service: Service

        func line(isDryRun: Bool) -> String {
            guard isDryRun, service == .untold else { return "\(account): \(service.text)" }
            return
                "\(account): would be forgotten by this hub only; the service would not be notified, and may still accept the token"
        }
    }

    private struct Report: Codable {
        var instance: String
        var accounts: [Account]
        var dryRun: Bool
    }

    func run() async throws {
        let endpoint = try options.endpoints().door
        let interruption = Interruption()
        let report = try await blocking { [self] in
            let door = try DoorClient(endpoint: endpoint, command: "logout")
            let canRevoke = try LogInPlugin(name, of: door, doing: "logout").canLogOut && !onlyHere
            let names = try forget(account, isDryRun: true, door)
            let plan = Report(
                instance: name, accounts: names.map { Account(account: $0, service: canRevoke ? .asked : .untold) },
                dryRun: true)
            guard !names.isEmpty, !dryRun else { return plan }
            try ConsentPrompt.ask(
                "Log out of \(name)?", about: plan.accounts.map { $0.line(isDryRun: true) }, isGiven: yes)
            // Log out of one account after the other: a revoked token is forgotten even if the next account fails.
            var done: [Account] = []
            for account in names {
                do {
                    let service = canRevoke ? try revoke(account, door, interruption) : .untold
                    _ = try forget(account, isDryRun: false, door)
                    done.append(Account(account: account, service: service))
                } catch let failure as Failure where !done.isEmpty {
                    let before = done.map { $0.line(isDryRun: false) }.joined(separator: "; ")
                    throw Failure(failure.exit, "\(failure.message). Before that: \(before)")
                }
            }
            return Report(instance: name, accounts: done, dryRun: false)
        }
        if json { return try Output.json(try JSON.line(report)) }
        if report.accounts.isEmpty { return try Output.print("no one is logged in at \(name)") }
        for account in report.accounts { try Output.print(account.line(isDryRun: dryRun)) }
    }

    /// - Returns: the accounts whose tokens are forgotten, or would be.
    private func forget(_ account: String?, isDryRun: Bool, _ door: DoorClient) throws -> [String] {
        try door.run(OwnCommands.LogOut(instance: name, account: account), isDryRun: isDryRun).result.accounts
    }

    private func revoke(_ account: String, _ door: DoorClient, _ interruption: Interruption) throws -> Service {
        struct Said: Decodable { var service: String? }
        let call = PluginCommandCall(instance: name, command: "logout", words: ["account=\(account)"], deadline: 60_000)
        do {
            let result = try call.run(door, interruption, ask: TerminalAnswer.ask)
            let said = result.flatMap { try? JSON.answer(Said.self, $0).service }.flatMap(Service.init)
            guard let said, [Service.revoked, .accepted, .unknown].contains(said) else { return .unsaid }
            return said
        } catch let failure as Failure {
            throw Failure(
                failure.exit,
                "\(failure.message); the hub has not forgotten the token of \(account): try again, or say hub logout \(name) --only-here"
            )
        }
    }
}
