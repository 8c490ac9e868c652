import ArgumentParser
import HealthText
import HubClient
import HubWire
import Foundation

struct WebTokenCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token", abstract: "Manage the tokens by which programs use the API.",
        discussion: """
            A program sends its token to the API of the plugin web, below /api/v1, as
            Authorization: Bearer TOKEN. It is shown once, when it is made, and is valid
            until it is revoked. With read it reads records, with write it also enters,
            edits and takes back records, with manage it has all the owner's rights.

            Examples:
              hub web token new grafana
              hub web token new app --scope write --person anna
              hub web token list
              hub web token revoke grafana

            Exit codes: 0; 1 the plugin refused, or does not run; 64 it is not in hub.conf,
            or wrong arguments; 69 no hub answers; 75 the plugin or the hub is busy.
            """,
        subcommands: [WebTokenNewCommand.self, WebTokenListCommand.self, WebTokenRevokeCommand.self])
}

/// A token in the plugin's answer.
private struct WebToken: Decodable {
    var name, scope: String
    var person: String?
    var since: String
    var token: String?
}

struct WebTokenNewCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "new", abstract: "Make a token, and show it once.")

    enum Scope: String, ExpressibleByArgument, CaseIterable { case read, write, manage }

    @Argument(help: "Its name in the list.") var name: String
    @Option(help: "Its rights: read, write or manage.") var scope = Scope.read
    @Option(help: ArgumentHelp("Only this person's values; if not given, all persons'.", valueName: "name"))
    var person: String?
    @OptionGroup var web: PluginKindOptions<WebCommand>

    func run() async throws {
        let words = ["name=\(name)", "scope=\(scope.rawValue)"] + (person.map { ["person=\($0)"] } ?? [])
        guard let answer = try await web.ask("token-new", words, as: WebToken.self) else { return }
        guard let token = answer.token else {
            throw Failure(.dialogue, "web's answer has no token; check it with hub web token list")
        }
        try Output.print(token)
        Terminal.say("it is not shown again; hub web token revoke \(name) ends it")
    }
}

struct WebTokenListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "List the tokens.")

    @OptionGroup var web: PluginKindOptions<WebCommand>

    func run() async throws {
        guard let tokens = try await web.ask("token-list", as: [WebToken].self) else { return }
        guard !tokens.isEmpty else { return Terminal.say("there is no token; hub web token new NAME makes one") }
        try Output.table(["NAME", "MAY", "SEES", "SINCE"], of: tokens) { token in
            [
                token.name, token.scope, token.person.map(web.options.readingUnits().name) ?? "all",
                LocalTime.text(token.since, zone: web.zone(of: token.person)) ?? token.since,
            ]
        }
    }
}

struct WebTokenRevokeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "revoke", abstract: "End a token.")

    @Argument(help: "As the list shows it.") var name: String
    @OptionGroup var web: PluginKindOptions<WebCommand>

    func run() async throws {
        guard try await web.ask("token-revoke", ["name=\(name)"], as: AnyAnswer.self) != nil else { return }
        try Output.print("\(name) revoked")
    }
}
