import HealthExports
import HealthText
import HubWire
import JSON
import Samples

/// The rings of one day: from a source, or computed from samples.
struct ActivityDay {
    let date: LocalDate
    var summary: ActivitySummary
    /// The record of the source; `nil` if it is computed.
    var record: (source: Source, number: Int64)?

    /// The day as JSON, with all digits, in the units of the source.
    func json(person: String) -> String {
        var members: [JSONTree.Member] = [.init("date", .text(date.text)), .init("person", .text(person))]
        if let record {
            let source = [
                ("plugin", record.source.plugin), ("device", record.source.device), ("account", record.source.account),
            ]
            members.append(
                .init("source", .object(source.compactMap { name, text in text.map { .init(name, .text($0)) } })))
            members.append(.init("number", .number("\(record.number)")))
        }
        members.append(.init("computed", .truth(record == nil)))
        return JSONTree.object(members + (summary.json.members ?? [])).json
    }

    /// A header and one line for each day.
    static func csv(_ days: [ActivityDay], person: String) -> [String] {
        let header =
            ["date", "person", "source", "computed"]
            + ActivityFigures.all.flatMap { [$0.name, "\($0.name)Goal", "\($0.name)Unit"] }
        return [CSVColumn.line(of: header)]
            + days.map { day in
                let cells = ActivityFigures.all.flatMap { _, _, figure in
                    figure(day.summary).map { figure in
                        [NumberWriter.text(figure.value), figure.goal.map(NumberWriter.text) ?? "", figure.unit]
                    } ?? ["", "", ""]
                }
                return CSVColumn.line(
                    of: [day.date.text, person, day.record?.source.words ?? "", day.record == nil ? "true" : "false"]
                        + cells)
            }
    }
}
