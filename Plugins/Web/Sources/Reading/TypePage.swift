import HealthText
import Hummingbird
import PluginKit

/// The page of a type: its chart, statistics and samples.
struct TypePage: Sendable {
    let parts: WebParts
    private var reader: HealthReader { parts.reader }

    func response(_ name: String, _ request: Request, _ choice: SelectedPerson) async throws -> Response {
        guard let person = choice.person, let type = EverydayNames.type(name)?.id ?? Self.foreign(name) else {
            throw noSuchPage
        }
        let subject = try PagePerson(person, parts.hub.clock)
        let frame = PageFrame(
            title: NameWords.type(type), choice: choice, path: "/types/\(type.rawValue)", scripts: [.charts])
        guard let newest = try await reader.newest(type, of: subject.name, limit: 1).first,
            case .sample(let sample) = newest.record
        else {
            return frame.page(
                """
                <section class="empty"><p>There are no samples of this type.</p>
                \(EntryPage.link(type, subject.name))<p><a href="\(url: subject.address("/data"))">All data</a></p></section>
                """)
        }
        let latest = subject.day(of: sample)
        var oldest = latest
        if request.field("span") == "all" {
            oldest = try await reader.oldest(type, of: subject.name).map { subject.day(of: $0) } ?? latest
        }
        let window = try TypeWindow(request, extent: min(oldest, latest)...latest, today: subject.today)
        var content = try await header(newest, subject)
        content += EntryPage.link(type, subject.name) + windows(type, window, latest, subject)
        if let (_, unit) = ValueText.quantity(newest) { content += try await statistics(type, unit, window, subject) }
        let list = try await SampleList(
            reader, type, of: subject, from: subject.midnight(window.first),
            to: subject.midnight(window.last.adding(days: 1)), request)
        let details = try await reader.members(of: list.records, subject)
        content += list.html(
            type, subject,
            TypeWindow.fields(window.first, window.last, by: request.field("by") == nil ? nil : window.unit),
            details: details)
        return frame.page(content)
    }

    /// A type that only plugins know.
    private static func foreign(_ name: String) -> TypeID? { name.hasPrefix("x.") ? try? TypeID(name) : nil }

    private func header(_ newest: StoredRecord, _ subject: PagePerson) async throws -> HTML {
        let card = try await LatestCard(newest, reader, subject)
        let isSum = TypeRegistry.standard.type(newest.type)?.aggregation == .cumulative
        let cells = RecordCells(newest, for: subject.reader)
        let members = TypeRegistry.standard.type(newest.type)?.requiredMembers ?? []
        let links = HTML.joined(
            members.map { member in
                "<a href=\"\(url: subject.address("/types/\(member.rawValue)"))\">\(NameWords.type(member))</a>"
            }, by: ", ")
        let when: HTML = isSum ? "\(card.when)" : "\(cells.when) · \(cells.source)"
        return """
            <section class="now"><p class="large">\(card.value)</p>
            <p class="faint">\(when)</p>\(members.isEmpty ? nil : "<p>Charts: \(links)</p>" as HTML)</section>
            """
    }

    // MARK: - Time window

    private func windows(_ type: TypeID, _ window: TypeWindow, _ latest: LocalDate, _ subject: PagePerson) -> HTML {
        let path = "/types/\(type.rawValue)"
        let spans: [(String, LocalDate)] = [
            ("Day", latest), ("Week", latest.adding(days: -6)), ("Month", latest.adding(months: -1).adding(days: 1)),
            ("Year", latest.adding(months: -12).adding(days: 1)),
            ("5 years", latest.adding(months: -60).adding(days: 1)),
        ]
        let choices =
            spans.map { title, first in
                (
                    title, subject.address(path, TypeWindow.fields(first, latest)),
                    !window.isAll && window.first == first && window.last == latest
                )
            } + [("All", subject.address(path, [(name: "span", value: "all")]), window.isAll)]
        func step(_ text: String, _ fields: [(name: String, value: String)]?) -> HTML {
            fields.map { "<li><a href=\"\(url: subject.address(path, $0))\">\(text)</a></li>" }
                ?? "<li><span class=\"faint\">\(text)</span></li>"
        }
        return """
            \(ChartFigure.choices("How much", choices))
            <nav class="steps" aria-label="Which time"><ul>\(step("Earlier", window.earlier))\(step("Later", window.later(latest)))\
            \(step("Closer", window.closer(latest)))\(step("Wider", window.wider(latest)))</ul>
            <p>\(subject.reader.date(window.first))\(window.days > 1 ? " – \(subject.reader.date(window.last))" : "")</p></nav>
            """
    }

    // MARK: - Statistics

    private func statistics(_ type: TypeID, _ unit: String, _ window: TypeWindow, _ subject: PagePerson) async throws
        -> HTML
    {
        let rows: [FigureRow]
        do {
            rows = try await reader.rows(
                type, of: subject, from: window.first, through: window.last, by: window.unit, most: TypeWindow.most + 2)
        } catch let error as AskError where error.hasNoStatistics {
            return "<p class=\"faint\">Of this type the hub computes no statistics.</p>"
        }
        let isSum = rows.contains { $0.figures.sum != nil }
        let format = subject.format(type, unit: unit)
        let points = rows.compactMap { $0.point(subject) }
        guard !points.isEmpty else { return "<p class=\"empty\">Nothing was measured in this time.</p>" }
        let goal = window.unit == .day || !isSum ? parts.settings.goals.value(of: type, for: subject.name) : nil
        let chart = Chart(
            id: "type", title: "\(NameWords.type(type)) of \(subject.shownName) by \(window.unit.rawValue)",
            form: isSum ? .bars : .line, points: points,
            goal: goal.map { Chart.Goal(value: $0, label: "Goal \(format.text($0))") },
            from: subject.midnight(window.first), to: subject.midnight(window.last.adding(days: 1)),
            longestGap: gap(window.unit), format: format, zone: subject.zone, reader: subject.reader)
        let units = ChartFigure.choices(
            "By",
            window.units.map { unit in
                let fields = TypeWindow.fields(window.first, window.last, by: unit)
                return ("By \(unit.rawValue)", subject.address("/types/\(type.rawValue)", fields), unit == window.unit)
            })
        let figure = ChartFigure(
            chart: chart, columns: (isSum ? ["Sum"] : ["Average", "Least", "Greatest"]) + ["Samples"],
            rows: rows.reversed().filter { $0.figures.count > 0 || $0.point(subject) != nil }.map {
                cells($0, isSum, format, type, window, subject)
            })
        return "<section>\(figure.html)\(units)</section>"
    }

    private func gap(_ unit: TypeWindow.Unit) -> Int64 {
        let day: Int64 = 86_400_000_000
        return switch unit {
        case .hour: day / 4
        case .day: 14 * day
        case .week: 21 * day
        case .month: 100 * day
        case .year: 800 * day
        }
    }

    private func cells(
        _ row: FigureRow, _ isSum: Bool, _ format: ValueFormat, _ type: TypeID, _ window: TypeWindow,
        _ subject: PagePerson
    ) -> [HTML] {
        func text(_ value: Double?) -> HTML { "\(value.map { format.text($0) } ?? "")" }
        let words = subject.words(row.from, row.unit)
        let last = subject.local(row.to.microseconds - 1).localDate
        var when: HTML = "\(words)"
        if window.unit != .hour, window.days > 1 {
            let address = subject.address("/types/\(type.rawValue)", TypeWindow.fields(row.from.localDate, last))
            when = "<a href=\"\(url: address)\">\(words)</a>"
        }
        let figures = row.figures
        let values =
            isSum ? [text(figures.sum)] : [text(figures.average), text(figures.minimum), text(figures.maximum)]
        return [when] + values + ["\(NumberText.grouped(figures.count))"]
    }
}
