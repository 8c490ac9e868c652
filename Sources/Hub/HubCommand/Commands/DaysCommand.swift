import ArgumentParser
import HealthText
import HubClient
import HubSettings
import HubWire
import Samples

struct DaysCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "days", abstract: "A value for every day: measured, or carried from the last day with one.",
        discussion: """
            The gap-filler makes days ([plugin.gap-filler] in hub.conf); Docs/Days.md
            explains them. Values and dates are as their person reads them (units and
            locale in hub.conf); --json has every digit.

            Trends are lines through the measured days, computed now and never stored:
            hackers-diet, trendweight, time-aware, holt, linear.

            Examples:
              hub days weight --from 30d
              hub days weight --person anna --from 2026-01-01 --trend trendweight
              hub days stepCount --from 4w --json | jq -r '[.date, .value] | @tsv'
              hub days weight --series median30 --from yesterday

            --from and --to are as in hub samples, both days included. Without --from, the
            last 30 days are shown.

            Exit codes: 0, also when there is none; 64 no such type or person; 69 no hub
            answers.
            """)

    @OptionGroup var typeNames: TypeNames
    @Option(help: ArgumentHelp("Only days of this person; may be repeated.", valueName: "name"))
    var person: [String] = []
    @Option(help: ArgumentHelp("From this day on.", valueName: "when"), transform: DateArgument.parsed)
    var from: DateArgument?
    @Option(help: ArgumentHelp("Up to this day.", valueName: "when"), transform: DateArgument.parsed)
    var to: DateArgument?
    @Option(help: ArgumentHelp("Only this series, such as mean30; may be repeated.", valueName: "name"))
    var series: [String] = []
    @Option(help: ArgumentHelp("A line through the measured days.", valueName: "name"), transform: Trend.named)
    var trend: Trend?
    @Flag(help: "A JSON object per line, as on the feed; with --trend also its value.") var json = false
    @OptionGroup var options: ConfigurationOptions

    private static let maker = "gap-filler"

    private var types: [String] { typeNames.all }

    func validate() throws {
        if types.isEmpty { throw ValidationError("Say of which types: hub days weight; hub types lists them.") }
    }

    func run() throws {
        _ = try TypeArgument.resolved(types)
        let door = try options.door("days")
        let welcome = try door.open()
        let range = try range(by: welcome.clock(of: person))
        var lines = DayLines(try days(door, range))
        if let trend { lines.add(trend, trend.usesFirstReadings ? try readings(door) : [:]) }
        lines.keep(range)
        guard !lines.isEmpty else {
            if !json { Terminal.say(try nothing(door, range)) }
            return
        }
        var output = Output()
        if json {
            for line in lines.json { try output.json(line[...]) }
        } else {
            for line in lines.table(units: options.readingUnits(), colours: Terminal.hasColours) {
                try output.line(line)
            }
        }
        try output.flush()
    }

    /// The days of the question, by the clock of the person they belong to.
    func range(by clock: PersonClock) throws(Failure) -> ClosedRange<LocalDate> {
        // If there are several persons, one may be a day ahead of the household.
        let last = to?.lastDay(by: clock) ?? clock.today.adding(days: 1)
        let start = from?.day(by: clock) ?? last.adding(days: to == nil ? -30 : -29)
        guard start <= last else {
            throw Failure(.usage, "--from \(from?.text ?? "") is after --to \(to?.text ?? "today")")
        }
        return start...last
    }

    private var filter: QueryRequest.Filter {
        var filter = QueryRequest.Filter()
        filter.types = types.compactMap(TypeArgument.resolved)
        if !person.isEmpty { filter.persons = person }
        return filter
    }

    /// - Returns: days as the hub prints them; for a trend also those before the range, on which it depends.
    private func days(_ door: DoorClient, _ range: ClosedRange<LocalDate>) throws -> [DayLines.Line] {
        var filter = filter
        filter.kinds = [.day]
        if trend == nil { filter.from = range.lowerBound.midnight }
        filter.to = range.upperBound.adding(days: 1).midnight
        var reader = RecordReader()
        var lines: [DayLines.Line] = []
        try door.pages(QueryRequest(id: 0, filter: filter, order: .time)) { records, _ in
            for bytes in records {
                let stored = try reader.record(bytes)
                guard case .day(let day) = stored.record else { continue }
                guard series.isEmpty || series.contains(day.series) else { continue }
                lines.append(DayLines.Line(day: day, json: Array(bytes)))
            }
        }
        return lines
    }

    /// Time and value of each reading, by its number.
    private func readings(_ door: DoorClient) throws -> [Int64: (time: Int64, value: Double)] {
        var filter = filter
        filter.kinds = [.quantity]
        var readings: [Int64: (time: Int64, value: Double)] = [:]
        try door.records(QueryRequest(id: 0, filter: filter)) { stored in
            guard case .sample(let sample) = stored.record, case .quantity(let value, _) = sample.value else { return }
            readings[stored.number] = (sample.start.microseconds, stored.canonical?.value ?? value)
        }
        return readings
    }

    /// The reason why there are no days in this period.
    private func nothing(_ door: DoorClient, _ range: ClosedRange<LocalDate>) throws -> String {
        let all = try dates(door)
        let meant = all.filter { series.isEmpty || series.contains($0.key) }.values
        if let first = meant.map(\.lowerBound).min(), let last = meant.map(\.upperBound).max() {
            return "no days from \(range.lowerBound.text) to \(range.upperBound.text); "
                + "there are some between \(first.text) and \(last.text): say --from and --to"
        }
        guard all.isEmpty else {
            return "no days of the series \(series.joined(separator: ", ")); there are some of "
                + "\(all.keys.sorted().joined(separator: ", ")): say --series, or have the gap-filler make others (its settings series and carry_days)"
        }
        let refusals = types.compactMap(Self.refusal)
        guard refusals.isEmpty else { return "no days: \(refusals.joined(separator: "; "))" }
        let makers = try door.ask(.plugins, as: [PluginEntry].self).filter { $0.kind == Self.maker && $0.enabled }
        let status = try door.ask(.status, as: HubStatus.self)
        guard !makers.isEmpty || status.sessions.contains(where: { $0.plugin == Self.maker }) else {
            // It is enabled, but not among the hub's plugins.
            if let refused = status.plugins.first(where: { $0.kind == Self.maker && $0.enabled }),
                let refusal = try PluginEntry.refusal(of: refused.name, door)
            {
                return "no days: \(refusal)"
            }
            return "no days, and no plugin makes any: enable [plugin.\(Self.maker)] in hub.conf"
        }
        let made = makers.flatMap { $0.settings["types"]?.strings ?? [] }.compactMap(TypeArgument.resolved)
        let missing = types.compactMap(TypeArgument.resolved).filter { !made.contains($0) }
        if let maker = makers.first, !missing.isEmpty {
            return
                "no days: add \(missing.joined(separator: ", ")) to types of [plugin.\(maker.name)] in hub.conf, then hub apply"
        }
        let maker = makers.first?.name ?? Self.maker
        if let plugin = status.plugins.first(where: { $0.name == maker }), !plugin.alive {
            return "no days yet: \(maker) is not at work; hub status says more"
        }
        return
            "no days: no reading makes any (hub samples \(types.joined(separator: " "))), or \(maker) has only just been started; "
            + "hub do \(maker) report lists the readings that it left out, with reasons"
    }

    /// The reason why the gap-filler makes no days of a type; `nil` if it does when its settings name the type.
    private static func refusal(_ text: String) -> String? {
        guard let type = EverydayNames.type(text) else { return "\(text) has no day values: it is not a standard type" }
        do throws(DayValueError) {
            _ = try DayTreatment.of(type)
            return nil
        } catch { return error.description }
    }

    /// The first and last day of each series, at any time.
    private func dates(_ door: DoorClient) throws -> [String: ClosedRange<LocalDate>] {
        var filter = filter
        filter.kinds = [.day]
        var dates: [String: ClosedRange<LocalDate>] = [:]
        try door.records(QueryRequest(id: 0, filter: filter)) { stored in
            guard case .day(let day) = stored.record else { return }
            let known = dates[day.series] ?? day.date...day.date
            dates[day.series] = min(known.lowerBound, day.date)...max(known.upperBound, day.date)
        }
        return dates
    }
}

extension LocalDate {
    /// The form of a date in a question about days: the hub reads only the date.
    fileprivate var midnight: Timestamp { Timestamp(microseconds: Int64(daysSinceEpoch) * 86_400_000_000) }
}
