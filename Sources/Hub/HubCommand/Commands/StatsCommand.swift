import ArgumentParser
import Foundation
import HealthText
import HubClient
import HubSettings
import HubWire
import Samples

struct StatsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stats", abstract: "Sums, averages, least and greatest: by hour, day, week, month or year.",
        discussion: """
            Types that are added up, such as steps, show the sum; a walk that both a phone
            and a watch counted counts once. Other types, such as weight, show the average,
            the least and the greatest. Docs/Statistics.md explains each figure.

            Examples:
              hub stats weight --by month --from 5y
              hub stats stepCount --by day --from 4w --per-source
              hub stats heartRate --by hour --on yesterday
              hub stats stepCount --by week --week-from sunday
              hub stats weight --person anna               all there is, in one line
              hub stats stepCount --by month --csv > steps.csv
              hub stats heartRate --figure maximum --figure mostRecent --on today

            Days, weeks and months are those of the person's zone (hub.conf), or of --zone.
            Weeks begin as the person's locale has it (hub.conf, else this machine's): on
            Monday in de_DE, Sunday in en_US, Saturday in ar_EG; --week-from names another
            day. --from, --to and --on are as in hub samples. An interval without records
            is empty, not zero. Days that a [retention.NAME] of hub.conf has thinned do not
            count: the output has their number, and the hub days command that shows them.

            Exit codes: 0, also when there is none; 64 no such type, person, zone or
            figure; 69 no hub answers.
            """)

    @Argument(help: "The type, or another name of it.") var type: String
    @Option(help: ArgumentHelp("A line for each hour, day, week, month or year.", valueName: "unit")) var by: Unit?
    @Option(help: ArgumentHelp("Combine n units into one line, with --by.", valueName: "n")) var every = 1
    @Option(help: ArgumentHelp("The person; needed if hub.conf has several persons.", valueName: "name"))
    var person: String?
    @Option(help: ArgumentHelp("From this time on.", valueName: "when"), transform: DateArgument.parsed)
    var from: DateArgument?
    @Option(help: ArgumentHelp("Up to the end of this.", valueName: "when"), transform: DateArgument.parsed)
    var to: DateArgument?
    @Option(help: ArgumentHelp("Only this, such as yesterday.", valueName: "when"), transform: DateArgument.parsed)
    var on: DateArgument?
    @Option(help: ArgumentHelp("Only from plugins of this kind; may be repeated.", valueName: "kind"))
    var source: [String] = []
    @Option(
        help: ArgumentHelp(
            "sum, duration, average, minimum, maximum or mostRecent, as they fit the type; may be repeated.",
            valueName: "name"), transform: StatisticsFigure.named)
    var figure: [StatisticsFigure] = []
    @Flag(help: "Also show each source separately.") var perSource = false
    @Option(
        help: ArgumentHelp("The zone in which days begin, such as Europe/Berlin.", valueName: "zone"),
        transform: ZoneArgument.zone)
    var zone: String?
    @Option(help: ArgumentHelp("With --by week: the day with which weeks begin.", valueName: "day"))
    var weekFrom: Weekday?
    @Flag(help: "One JSON document, with every digit: as in Docs/Protocol.md, 8.4.") var json = false
    @Flag(help: "For spreadsheets (RFC 4180), with every digit.") var csv = false
    @OptionGroup var options: ConfigurationOptions

    enum Unit: String, ExpressibleByArgument, CaseIterable {
        case hour, day, week, month, year

        fileprivate var onTheWire: StatisticsInterval.Unit {
            switch self {
            case .hour: .hour
            case .day: .day
            case .week: .week
            case .month: .month
            case .year: .year
            }
        }
    }

    enum Weekday: String, ExpressibleByArgument, CaseIterable {
        case monday, tuesday, wednesday, thursday, friday, saturday, sunday

        init?(_ day: Locale.Weekday) {
            let days: [Locale.Weekday] = [.monday, .tuesday, .wednesday, .thursday, .friday, .saturday, .sunday]
            guard let place = days.firstIndex(of: day) else { return nil }
            self = Self.allCases[place]
        }

        /// The first midnight of that weekday in 2001, in a zone; `nil` if the machine does not know the zone.
        func anchor(zone: String) -> Timestamp? {
            guard let days = Intervals(.day, zone: zone), let place = Self.allCases.firstIndex(of: self) else {
                return nil
            }
            return days.local(days.border(place))
        }
    }

    func validate() throws {
        if json, csv { throw ValidationError("--json and --csv exclude each other.") }
        if on != nil, from != nil || to != nil { throw ValidationError("--on excludes --from and --to.") }
        guard StatisticsInterval.counts.contains(Int64(every)) else {
            throw ValidationError("--every takes a number from 1 to 10000.")
        }
        if by == nil, every != 1 || zone != nil { throw ValidationError("--every and --zone need --by: day, say.") }
        if by != .week, weekFrom != nil { throw ValidationError("--week-from needs --by week.") }
    }

    func run() throws {
        let type = try TypeArgument.resolved([type])[0]
        let door = try options.door("stats")
        let welcome = try door.open()
        if person == nil, !welcome.persons.isEmpty { _ = try welcome.onlyPerson() }
        let units = options.readingUnits()
        let clock = try clock(welcome)
        var query = try query(type, by: clock)
        if by == .week {
            let whose = person.map { welcome.persons.named($0) } ?? welcome.persons.first
            query.interval?.anchor = try anchor(
                whose?.locale.flatMap(DisplayPreferences.locale).map { DisplayPreferences(locale: $0) }
                    ?? units[whose?.name], zone: clock.zone.identifier)
        }
        let answer = try StatsAnswer(query, door)
        if !json, let advice = try answer.statistics().thinnedAdvice { Terminal.say(advice) }
        var output = Output()
        if json {
            try output.json(answer.json[...])
        } else if csv {
            for line in try answer.statistics().csv() { try output.json(Array(line.utf8)[...]) }
        } else {
            let text = StatsText(try answer.statistics(), by: by, units: units, zone: clock.zone)
            if text.isEmpty { Terminal.say("no samples") }
            for line in text.lines(hasChart: Terminal.hasColours, colours: Terminal.hasColours) {
                try output.line(line)
            }
        }
        try output.flush()
    }

    /// The clock that defines days: that of `--zone`, else the person's.
    private func clock(_ welcome: Welcome) throws(Failure) -> PersonClock {
        guard let zone else { return try welcome.clock(of: person.map { [$0] } ?? []) }
        return try Failure.entryValue { () throws(EntryError) in
            try PersonClock(zone: zone, now: welcome.time.microseconds)
        }
    }

    /// The question, with days by that clock.
    func query(_ type: String, by clock: PersonClock) throws(Failure) -> QueryRequest {
        var filter = QueryRequest.Filter()
        filter.types = [type]
        if let person { filter.persons = [person] }
        if !source.isEmpty { filter.sources = source }
        (filter.from, filter.to) = try DateArgument.span(from: on ?? from, to: on ?? to, by: clock)
        var query = QueryRequest(id: 0, want: .statistics, filter: filter)
        if let by { query.interval = StatisticsInterval(every: every, by.onTheWire, zone: zone) }
        var figures = figure.isEmpty ? nil : figure.map(\.rawValue)
        if perSource {
            let style = TypeRegistry.standard.resolve(type)?.aggregation
            figures = (figures ?? StatisticsFigure.usual(style).map(\.rawValue)) + ["bySource"]
        }
        query.figures = figures
        return query
    }

    /// The start of weeks for a reader; `nil` for Monday, which is the hub's default.
    func anchor(_ reader: DisplayPreferences, zone: String) throws(Failure) -> Timestamp? {
        let day = weekFrom ?? Weekday(reader.firstWeekday) ?? .monday
        guard day != .monday else { return nil }
        guard let anchor = day.anchor(zone: zone) else {
            throw Failure(.usage, "this machine does not know the zone \(zone): install tzdata, or correct it")
        }
        return anchor
    }
}
