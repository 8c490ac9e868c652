import ArgumentParser
import Foundation
import HealthText
import HubClient
import HubWire

struct WebCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "web",
        abstract: "Make a link to log in to the hub's page in a browser.",
        discussion: """
            The plugin web serves pages with the values of each person, and with the state
            of the hub and its plugins. A browser logs in with a link, which is good for
            one log-in within ten minutes; the browser stays logged in until thirty days
            after its last use. For browsers of this machine the link has a name below
            .localhost that no other program knows. Safari does not find such names: open
            the second link there.

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

/// The choice between several plugins of this kind.
struct WebOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The plugin, as hub.conf names it.", valueName: "name"))
    var plugin = "web"
    @OptionGroup var options: ConfigurationOptions
    @Flag(help: "One JSON document.")
    var json = false

    /// The zone for a person's moments.
    func zone(of person: String?) -> TimeZone { options.readingUnits()[person].zone ?? .current }

    /// Asks the plugin and returns its answer.
    func ask(_ command: String, _ words: [String] = []) async throws -> RawJSON {
        try await options.ask(plugin, command, words, of: "web")
    }
}

struct WebLinkCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "link", abstract: "Make a link by which a browser logs in, once.")

    @Option(
        help: ArgumentHelp(
            "Log in this person, who sees only their own values; if not given, you log in and see all values.",
            valueName: "name"))
    var person: String?
    @Flag(help: "Open it in the browser of this machine.")
    var open = false
    @OptionGroup var web: WebOptions

    private struct Link: Decodable {
        var url: String
        /// An address for browsers that cannot resolve the name in `url`, such as Safari.
        var plain: String?
        var until: String
    }

    func run() async throws {
        let answer = try await web.ask("link", person.map { ["person=\($0)"] } ?? [])
        if web.json { return try Output.json(answer.text) }
        let link = try JSON.answer(Link.self, answer)
        try Output.print(link.url)
        let until = LocalTime.text(link.until, zone: web.zone(of: person)) ?? link.until
        Terminal.say("good for one log-in until \(until)\(person.map { ", to see \($0)'s values" } ?? "")")
        if let plain = link.plain { Terminal.say("for Safari, which does not find such a name: \(plain)") }
        guard open else { return }
        let opener = Process()
        opener.executableURL = URL(filePath: "/usr/bin/env")
        opener.arguments = ["xdg-open", link.url]
        (opener.standardOutput, opener.standardError) = (FileHandle.nullDevice, FileHandle.nullDevice)
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

    @OptionGroup var web: WebOptions

    private struct Session: Decodable {
        var session: String
        var person: String?
        var since, until: String
    }

    func run() async throws {
        let answer = try await web.ask("sessions")
        if web.json { return try Output.json(answer.text) }
        let sessions = try JSON.answer([Session].self, answer)
        guard !sessions.isEmpty else { return Terminal.say("no browser is logged in; hub web makes a link") }
        let units = web.options.readingUnits()
        var table = Table([("SESSION", .left), ("SEES", .left), ("SINCE", .left), ("UNTIL", .left)])
        for session in sessions {
            let zone = web.zone(of: session.person)
            table.add([
                session.session, session.person.map(units.name) ?? "all",
                LocalTime.text(session.since, zone: zone) ?? session.since,
                LocalTime.text(session.until, zone: zone) ?? session.until,
            ])
        }
        for line in table.takeLines() { try Output.print(line) }
    }
}

struct WebEndCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "end", abstract: "Log browsers out.")

    @Argument(help: "The session, as hub web sessions shows it; if not given, all.")
    var session: String?
    @OptionGroup var web: WebOptions

    private struct Ended: Decodable { var ended: Int }

    func run() async throws {
        let answer = try await web.ask("end", session.map { ["session=\($0)"] } ?? [])
        if web.json { return try Output.json(answer.text) }
        let ended = try JSON.answer(Ended.self, answer).ended
        try Output.print("\(NumberText.count(ended, "browser")) logged out")
    }
}
