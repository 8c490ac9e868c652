import HTMLText
import HealthText
import Hummingbird
import PluginKit

/// The first page, and a page for each type.
struct ValuesArea: SiteArea {
    let parts: WebParts

    func add(to router: some RouterMethods<Visit>) {
        router.get("/") { request, visit in
            try await LatestPage(reader: parts.reader).response(Choice(request, visit, parts))
        }
        router.get("/types/:type") { request, visit in
            try await TypePage(reader: parts.reader).response(
                visit.parameters.get("type") ?? "", Choice(request, visit, parts))
        }
    }
}

/// The first page: the latest value of each type of a person.
struct LatestPage: Sendable {
    let reader: HealthReader

    func response(_ choice: Choice) async throws -> Response {
        guard let person = choice.person else {
            return PageAnswer.page(
                Frame(title: "Values", choice: choice, path: "/").html(
                    "<p>hub.conf has no person for this page: add a section <code>[person.NAME]</code>, and <code>hub apply</code>.</p>"
                ))
        }
        let records = try await reader.latest(of: person)
        let frame = Frame(title: "Values of \(person.name)", choice: choice, path: "/")
        guard !records.isEmpty else {
            return PageAnswer.page(
                frame.html(
                    """
                    <p>There are no values yet. They come from plugins, such as a scale's; <code>hub log weight 80.4</code> writes
                    one by hand, and <code>hub import</code> reads a file.</p>
                    """))
        }
        var table = HTMLTable(caption: "The latest of each type", columns: ["Type", "Value", "When", "Source"])
        for record in records {
            table.rows.append(
                [TypePage.link(record.type, person.name)] + RecordCells(record, for: person.reader).html)
        }
        return PageAnswer.page(frame.html(table.html))
    }
}

/// What a row says of a record.
struct RecordCells: Sendable {
    let html: [HTML]

    init(_ stored: StoredRecord, for reader: Reader) {
        guard case .sample(let sample) = stored.record else {
            html = ["", "", "\(stored.record.source.plugin)"]
            return
        }
        let source = [sample.source.plugin, sample.source.device, sample.source.account].compactMap(\.self)
        html = [
            "\(ValueText.marked(stored, for: reader))",
            "\(MomentText.interval(sample.start, sample.end, for: reader))", "\(source.joined(separator: "/"))",
        ]
    }
}
