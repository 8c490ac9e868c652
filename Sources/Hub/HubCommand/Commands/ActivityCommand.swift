import ArgumentParser
import Foundation
import HealthText
import HubClient
import HubSettings
import HubWire
import Samples

struct ActivityCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "activity",
        abstract: "Show the rings of each day: energy, exercise and stand hours, with their goals.",
        discussion: """
            A day shows its source's summary (a record of type activitySummary): values,
            goals, and how much of a goal is reached. If several sources have one, the
            best source counts (hub sources activitySummary).

            A day without a summary shows the sums of its samples, marked "computed":
            activeEnergyBurned, appleMoveTime and appleExerciseTime as in hub stats, and
            the number of hours with an appleStandHour "stood". Such days have no goals,
            because samples have none. Days without summary and samples are left out.

            Examples:
              hub activity
              hub activity --person anna --from 2026-03-01 --to 2026-03-31
              hub activity --from 1y --csv > rings.csv
              hub activity --json | jq -r '[.date, .appleStandHours.value] | @tsv'

            --from and --to are as in hub samples, both days included, by the person's
            zone. Without --from the last 7 days are shown. --json and --csv have every
            digit, in the units of the source.

            Exit codes: 0, also when there is none; 64 no such person; 69 no hub answers.
            """)

    @Option(help: ArgumentHelp("The person; needed if hub.conf has several persons.", valueName: "name"))
    var person: String?
    @Option(help: ArgumentHelp("From this day on.", valueName: "when"), transform: DateArgument.parsed)
    var from: DateArgument?
    @Option(help: ArgumentHelp("Up to this day.", valueName: "when"), transform: DateArgument.parsed)
    var to: DateArgument?
    @Flag(help: "A JSON object per day.") var json = false
    @Flag(help: "For spreadsheets (RFC 4180).") var csv = false
    @OptionGroup var options: ConfigurationOptions

    private static let usualDays = 7

    func validate() throws {
        if json, csv { throw ValidationError("--json and --csv exclude each other.") }
    }

    func run() throws {
        let door = try options.door("activity")
        let welcome = try door.open()
        let name = try person.map { typed in welcome.persons.named(typed)?.name ?? typed } ?? welcome.onlyPerson().name
        let clock = try welcome.clock(of: [name])
        let range = try range(by: clock)
        let (days, advice) = try ActivityQuery(person: name, range: range, zone: clock.zone.identifier, door: door)
            .days()
        for line in advice { Terminal.say(line) }
        var output = Output()
        if json {
            for day in days { try output.json(Array(day.json(person: name).utf8)[...]) }
        } else if csv {
            for line in ActivityDay.csv(days, person: name) { try output.json(Array(line.utf8)[...]) }
        } else if days.isEmpty {
            Terminal.say(
                "no activity from \(range.lowerBound.text) to \(range.upperBound.text); --from and --to ask for other days"
            )
        } else {
            for line in ActivityText(units: options.readingUnits(), person: name).lines(
                days, colours: Terminal.hasColours)
            {
                try output.line(line)
            }
        }
        try output.flush()
    }

    /// The days of the question, by the person's clock.
    func range(by clock: PersonClock) throws(Failure) -> ClosedRange<LocalDate> {
        let last = to?.lastDay(by: clock) ?? clock.today
        let first = from?.day(by: clock) ?? last.adding(days: 1 - Self.usualDays)
        guard first <= last else {
            throw Failure(.usage, "--from \(from?.text ?? "") is after --to \(to?.text ?? "today")")
        }
        return first...last
    }
}
