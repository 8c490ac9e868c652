import HealthText
import Hummingbird
import PluginKit

/// The first page: the last weight with its changes, and the latest values of other types.
struct TodayPage: Sendable {
    let parts: WebParts
    private var reader: HealthReader { parts.reader }

    /// The time range of the chart.
    enum Range: String, CaseIterable {
        case month = "1m", quarter = "3m", year = "1y", all

        var title: String {
            switch self {
            case .month: "1 month"
            case .quarter: "3 months"
            case .year: "1 year"
            case .all: "All"
            }
        }

        func start(_ today: LocalDate) -> LocalDate? {
            switch self {
            case .month: today.adding(months: -1)
            case .quarter: today.adding(months: -3)
            case .year: today.adding(months: -12)
            case .all: nil
            }
        }
    }

    func response(_ request: Request, _ choice: SelectedPerson) async throws -> Response {
        guard let person = choice.person else { return EmptyStates.nobody(choice) }
        let subject = try PagePerson(person, parts.hub.clock)
        let frame = PageFrame(title: "Today", choice: choice, path: "/", scripts: [.charts, .live])
        let latest = try await reader.latest(of: person)
        guard !latest.isEmpty else { return frame.page(EmptyStates.noValues(subject, choice.viewer)) }
        let range = request.field("range").flatMap(Range.init) ?? .month
        var content = HTML()
        let main = try await mainRecord(latest, subject)
        if let main { content += try await TodayFigures(parts, main, of: subject, range).html }
        content += rings(latest, subject)
        let rest = latest.filter { $0.number != main?.number && $0.type != .activitySummary }
        content += try await others(rest, subject)
        return frame.page("<div data-refresh=\"today\">\(content)</div>")
    }

    /// The latest weight; without one, the latest record of the type with the most samples in the last 90 days.
    private func mainRecord(_ latest: [StoredRecord], _ subject: PagePerson) async throws -> StoredRecord? {
        if let weight = latest.first(where: { $0.type == .weight }) { return weight }
        let newest = latest.filter { TypeRegistry.standard.type($0.type)?.kind == .quantity }
            .sorted { ($0.end, $0.number) > ($1.end, $1.number) }.prefix(6)
        var best: (record: StoredRecord, count: Int)?
        for record in newest {
            var count = 0
            let start = subject.local(subject.midnight(subject.today.adding(days: -90)))
            for try await all in parts.hub.statistics(of: record.type.rawValue, person: subject.name, from: start) {
                count += all.figures.count
            }
            if count > best?.count ?? -1 { best = (record, count) }
        }
        return best?.record
    }

    // MARK: - Other types

    private func others(_ records: [StoredRecord], _ subject: PagePerson) async throws -> HTML {
        let newest = records.sorted { ($0.end, $0.number) > ($1.end, $1.number) }.prefix(12)
        guard !newest.isEmpty else { return HTML() }
        var cards = HTML()
        for record in newest { cards += try await LatestCard(record, reader, subject).html(subject) }
        return """
            <section><h2>Latest</h2><ul class="cards">\(cards)</ul>
            <p><a href="\(url: subject.address("/data"))">All data</a></p></section>
            """
    }

    private func rings(_ records: [StoredRecord], _ subject: PagePerson) -> HTML {
        guard case .sample(let sample)? = records.first(where: { $0.type == .activitySummary })?.record,
            let summary = sample.activitySummary
        else { return HTML() }
        let figures = ActivityFigures(for: subject.reader)
        let rings = ActivityFigures.all.compactMap { name, title, figure -> HTML? in
            guard let figure = figure(summary), let goal = figure.goal, let part = figure.partOfGoal else { return nil }
            let (value, aim) = (figures.text(figure.value, figure.unit, name), figures.text(goal, figure.unit, name))
            let title = title.prefix(1) + title.dropFirst().lowercased()
            return """
                <li>\(RingChart(name: String(title), value: value, goal: aim, part: part).html)
                <span class="name">\(title)</span><span class="faint">\(value) of \(aim)</span></li>
                """
        }
        guard !rings.isEmpty else { return HTML() }
        let day = sample.activitySummaryDate.map(subject.reader.date) ?? ""
        return
            "<section><h2>Activity <span class=\"faint\">\(day)</span></h2><ul class=\"rings\">\(HTML.joined(rings, by: ""))</ul></section>"
    }
}

extension StoredRecord {
    /// The end of a sample; the minimum for other records.
    var end: Int64 { if case .sample(let sample) = record { sample.end.microseconds } else { .min } }
}

/// Texts and advice for pages without values.
enum EmptyStates {
    static func nobody(_ choice: SelectedPerson) -> Response {
        PageFrame(title: "Today", choice: choice, path: "/").page(
            "<p>hub.conf has no person for this page: \(setup(choice.viewer)) asks who there is, and has the hub follow.</p>"
        )
    }

    private static func setup(_ viewer: Viewer) -> HTML {
        viewer.isOwner
            ? "<a href=\"\(url: "/setup")\">Set up</a>, or <code>hub setup</code> in a terminal,"
            : "<code>hub setup</code>, in a terminal,"
    }

    static func noValues(_ subject: PagePerson, _ viewer: Viewer) -> HTML {
        """
        <section class="empty"><h2>No values yet</h2>
        <p>They come from plugins, such as a scale's: \(setup(viewer)) shows those that there are, and sets them up.
        <a href="\(url: EntryPage.path(of: subject.name))">Add</a>, or <code>hub log weight 80.4kg --person \(subject.name)</code>, writes one by hand, and <code>hub import</code> reads a file.</p></section>
        """
    }
}
