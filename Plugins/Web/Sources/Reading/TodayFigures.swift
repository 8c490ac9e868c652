import HealthText
import PluginKit
import Samples

/// The main type of the page: its last value, changes, chart and goal.
struct TodayFigures: Sendable {
    private let subject: PagePerson
    private let range: TodayPage.Range
    private let record: StoredRecord
    private let sample: Sample?
    private let previous: StoredRecord?
    private let line: DayLine
    private let format: ValueFormat
    private let goal: Double?

    init(_ parts: WebParts, _ record: StoredRecord, of subject: PagePerson, _ range: TodayPage.Range) async throws {
        (self.subject, self.range, self.record) = (subject, range, record)
        line = try await DayLine(parts.reader, record.type, of: subject, from: range.start(subject.today))
        let newest = line.isSum ? [] : try await parts.reader.newest(record.type, of: subject.name, limit: 2)
        previous = newest.first { $0.number != record.number }
        if case .sample(let sample) = record.record { self.sample = sample } else { sample = nil }
        format = subject.format(record.type, unit: ValueText.quantity(record)?.unit ?? "count")
        goal = parts.settings.goals.value(of: record.type, for: subject.name)
    }

    var html: HTML {
        """
        <section class="now"><h2><a href="\(url: subject.address("/types/\(record.type.rawValue)"))">\(NameWords.type(record.type))</a></h2>
        \(large)
        \(changes)</section>
        <section>\(ranges)\(chart)\(advice)</section>
        """
    }

    // MARK: - The value

    private var large: HTML {
        if line.isSum, let last = line.days.last {
            return """
                <p class="large" \(live)>\(format.text(last.value))</p>
                <p class="faint">\(subject.reader.date(last.date))\(last.date == subject.today ? ", so far" : "")</p>
                """
        }
        guard let sample else { return HTML() }
        return """
            <p class="large" \(live)>\(ValueText.marked(record, for: subject.reader))</p>
            <p class="faint">\(MomentText.marked(record, sample, for: subject.reader)) · \(RecordText.source(sample.source))</p>
            """
    }

    /// For live.js: the type and the person of the value, and the address of their events.
    private var live: HTML {
        "data-live=\"\(record.type.rawValue)\" data-person=\"\(subject.name)\" data-events=\"\(url: EventRoutes.path)\""
    }

    // MARK: - Changes

    private var changes: HTML {
        // An implausible value or time is not compared.
        guard !line.isSum, record.implausible.isEmpty, let (value, _) = ValueText.quantity(record), let sample
        else { return HTML() }
        let day = subject.day(of: sample)
        var items: [HTML] = []
        func add(_ title: String, _ earlier: Double?, _ when: LocalDate?) {
            let change: HTML =
                earlier.map { "\(format.change(from: $0, to: value))" } ?? "<span class=\"faint\">no value</span>"
            let date = when.map { "since \(subject.reader.date($0))" } ?? ""
            items.append("<div><dt>\(title)</dt><dd>\(change)<span class=\"faint\">\(date)</span></dd></div>")
        }
        if let previous, case .sample(let sample) = previous.record {
            add("Since the one before", ValueText.quantity(previous)?.value, subject.day(of: sample))
        } else {
            add("Since the one before", nil, nil)
        }
        for (title, earlier) in [("In a week", day.adding(days: -7)), ("In a month", day.adding(months: -1))] {
            let then = line.last(until: earlier)
            add(title, then?.value, then.map { $0.observedOn ?? $0.date })
        }
        if let rate = line.rate(until: subject.today) {
            let week: HTML = "\(format.change(from: 0, to: rate.perDay * 7)) a week"
            items.append("<div><dt>Rate</dt><dd>\(week)<span class=\"faint\">of the last four weeks</span></dd></div>")
        }
        return "<dl class=\"changes\">\(HTML.joined(items, by: "\n"))</dl>"
    }

    // MARK: - The chart

    private var ranges: HTML {
        ChartFigure.choices(
            "How far back",
            TodayPage.Range.allCases.map { one in
                (one.title, subject.address("/", [(name: "range", value: one.rawValue)]), one == range)
            })
    }

    private var shown: [DayLine.Day] {
        let start = range.start(subject.today)
        return line.days.filter { day in start.map { day.date >= $0 } ?? true }
    }

    private var chart: HTML {
        let days = shown
        guard !days.isEmpty else {
            return "<p class=\"empty\">Nothing was measured in this time; a longer one shows more.</p>"
        }
        let points = days.map { day in
            ChartPoint(
                time: subject.midnight(day.date), end: subject.midnight(day.date.adding(days: 1)), value: day.value,
                isCarried: day.observedOn != nil, when: subject.reader.date(day.date))
        }
        let first = range.start(subject.today) ?? days[0].date
        let trend = line.trend.map { (date: LocalDate(daysSinceEpoch: Int($0.day)), value: $0.value) }
            .filter { $0.date >= first }
        let chart = Chart(
            id: "today", title: "\(NameWords.type(record.type)) of \(subject.shownName), \(range.title.lowercased())",
            form: line.isSum ? .bars : .points, points: points,
            trend: trend.map { point in
                ChartPoint(
                    time: subject.midnight(point.date), end: subject.midnight(point.date.adding(days: 1)),
                    value: point.value, when: "")
            }, goal: goal.map { Chart.Goal(value: $0, label: "Goal \(format.text($0))") },
            from: subject.midnight(first),
            to: subject.midnight(max(subject.today, days[days.count - 1].date).adding(days: 1)),
            longestGap: 31 * 86_400_000_000, format: format, zone: subject.zone, reader: subject.reader)
        return ChartFigure(
            chart: chart, columns: line.isSum ? ["Sum"] : ["Value", "How", "Trend"], rows: rows(days, trend),
            note: days.count > Self.maximumRows
                ? "\(NumberText.grouped(days.count)) days. The table has the newest \(Self.maximumRows)." : nil
        ).html
    }

    private static let maximumRows = 370

    private func rows(_ days: [DayLine.Day], _ trend: [(date: LocalDate, value: Double)]) -> [[HTML]] {
        let lines = Dictionary(trend.map { ($0.date, $0.value) }) { first, _ in first }
        return days.suffix(Self.maximumRows).reversed().map { day in
            let start: [HTML] = ["\(subject.reader.date(day.date))", "\(format.text(day.value))"]
            guard !line.isSum else { return start }
            let how = day.observedOn.map { "carried from \(subject.reader.date($0))" } ?? "measured"
            return start + ["\(how)", "\(lines[day.date].map { format.text($0) } ?? "")"]
        }
    }

    // MARK: - Advice

    private var advice: HTML {
        var advice = HTML()
        if let goal, let (latest, _) = ValueText.quantity(record), !line.isSum {
            let forecast = GoalForecast(goal: goal, latest: latest, line, today: subject.today)
            advice += "<p class=\"goal-words\">Goal \(format.text(goal)). \(forecast.words(subject.reader))</p>"
        }
        if line.series == nil, !line.isSum, TypeRegistry.standard.type(record.type)?.kind == .quantity {
            advice += """
                <p class="faint">Days without a measurement are not filled in: <code>[plugin.gap-filler]</code> of hub.conf makes a value for
                each day, if <code>types</code> there names \(record.type.rawValue).</p>
                """
        }
        return advice
    }
}
