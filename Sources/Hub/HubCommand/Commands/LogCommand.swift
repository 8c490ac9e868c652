import ArgumentParser
import Foundation
import HealthText
import HubClient
import HubWire
import Samples

struct LogCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "log", abstract: "Enter a value of your own: a weight, a meal, a workout, a night's sleep.",
        discussion: """
            The record is stored like a scale's, under the source hand, and reaches
            listeners and sinks. If a value is far from the last one, the command asks, or
            needs --yes without a terminal: more than a third for a weight, height or
            waist, more than three times for others. Amounts that are added up, such as
            water or steps, are not compared. No value is dropped. Each entry is a new
            record, unless --key says that it is the same one again. To take a mistake
            back: hub retract NUMBER, as the answer says.

            Examples:
              hub log weight 80.4kg
              hub log weight 12st 8lb --at 'yesterday 7:30' --person anna
              hub log height 5ft10in
              hub log body fat 18.2
              hub log bloodPressure 120/80 --note 'after coffee'
              hub log steps 5000 --from 8:00 --to 9:15
              hub log sleep --from 'yesterday 23:10' --to 7:05
              hub log food 'Ham Sandwich' 350kcal --protein 12g
              hub log food Muesli 400kcal --with 'dietaryIron 2mg' --at 7:30
              hub log swim 30min --energy 300kcal --distance 1km
              hub log run 25min --from 7:00 --to 7:30      25 minutes without the pauses
              hub log insulinDelivery 4IU --metadata insulinDeliveryReason=bolus
              hub log weight 80.4kg --at 2024-03-15T07:30:00+01:00 --key 2024-03-15 --json

            A food with more than its energy, and a workout with measurements, are a group
            of records: stored together, and taken back together by the number of the
            first. A workout without --at or --from ends now.

            A unit stands after its number, with a space or without; a number without one
            is in the unit in which the person reads it (hub types has them). A comma is a
            decimal comma unless it could separate thousands: 80,4kg is read, 1,250 is not.

            Times are in the person's zone (hub.conf): a time of day, a day and a time
            ("last monday 7:30", "15.3.2024 7:30", "8am yesterday"), one with an offset, a
            span back from now (90min, 2h, "2 hours ago"), or now, the default of --at. A
            day alone means its noon. A time that the clocks skipped is refused; if it came
            twice, the command asks which.

            Exit codes: 0; 1 it was refused, or the answer was no; 64 an argument is not a
            value, type, time or person, or --yes is missing without a terminal;
            69 no hub answers.
            """)

    @Argument(help: "The type, as in hub samples; food; or an activity, such as swim.") var type: String
    @Argument(help: "The value, with its unit; a food's name and energy; how long an activity lasted.")
    var value: [String] = []
    @OptionGroup var more: EntryOptions
    @Option(
        help: ArgumentHelp("When; now if not given.", valueName: "when"), transform: LogCommand.moment)
    var at: MomentArgument?
    @Option(help: ArgumentHelp("The beginning of an interval.", valueName: "when"), transform: LogCommand.moment)
    var from: MomentArgument?
    @Option(help: ArgumentHelp("Its end.", valueName: "when"), transform: LogCommand.moment) var to: MomentArgument?
    @Option(help: ArgumentHelp("The person; needed if hub.conf has several persons.", valueName: "name"))
    var person: String?
    @Option(help: ArgumentHelp("A remark, kept with the record.", valueName: "text")) var note: String?
    @Option(
        help: ArgumentHelp("The same key again is the same entry: for scripts that may run twice.", valueName: "key"))
    var key: String?
    @Flag(help: "Change nothing; show what would be stored.") var dryRun = false
    @Flag(help: "Do not ask about unlikely values.") var yes = false
    @Flag(help: "One JSON document: {\"records\":[{\"number\",\"outcome\",\"record\",…}]}.") var json = false
    @OptionGroup var options: ConfigurationOptions

    static func moment(_ text: String) throws -> MomentArgument {
        guard let moment = MomentArgument(text) else {
            throw ValidationError("'\(text)' is none of: \(MomentArgument.forms)")
        }
        return moment
    }

    func validate() throws {
        if at != nil, from != nil || to != nil { throw ValidationError("--at and --from exclude each other.") }
        if (from == nil) != (to == nil) { throw ValidationError("An interval has both --from and --to.") }
    }

    func run() throws {
        let units = options.readingUnits()
        let entry = try entry(for: units[person])
        // Check the metadata before asking the hub: its faults do not depend on a hub.
        _ = try Failure.entryValue { () throws(EntryError) in try entry.metadata() }
        let door = try options.door("log")
        let welcome = try door.open()
        let owner = try owner(welcome)
        let clock = try Failure.entryValue { () throws(EntryError) in
            try PersonClock(zone: owner.zone, now: welcome.time.microseconds)
        }
        let arguments = try arguments(entry, owner.name, clock)
        let expected = try door.hand(OwnCommands.Log.self, arguments, isDryRun: true)
        try expected.refuseRejections()
        let doubts = doubts(about: expected, now: clock.now)
        for doubt in doubts { Terminal.complain(doubt) }
        if dryRun { return try tell(expected) }
        if !doubts.isEmpty {
            let values = expected.entries.compactMap(\.record).map { ValueText.text($0, units) }
            try ConsentPrompt.ask("Enter \(values.joined(separator: ", ")) anyway?", about: [], isGiven: yes)
        }
        let done = try door.hand(OwnCommands.Log.self, arguments, isDryRun: false)
        try done.refuseRejections(isDone: true)
        try tell(done)
    }

    private func entry(for reader: DisplayPreferences) throws -> ManualEntry {
        let (type, value) = ManualEntry.typeAndValue([type] + value)
        // A missing duration is a mistake in every case.
        let id = EverydayNames.type(type)?.id
        if id == .sleepAnalysis, from == nil {
            throw Failure(.usage, "sleep has a beginning and an end: hub log sleep --from 'yesterday 23:10' --to 7:05")
        }
        if id == .mindfulSession, value.isEmpty, from == nil {
            throw Failure(.usage, "how long did it last? Such as hub log meditation 10min")
        }
        do {
            let words = try PercentPrompt.answered(value, of: EverydayNames.type(type))
            return try ManualEntry(type, words, more, for: reader)
        } catch {
            // After an activity, a time span is its duration, not how long ago it was.
            let isActivity = WorkoutActivity.meant(by: type) != nil
            guard at == nil, from == nil, let time = ManualEntry.time(behind: value),
                !isActivity || MomentArgument.span(time.joined(separator: " ")) == nil
            else { throw error }
            let words = [type] + value.dropLast(time.count) + ["--at", time.joined(separator: " ")]
            let whose = person.map { ["--person", $0] } ?? []
            let command = (words + whose).map(OwnerEndpoints.quoted).joined(separator: " ")
            throw Failure(.usage, "the time goes behind --at: hub log \(command)")
        }
    }

    private func doubts(about answer: ManualAnswer, now: Int64) -> [String] {
        let units = options.readingUnits()
        let doubts = TypoCheck.about(answer, now: now) { units[$0] }
        guard key == nil, let number = TypoCheck.repeated(in: answer) else { return doubts }
        return doubts + ["record \(number) says the same; hub edit \(number) corrects it"]
    }

    private func owner(_ welcome: Welcome) throws(Failure) -> Welcome.PersonEntry {
        guard let person else { return try welcome.onlyPerson() }
        return try welcome.person(person)
    }

    private func arguments(
        _ entry: ManualEntry, _ person: String, _ clock: PersonClock
    ) throws(Failure) -> [String: SettingValue] {
        let end = try to.map { argument throws(Failure) in try clock.moment(argument, takesDay: false).time }
        let (start, zone) = try begin(before: end, clock)
        let times = EntryTimes(start, zone: zone, end: end, isStart: at != nil, isInterval: from != nil)
        return try Failure.entryValue { () throws(EntryError) in
            try entry.arguments(times, of: person, by: clock, note: note, key: key)
        }
    }

    /// The time of its start: a time of day together with an end is the last such time before that end.
    private func begin(before end: Timestamp?, _ clock: PersonClock) throws(Failure) -> (Timestamp, String?) {
        guard let from else { return try clock.moment(at ?? LogCommand.now, takesDay: true) }
        guard from.isTimeOfDay, let end, let night = MomentArgument("yesterday \(from.text)") else {
            return try clock.moment(from, takesDay: false)
        }
        let then = try Failure.entryValue { () throws(EntryError) in
            try PersonClock(zone: clock.zone.identifier, now: end.microseconds)
        }
        let isSameDay = from.border(by: then).microseconds < end.microseconds
        return try then.moment(isSameDay ? from : night, takesDay: false)
    }

    private static let now: MomentArgument = {
        guard let now = MomentArgument("now") else { preconditionFailure("now is a moment") }
        return now
    }()

    private func tell(_ answer: ManualAnswer) throws {
        if json { return try Output.json(answer.text) }
        let units = options.readingUnits()
        var table = RecordText.table()
        for entry in answer.entries {
            if let record = entry.record {
                table.add(RecordText(record, units).cells)
            } else {
                try Output.print("\(entry.number) was entered before")
            }
        }
        if answer.entries.contains(where: { $0.record != nil }) { try Output.print(table.takeLines()) }
        if let at, at.isDay { Terminal.say("\(at.text) has no time of day: it counts as noon, or as now") }
        if dryRun { return Terminal.say("nothing was stored") }
        let stored = answer.entries.filter { $0.record != nil }
        guard let first = stored.first else { return }
        Terminal.say(
            "hub retract \(first.number) takes \(stored.count == 1 ? "it" : "all \(stored.count) of them") back")
    }
}
