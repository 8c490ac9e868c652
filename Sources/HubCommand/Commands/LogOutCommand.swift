import ArgumentParser
import HubWire

struct LogOutCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "logout",
        abstract: "Take a log-in back: at the service where it can, and here.",
        discussion: """
            Where the plugin's service has a way to revoke a token, the plugin asks for
            that first; then the hub forgets the token. If the service cannot be told,
            nothing is forgotten, so that it can be tried again; --only-here forgets all
            the same. The records that came from there stay.

            Examples:
              hub logout exist --dry-run
              hub logout exist
              hub logout exist --account me --yes --json
              hub logout exist --only-here

            Exit codes: 0 done, or nobody was logged in; 1 the service could not be told,
            or the answer was no; 64 no such plugin; 69 no hub answers; 75 the plugin or the
            hub is busy or stopping; 130 given up at Ctrl-C.
            """)

    @Argument(help: "The instance, as hub.conf names it.")
    var name: String
    @Option(help: "Only this account; hub status shows them.")
    var account: String?
    @Flag(help: "Do not tell the service.")
    var onlyHere = false
    @Flag(help: "Change nothing; show what would be done.")
    var dryRun = false
    @Flag(help: "Do not ask whether it is meant.")
    var yes = false
    @OptionGroup var options: ConfigurationOptions
    @Flag(help: "One JSON document: instance, dryRun, accounts, revoked.")
    var json = false

    private struct Report: Codable {
        var instance: String
        /// Whose tokens are, or would be, forgotten.
        var accounts: [String]
        /// Whether the service was told, or would be.
        var revoked: Bool?
        var dryRun: Bool
    }

    func run() async throws {
        let endpoint = try options.endpoints().door
        let interruption = Interruption()
        let report = try await blocking { [self] in
            let door = try DoorClient(endpoint: endpoint, command: "logout")
            let canRevoke = try LogInPlugin(name, of: door, doing: "logout").canLogOut && !onlyHere
            var report = try forget(account, isDryRun: true, door)
            report.revoked = canRevoke
            guard !report.accounts.isEmpty, !dryRun else { return report }
            try Consent.ask("Log out of \(name)?", about: plan(report), isGiven: yes)
            // One after the other: what was revoked is forgotten, whatever happens to the next.
            for account in report.accounts {
                if canRevoke { try revoke(account, door, interruption) }
                _ = try forget(account, isDryRun: false, door)
            }
            report.dryRun = false
            return report
        }
        if json { return try Output.json(try JSON.line(report)) }
        if report.accounts.isEmpty { return try Output.print("nobody is logged in at \(name)") }
        for line in dryRun ? plan(report) : ["logged out of \(name)"] { try Output.print(line) }
        if !dryRun, report.revoked == false {
            Terminal.say("the service was not told; where it lists who has access, this hub may be removed there too")
        }
    }

    private func plan(_ report: Report) -> [String] {
        report.accounts.map { account in
            "\(account): \(report.revoked == true ? "revoked at the service, then " : "")forgotten by the hub"
        }
    }

    private func forget(_ account: String?, isDryRun: Bool, _ door: DoorClient) throws -> Report {
        let arguments = try JSON.line(["instance": name].merging(account.map { ["account": $0] } ?? [:]) { $1 })
        let result = try door.command("logout", arguments: RawJSON(trusted: Array(arguments.utf8)), isDryRun: isDryRun)
        return try JSON.answer(Report.self, result ?? .emptyObject)
    }

    private func revoke(_ account: String, _ door: DoorClient, _ interruption: Interruption) throws {
        let call = PluginCall(instance: name, command: "logout", words: ["account=\(account)"], deadline: 60_000)
        do {
            _ = try call.run(door, interruption, ask: TerminalAnswer.ask)
        } catch let failure as Failure where failure.exit == .notWell {
            throw Failure(
                .notWell,
                "\(failure.message); the token of \(account) was not forgotten: try again, or say hub logout \(name) --only-here"
            )
        }
    }
}
