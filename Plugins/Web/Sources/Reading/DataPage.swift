import HealthText
import Hummingbird
import PluginKit

/// All types of a person, each with its latest value and the last year as a small chart.
struct DataPage: Sendable {
    let parts: WebParts
    /// Number of types on a page; each needs one or two queries.
    private static let most = 24
    /// Maximum number of concurrent queries.
    private static let together = 4

    func response(_ request: Request, _ choice: SelectedPerson) async throws -> Response {
        guard let person = choice.person else { return EmptyStates.nobody(choice) }
        let subject = try PagePerson(person, parts.hub.clock)
        let frame = PageFrame(title: "All data", choice: choice, path: "/data")
        let latest = try await parts.reader.latest(of: person)
        guard !latest.isEmpty else { return frame.page(EmptyStates.noValues(subject, choice.viewer)) }
        let pages = (latest.count + Self.most - 1) / Self.most
        guard let page = Int(request.field("page") ?? "1"), (1...pages).contains(page) else { throw noSuchPage }
        let shown = Array(latest.dropFirst((page - 1) * Self.most).prefix(Self.most))
        let cards = HTML.joined(try await cards(shown, subject), by: "")
        return frame.page(
            """
            <p class="faint">\(NumberText.count(latest.count, "type")); the charts are week by week, of the last year at most.</p>
            <ul class="cards charts">\(cards)</ul>\(pager(page, pages, subject))
            """)
    }

    private func pager(_ page: Int, _ pages: Int, _ subject: PagePerson) -> HTML {
        guard pages > 1 else { return HTML() }
        return ChartFigure.choices(
            "Pages",
            (1...pages).map { number in
                ("\(number)", subject.address("/data", [(name: "page", value: "\(number)")]), number == page)
            })
    }

    /// Loads a few at a time, so that a page does not delay others.
    private func cards(_ records: [StoredRecord], _ subject: PagePerson) async throws -> [HTML] {
        try await withThrowingTaskGroup(of: (Int, HTML).self) { group in
            var cards = [HTML](repeating: HTML(), count: records.count)
            for (place, record) in records.enumerated() {
                if place >= Self.together, let (done, card) = try await group.next() { cards[done] = card }
                group.addTask {
                    let card = try await LatestCard(record, parts.reader, subject)
                    return (place, card.html(subject, chart: try await chart(record, place, subject)))
                }
            }
            for try await (done, card) in group { cards[done] = card }
            return cards
        }
    }

    private func chart(_ record: StoredRecord, _ place: Int, _ subject: PagePerson) async throws -> HTML {
        guard let (_, unit) = ValueText.quantity(record) else { return HTML() }
        let start = subject.today.adding(months: -12)
        let rows: [FigureRow]
        do {
            rows = try await parts.reader.rows(record.type, of: subject, from: start, through: nil, by: .week, most: 60)
        } catch let error as AskError where error.hasNoStatistics {
            // The hub has no statistics for a type that only a plugin knows.
            return HTML()
        }
        let points = rows.compactMap { $0.point(subject) }
        guard points.count > 1 else { return HTML() }
        return Chart(
            id: "c\(place)", title: "\(NameWords.type(record.type)), week by week",
            form: rows[0].figures.sum == nil ? .line : .bars,
            points: points, from: points.first.map { max(subject.midnight(start), $0.time) },
            to: subject.midnight(subject.today.adding(days: 1)), longestGap: 60 * 86_400_000_000, isSmall: true,
            format: subject.format(record.type, unit: unit), zone: subject.zone, reader: subject.reader
        ).html
    }
}
