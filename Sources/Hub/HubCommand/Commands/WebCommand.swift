import ArgumentParser
import Foundation
import HealthText
import HubClient
import HubWire

struct WebCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "web", abstract: "Make a link to log in to the hub's page in a browser.",
        discussion: """
            The plugin web serves pages with the values of each person, and with the state
            of the hub and its plugins. A browser logs in with a link, which is good for
            one log-in within ten minutes; the browser stays logged in until thirty days
            after its last use. For browsers of this machine the link has a name below
            .localhost that no other program knows. Safari does not find such names: open
            the second link there. While there is no hub.conf, the link leads to the page
            on which you set the hub up.

            Examples:
              hub web
              hub web --open
              hub web --person anna        a link for anna, with only her own values
              hub web sessions
              hub web end afe03a64         logs one browser out; without a name, all
              hub web token new backup     a token by which a program reads the API

            Exit codes: 0; 1 the plugin refused, or does not run; 64 it is not in hub.conf,
            or wrong arguments; 69 no hub answers; 75 the plugin or the hub is busy.
            """,
        subcommands: [
            WebLinkCommand.self, WebSessionsCommand.self, WebEndCommand.self, WebTokenCommand.self,
        ],
        defaultSubcommand: WebLinkCommand.self)
}

extension WebCommand: PluginKindCommand { static let kind = "web" }

struct WebLinkCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "link", abstract: "Make a link by which a browser logs in, once.")

    @Option(
        help: ArgumentHelp(
            "Log in this person, who sees only their own values; if not given, you log in and see all values.",
            valueName: "name"))
    var person: String?
    @Flag(help: "Open it in the browser of this machine.") var open = false
    @OptionGroup var web: PluginKindOptions<WebCommand>

    private struct Link: Decodable {
        var url: String
        /// An address for browsers that cannot resolve the name in `url`, such as Safari.
        var plain: String?
        var until: String
    }

    func run() async throws {
        let words = person.map { ["person=\($0)"] } ?? []
        guard let link = try await web.ask("link", words, as: Link.self) else { return }
        try Output.print(link.url)
        let until = LocalTime.text(link.until, zone: web.zone(of: person)) ?? link.until
        Terminal.say("good for one log-in until \(until)\(person.map { ", to see \($0)'s values" } ?? "")")
        if let plain = link.plain { Terminal.say("for Safari, which does not find such a name: \(plain)") }
        guard open else { return }
        let opener = Process.silent("xdg-open", [link.url])
        try? opener.run()
        opener.waitUntilExit()
        guard opener.terminationStatus == 0 else {
            throw Failure(.system, "no browser could be opened here; open the link yourself, or from another machine")
        }
    }
}

struct WebSessionsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sessions", abstract: "List the browsers that are logged in.")

    @OptionGroup var web: PluginKindOptions<WebCommand>

    private struct Session: Decodable {
        var session: String
        var person: String?
        var since, until: String
    }

    func run() async throws {
        guard let sessions = try await web.ask("sessions", as: [Session].self) else { return }
        guard !sessions.isEmpty else { return Terminal.say("no browser is logged in; hub web makes a link") }
        let units = web.options.readingUnits()
        try Output.table(["SESSION", "SEES", "SINCE", "UNTIL"], of: sessions) { session in
            let zone = web.zone(of: session.person)
            return [
                session.session, session.person.map(units.name) ?? "all",
                LocalTime.text(session.since, zone: zone) ?? session.since,
                LocalTime.text(session.until, zone: zone) ?? session.until,
            ]
        }
    }
}

struct WebEndCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "end", abstract: "Log browsers out.")

    @Argument(help: "The session, as hub web sessions shows it; if not given, all.") var session: String?
    @OptionGroup var web: PluginKindOptions<WebCommand>

    private struct Ended: Decodable { var ended: Int }

    func run() async throws {
        let words = session.map { ["session=\($0)"] } ?? []
        guard let answer = try await web.ask("end", words, as: Ended.self) else { return }
        try Output.print("\(NumberText.count(answer.ended, "browser")) logged out")
    }
}
