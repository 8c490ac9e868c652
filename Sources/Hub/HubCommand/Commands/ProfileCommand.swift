import ArgumentParser
import Foundation
import HealthText
import HubClient
import HubWire
import Samples

struct ProfileCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "profile", abstract: "Show or enter facts about people: age, sex, blood type and the like.",
        discussion: """
            sex and birth_date come from [person.NAME] of hub.conf. All other facts, and
            these if hub.conf lacks them, are records: of a source, or entered here. Of
            several the one with the latest start counts. "not set" is an answer, too: the
            hub invents no fact about a body.

            An option enters a record, as hub log does, and hub retract takes it back.

            Examples:
              hub profile                              everyone's
              hub profile anna --on 2030-01-01         how old she will be
              hub profile anna --blood-type A+ --wheelchair no
              hub profile anna --skin-type not-set
              hub profile --json | jq 'select(.age >= 65) | .person'

            Ages are in years of the calendar, today by the person's zone. A person born
            on 29 February is a year older on 1 March of a year without that day.

            Exit codes: 0; 1 it was refused; 64 an argument is not a value, date or person,
            or hub.conf has the fact; 69 no hub answers.
            """)

    @Argument(help: "The person; all if not given.") var name: String?
    @Option(help: ArgumentHelp("The day of the age; today if not given.", valueName: "date"), transform: Self.date)
    var on: LocalDate?
    @Option(help: ArgumentHelp("A date such as 1984-05-06.", valueName: "date")) var birthDate: String?
    @Option(help: ArgumentHelp("female, male, other.", valueName: "sex")) var sex: String?
    @Option(help: ArgumentHelp("A+, A-, B+, B-, AB+, AB-, O+, O-.", valueName: "type")) var bloodType: String?
    @Option(help: ArgumentHelp("Fitzpatrick's, I to VI.", valueName: "type")) var skinType: String?
    @Option(help: ArgumentHelp("Whether a wheelchair is used: yes, no.", valueName: "use")) var wheelchair: String?
    @Option(help: ArgumentHelp("active-energy, move-time.", valueName: "mode")) var moveMode: String?
    @Flag(help: "Change nothing; check whether it could be stored.") var dryRun = false
    @OptionGroup var noQuestion: AssumeYesOption
    @Flag(
        help:
            "A JSON object a line: {\"person\",\"uid\",\"on\",\"age\",\"characteristics\":{TYPE:{\"value\",\"from\",…}}}."
    )
    var json = false
    @OptionGroup var options: ConfigurationOptions

    static func date(_ text: String) throws -> LocalDate {
        guard let date = LocalDate(typed: text) else {
            throw ValidationError("'\(text)' is not a date such as 2030-01-01 or 1.1.2030")
        }
        return date
    }

    /// The values to enter: for each type, a value in the type's words.
    private func requestedValues() throws(Failure) -> [(type: TypeID, value: String)] {
        let typed: [(TypeID, String?)] = [
            (.dateOfBirth, birthDate), (.biologicalSex, sex), (.bloodType, bloodType),
            (.fitzpatrickSkinType, skinType), (.wheelchairUse, wheelchair), (.activityMoveMode, moveMode),
        ]
        var requestedValues: [(type: TypeID, value: String)] = []
        for case (let type, let text?) in typed {
            requestedValues.append((type, try ProfileWords.value(text, of: type)))
        }
        return requestedValues
    }

    func run() throws {
        let requestedValues = try requestedValues()
        let door = try options.door("profile")
        let welcome = try door.open()
        var persons = try persons(door)
        if !requestedValues.isEmpty {
            guard persons.count == 1, let person = persons.first else {
                throw Failure(
                    .usage,
                    persons.isEmpty
                        ? "hub.conf has no person; hub configure --person NAME locale=en_GB adds one"
                        : "several persons are possible; name one of: \(persons.map(\.name).joined(separator: ", "))")
            }
            if try enter(requestedValues, of: person, door) { persons = try self.persons(door) }
        }
        let units = options.readingUnits()
        var table = ProfileText.table()
        for person in persons {
            let profile = try ProfileReport(person, on: on, now: welcome.time)
            if json {
                try Output.json(try JSON.line(profile))
            } else {
                for row in ProfileText.rows(profile, units[person.name]) { table.add(row) }
            }
        }
        if !json { try Output.print(table.takeLines()) }
    }

    /// All persons of `hub.conf`, or the one that `name` selects, even if `hub.conf` no longer has that person.
    private func persons(_ door: DoorClient) throws -> [HubStatus.PersonStatus] {
        let all = try door.ask(.persons, as: [HubStatus.PersonStatus].self)
        guard let name else { return all.filter { $0.zone != nil } }
        guard let person = all.named(name) else {
            throw Failure(.usage, "hub.conf has no person \(Terminal.cut(name)); \(all.advice(on: name))")
        }
        return [person]
    }

    private struct Entry: Encodable { let type, name, person: String }

    /// - Returns: whether anything was entered.
    private func enter(
        _ requestedValues: [(type: TypeID, value: String)], of person: HubStatus.PersonStatus, _ door: DoorClient
    ) throws -> Bool {
        var entries: [Entry] = []
        for (type, value) in requestedValues {
            let known = person.characteristics?[type.rawValue]
            if known?.from == .configuration {
                let key = type == .dateOfBirth ? "birth_date" : "sex"
                throw Failure(
                    .usage,
                    "hub.conf says it: change \(key) in [person.\(person.name)], then hub apply; nothing was entered")
            }
            if known?.from == .record, known?.value ?? ProfileWords.notSet == value {
                Terminal.say("\(ProfileWords.title(type)): it is so already")
            } else {
                entries.append(Entry(type: type.rawValue, name: value, person: person.name))
            }
        }
        // Check all entries first, so that either all are stored or none.
        for entry in entries { try door.hand(OwnCommands.Log.self, entry, isDryRun: true).refuseRejections() }
        if dryRun {
            Terminal.say("nothing was stored")
            return false
        }
        for entry in entries {
            let done = try door.hand(OwnCommands.Log.self, entry, isDryRun: false)
            try done.refuseRejections(isDone: true)
            for number in done.entries.map(\.number) {
                Terminal.say("\(number) was entered; hub retract \(number) takes it back")
            }
        }
        return !entries.isEmpty
    }
}
