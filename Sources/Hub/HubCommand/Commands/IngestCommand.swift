import ArgumentParser
import Foundation
import HealthText
import HubClient
import HubWire

struct IngestCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ingest", abstract: "Manage the tokens of phones and programs that post to the hub.",
        discussion: """
            The plugin http-ingest receives posts of Health Auto Export, Health Connect
            apps, openScale, shortcuts and curl. Each phone has its own token, which names
            its person; it is shown once and kept as a hash.

            Examples:
              hub ingest new anna-iphone
              hub ingest new kitchen --person ben --formats ble-scale-sync
              hub ingest list
              hub ingest revoke anna-iphone

            How each app is set up: Docs/Phones.md, and the page at the address that new
            prints.

            Exit codes: 0; 1 the plugin refused, or does not run; 64 it is not in hub.conf,
            or wrong arguments; 69 no hub answers; 75 the plugin or the hub is busy.
            """,
        subcommands: [IngestNewCommand.self, IngestListCommand.self, IngestRevokeCommand.self])
}

extension IngestCommand: PluginKindCommand { static let kind = "http-ingest" }

struct IngestNewCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "new", abstract: "Make a token for one phone or program, and show it once.",
        discussion: """
            A token whose name begins with a person's, such as anna-iphone, writes only for
            that person; so does one made with --person. Without a person, and if there are
            several, it belongs to no one: the hub's rules decide whose each record is, and
            records that they assign to no one wait in the inbox. For Health Auto Export
            there is a code to scan, which sets the app up.

            Examples:
              hub ingest new anna-iphone
              hub ingest new shortcuts --person anna --formats plain
              hub ingest new anna-iphone --dry-run
            """)

    @Argument(help: "The phone's name: letters, digits, . _ and -.") var name: String
    @Option(help: ArgumentHelp("The person it writes for, by either name and in any case.", valueName: "name"))
    var person: String?
    @Option(
        help: ArgumentHelp(
            "Its formats: hae, hc-webhook, openscale, ble-scale-sync, ble-scale-lines, plain, api; separate several with commas.",
            valueName: "list"))
    var formats: String?
    @Flag(help: "Make nothing; show whose token it would be.") var dryRun = false
    @OptionGroup var noQuestion: AssumeYesOption
    @OptionGroup var ingest: PluginKindOptions<IngestCommand>

    func run() async throws {
        var words = ["name=\(name)"]
        if let person { words.append("person=\(person)") }
        if let formats { words.append("formats=\(formats)") }
        let answer = try await ingest.ask("new", words, isDryRun: dryRun, as: NewIngestToken.self)
        if let answer { try Output.print(lines(answer)) }
    }

    /// The person it writes for, and the consequences if there is none.
    private func owner(_ answer: NewIngestToken) -> [String] {
        if let person = answer.person {
            let both = answer.displayName.map { $0 == person ? person : "\($0) (\(person))" } ?? person
            return ["It writes for \(both) alone: a post that names someone else is refused."]
        }
        let plugin = ingest.plugin == "http-ingest" ? "" : " --plugin \(ingest.plugin)"
        let options = (formats.map { " --formats \($0)" } ?? "") + plugin
        let revoke = dryRun ? "" : "hub ingest revoke \(answer.name)\(plugin) && "
        return [
            "It belongs to no person. The hub's rules decide whose each record is. A record that they",
            "assign to no one waits in the inbox (hub inbox); a value of a day is refused. Anyone who",
            "has the token may name any person. For the phone of one person use:",
            "  \(revoke)hub ingest new \(answer.name) --person \(answer.meant ?? "NAME")\(options)",
        ]
    }

    private func lines(_ answer: NewIngestToken) -> [String] {
        let note = owner(answer) + (answer.note.map { ["note: \($0)"] } ?? [])
        let whose = answer.person.map { "for \(answer.displayName ?? $0)" } ?? "of no person"
        guard let token = answer.token else { return ["would make the token \(answer.name), \(whose)"] + note }
        var lines = [
            "\(answer.name), \(whose)", "", "address  \(answer.address)", "header   Authorization: Bearer \(token)", "",
            "It is shown only this once. \(answer.address)/ explains how to set up each app.",
        ]
        lines += [""] + note
        if answer.isLocal {
            lines += [
                "", "Only this machine reaches that address. For a phone set address, and the settings it needs",
                "(Docs/Phones.md), in [plugin.\(ingest.plugin)] of hub.conf; then revoke this token and make it again.",
            ]
        } else if let qr = answer.qr {
            lines += ["", "Health Auto Export: scan this with the camera, and the automation is there.", ""] + qr
        }
        return lines
    }
}

struct IngestListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the tokens, with their persons and when each was last used.",
        discussion: """
            Examples:
              hub ingest list
              hub ingest list --json | jq '.[].name'
            """)

    @OptionGroup var ingest: PluginKindOptions<IngestCommand>

    func run() async throws {
        guard let entries = try await ingest.ask("list", as: [IngestToken].self) else { return }
        guard !entries.isEmpty else { return Terminal.say("there are no tokens; hub ingest new NAME makes one") }
        let units = ingest.options.readingUnits()
        try Output.table(["NAME", "PERSON", "SENDS", "MADE", "LAST SEEN"], of: entries) { entry in
            let zone = ingest.zone(of: entry.person)
            return [
                entry.name, entry.person.map(units.name) ?? "-",
                entry.formats.isEmpty ? "all" : entry.formats.joined(separator: ","),
                entry.made.map { LocalTime.text($0, zone: zone) ?? $0 } ?? "in hub.conf",
                entry.lastSeen.map { LocalTime.text($0, zone: zone) ?? $0 } ?? "not since the plugin's start",
            ]
        }
    }
}

struct IngestRevokeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke", abstract: "End a token; the records that it sent stay.",
        discussion: """
            A post that is under way ends with it.

            Examples:
              hub ingest revoke anna-iphone
            """)

    @Argument(help: "The token's name, as hub ingest list shows it.") var name: String
    @OptionGroup var ingest: PluginKindOptions<IngestCommand>

    func run() async throws {
        guard try await ingest.ask("revoke", ["name=\(name)"], as: AnyAnswer.self) != nil else { return }
        try Output.print("\(name) is revoked; hub ingest new \(name) makes another one")
    }
}
