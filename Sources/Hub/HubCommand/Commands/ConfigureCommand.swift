import ArgumentParser
import Foundation
import HealthText
import HubClient
import HubCore
import HubSettings
import HubWire

struct ConfigureCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "configure", abstract: "Change settings of a plugin or a person in hub.conf, and apply them.",
        discussion: """
            Writes into the section of one plugin; comments and all other lines of the file
            stay as they are. It changes the settings that the plugin declares (hub plugins
            NAME) and whether it is enabled. hub permissions changes grants; write other
            keys by hand. The values are checked first, also by the plugin's program; if
            one is wrong, nothing is written. If hub.conf has changes that the hub does not
            follow yet, nothing is written: hub apply first. If the plugin asks for the
            owner's rights, --enable on a terminal asks whether it may have them.

            --person NAME writes display_name, zone, locale, unit and expected_weight of a
            person, who is added if hub.conf has none of that name; to remove one, edit
            hub.conf. slots.PLUGIN is the position of a person in hub.conf on the device of
            that plugin. --hub writes the zone of the persons without their own.

            A list is key=a,b or key=a key=b. Secrets are not shown, and former ones
            neither. Better name them than type them here:
            key='${file:/run/secrets/token}'.

            Examples:
              hub configure exist poll_every=5min --dry-run   what it would restart
              hub configure exist poll_every=5min
              hub configure exist --unset poll_every          the default again
              hub configure json-lines --disable
              hub configure --person anna locale=de_DE unit=kg
              hub configure --person juergen display_name=Jürgen
              hub configure --hub zone=Europe/Berlin
              hub configure json-lines --json --enable | jq .changes

            Exit codes: 0 the hub follows (or would); 64 no such plugin or setting, or no
            name that a person can have; 65 a value is wrong, or hub.conf has errors, and
            nothing was changed; 69 no hub answers; 71 the file cannot be written, or not
            without losing something; 75 a change is under way, or hub.conf has changes
            that are not applied.
            """)

    @Argument(help: "The instance, as hub.conf names it.") var name: String?
    @Argument(help: ArgumentHelp("Settings; hub plugins NAME lists them.", valueName: "key=value"))
    var settings: [String] = []
    @Option(help: ArgumentHelp("A setting to reset to its default; may be repeated.", valueName: "key"))
    var unset: [String] = []
    @Flag(help: "Enable the plugin.") var enable = false
    @Flag(help: "Disable the plugin.") var disable = false
    @Option(help: "Configure this person, not a plugin.") var person: String?
    @Flag(help: "Configure [hub], not a plugin.") var hub = false
    @OptionGroup var options: ConfigurationOptions
    @Flag(help: "Change nothing; show what would be written and done.") var dryRun = false
    @OptionGroup var noQuestion: AssumeYesOption
    @Flag(help: "One JSON document: {\"instance\",\"applied\",\"changes\",\"revision\",\"plan\",…}.") var json = false

    func validate() throws {
        guard !(enable && disable) else { throw ValidationError("--enable and --disable exclude each other.") }
        guard person == nil || !hub else { throw ValidationError("--person and --hub exclude each other.") }
        guard concernsPlugin || !(enable || disable) else {
            throw ValidationError("Only a plugin is enabled or disabled.")
        }
        guard !concernsPlugin || name != nil else { throw ValidationError("Name a plugin, --person or --hub.") }
        guard person != nil || hub && name != nil || enable || disable || !settings.isEmpty || !unset.isEmpty else {
            throw ValidationError("Name what to change: key=value, --unset, --enable or --disable.")
        }
    }

    private var concernsPlugin: Bool { person == nil && !hub }

    func run() throws {
        // The hub runs the programs to read their manifests; one that hangs has ten seconds.
        let door = try options.door("configure", patience: .seconds(60))
        // If no plugin is meant, the first word is already a setting.
        let instance = concernsPlugin ? name : nil
        let words = (concernsPlugin ? [] : [name].compactMap(\.self)) + settings
        // An instance whose program is missing has no declarations, but can still be disabled.
        let namesSettings = !words.isEmpty || !unset.isEmpty
        let declarations =
            try instance.map { namesSettings ? try PluginEntry.named($0, door).declarations ?? [] : [] }
            ?? (hub ? [HouseholdSettings.zone] : HouseholdSettings.configuredOfPersons + Self.slots(words))
        let command = OwnCommands.Configure(
            instance: instance, person: person, hub: hub ? true : nil, enabled: enable ? true : disable ? false : nil,
            set: try Self.assignments(words, declarations), unset: unset)
        try Self.change(command, declarations, door, isDryRun: dryRun, json: json)
        if enable, !dryRun, !json, let instance { try grantOwner(to: instance, door) }
    }

    private static func slots(_ words: [String]) -> [SettingDeclaration] {
        Set(words.map { String($0.prefix { $0 != "=" }) }).sorted()
            .compactMap { HubConfiguration.configuredSlot($0)?.declaration }
    }

    /// Has the hub change its file, and prints the result.
    static func change(
        _ command: OwnCommands.Configure, _ declarations: [SettingDeclaration], _ door: DoorClient, isDryRun: Bool,
        json: Bool
    ) throws {
        let request = CommandRequest(
            id: 0, instance: "hub", command: OwnCommands.Configure.name, arguments: command.arguments,
            isDryRun: isDryRun)
        let answer = try Self.answer(try door.call(request))
        let report = try JSON.answer(ConfigureReport.self, answer)
        if json {
            try Output.json(answer.text)
        } else {
            let text = ConfigureText(report, declarations)
            try Output.print(text.lines)
            for line in text.advice { Terminal.say(line) }
        }
        if !report.applied { throw ExitCode(HubExit.badConfiguration.rawValue) }
    }

    /// Asks whether an enabled plugin may use the owner's rights, if it asks for some and has none of them.
    private func grantOwner(to instance: String, _ door: DoorClient) throws {
        let asked = try PluginEntry.named(instance, door).owner ?? []
        var file = try FollowedConfiguration(options, door)
        guard !asked.isEmpty, OwnerRight.granted(of: asked, by: file.editor.grants("owner", of: instance)).isEmpty
        else { return }
        let command = "hub permissions allow \(instance) '*' --owner"
        guard Terminal.canAsk else {
            return Terminal.say("\(instance) may not do what you may do here; \(command) allows it")
        }
        Terminal.progress("May it do what you may do here (\(asked.joined(separator: ", ")))? [Y/n] ")
        guard let answer = readLine(), answer.isEmpty || SettingAnswer.truth(answer) == true else {
            return Terminal.say("\(command) allows it later")
        }
        try file.setGrants("owner", of: instance, to: [OwnerRight.all])
        _ = try file.write()
        Terminal.say("hub permissions deny \(instance) '*' --owner takes it back")
    }

    /// Each `NAME=VALUE`, with VALUE as JSON of the declared type; the hub checks the values.
    private static func assignments(_ words: [String], _ declarations: [SettingDeclaration]) throws -> [String] {
        let values = try JSON.answer([String: SettingValue].self, try PluginCommandCall.arguments(words, declarations))
        return try values.sorted { $0.key < $1.key }.map { "\($0.key)=\(try JSON.line($0.value))" }
    }

    private static func answer(_ outcome: CommandOutcome.Content) throws(Failure) -> RawJSON {
        switch outcome {
        case .done(let result?): return result
        case .failed("changed", let reason): throw Failure(.tryAgain, "configure: \(reason)")
        case .failed("file", let reason): throw Failure(.system, "configure: \(reason)")
        case .failed(let code, let reason): throw DoorClient.failure("configure", code: code, reason)
        case .done, .ask, .cancelled:
            throw Failure(.dialogue, "configure: the hub did not report the result; look into hub.conf")
        }
    }
}

/// `hub configure` for people.
struct ConfigureText {
    let report: ConfigureReport
    private let declarations: [SettingDeclaration]

    init(_ report: ConfigureReport, _ declarations: [SettingDeclaration]) {
        (self.report, self.declarations) = (report, declarations)
    }

    /// The problems, or the written settings and their effects.
    var lines: [String] {
        guard report.applied else { return report.plan.problems.map(\.description) + ["nothing was changed"] }
        let added = report.added == true ? ["\(place) \(verb) added"] : []
        let changes = added + report.changes.map(line)
        return changes + (changes.isEmpty ? [] : ApplyText(report.plan).lines)
    }

    private var verb: String { report.dryRun ? "would be" : "is" }

    /// A plugin's name, or the header of another section.
    private var place: String { report.instance ?? report.person.map { "[person.\($0)]" } ?? "[hub]" }

    private func line(_ change: ConfigureReport.Change) -> String {
        if change.secret == true {
            return "\(place): \(change.name) \(verb) changed; it was \(change.wasSet == true ? "" : "not ")set"
        }
        func shown(_ value: SettingValue?) -> String { value.map(SettingAnswer.text) ?? "not in the file" }
        return "\(place): \(change.name) \(verb) \(shown(change.after)); it was \(shown(change.before))"
    }

    /// The advice on the next command.
    var advice: [String] {
        guard report.applied else { return [] }
        if report.changes.isEmpty, report.added != true { return ["it is so already; nothing was changed"] }
        if report.dryRun { return ["nothing was changed"] }
        if report.added == true { return ["to undo this, remove \(place) from hub.conf, then hub apply"] }
        let words = report.changes.compactMap(undo)
        guard words.count == report.changes.count else {
            let lost = report.changes.filter { undo($0) == nil }.map(\.name).joined(separator: ", ")
            return ["no command restores the former value of \(lost)"]
        }
        let target = report.instance ?? report.person.map { "--person \($0)" } ?? "--hub"
        return ["hub configure \(target) \(words.joined(separator: " ")) takes it back"]
    }

    private func undo(_ change: ConfigureReport.Change) -> String? {
        guard change.secret != true || change.wasSet == false else { return nil }
        guard let before = change.before else { return "--unset \(change.name)" }
        if change.name == "enabled" { return before.boolean == true ? "--enable" : "--disable" }
        let texts = (before.list ?? [before]).map(SettingAnswer.text)
        // The typed form would mean another value if a list element contains a comma, or if a path is relative to the folder of hub.conf.
        if before.list != nil, texts.contains(where: { $0.contains(",") }) { return nil }
        switch declarations.first(where: { $0.name == change.name })?.type {
        case .path?, .list(of: .path)?: if texts.contains(where: SettingAnswer.isRelative) { return nil }
        default: break
        }
        return "\(change.name)=\(texts.joined(separator: ","))".quotedForShell
    }
}

extension String {
    /// The text quoted for a shell, if needed.
    fileprivate var quotedForShell: String {
        wholeMatch(of: /[A-Za-z0-9_.\/:,=@%+\-]+/) == nil ? "'\(replacing("'", with: "'\\''"))'" : self
    }
}
