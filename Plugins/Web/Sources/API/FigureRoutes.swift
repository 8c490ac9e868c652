import Hummingbird
import JSON
import PluginKit

/// Statistics, and the values of days.
enum FigureRoutes {
    private static let pattern = #"^(?!0000)[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$"#
    private static let date = APIParameter.Form.text(most: 10, pattern: pattern)

    static let all: [APIRoute] = [
        APIRoute(
            method: .get, path: "/statistics", topic: "Figures",
            summary: "Sums, averages, least and greatest of one type and person: once, or for each interval.",
            parameters: [
                APIParameter(
                    name: "type", form: .text(), help: "A type whose values are quantities.", isRequired: true),
                APIParameter(
                    name: "person", form: .text(),
                    help: "Whose; may be left out where the viewer sees one person alone."),
                Parameters.sources,
                APIParameter(name: "from", form: .time, help: "What lies before it does not count."),
                APIParameter(name: "to", form: .time, help: "What lies at or after it does not count."),
                APIParameter(
                    name: "interval", form: .word(StatisticsInterval.Unit.allCases.map(\.rawValue)),
                    help: "Figures for each; not given: once, for all."),
                APIParameter(
                    name: "every", form: .integer(StatisticsInterval.counts), help: "So many of these are one interval."
                ),
                APIParameter(
                    name: "zone", form: .text(),
                    help: "By whose calendar, such as Europe/Berlin; not given: the person's."),
                APIParameter(name: "anchor", form: .time, help: "Where one interval begins."),
                APIParameter(
                    name: "figure", form: .word(StatisticsFigure.allCases.map(\.rawValue) + ["bySource"]),
                    help: "As they fit the type; may be there several times. Not given: those that fit best.",
                    isList: true),
                Parameters.limit(1_000, "Intervals of all pages together."), Parameters.next,
            ], answer: .init(help: "What hub stats --json prints.", schema: Schemas.ref("statistics")),
            handle: statistics),
        APIRoute(
            method: .get, path: "/days", topic: "Figures", summary: "A value for every day: measured, or carried.",
            parameters: [
                Parameters.person, Parameters.types,
                APIParameter(name: "from", form: date, help: "From this day on, such as 2026-03-01."),
                APIParameter(name: "to", form: date, help: "Up to this day, which is included."),
                Parameters.limit(1_000, "Days of all pages together; not given: all."), Parameters.next,
            ], answer: .init(help: "Days, as hub days --json prints them.", schema: Schemas.records), handle: days),
    ]

    @Sendable private static func statistics(_ call: APICall) async throws -> Response {
        var query = QueryRequest(
            id: 0, want: .statistics, filter: try call.filter(), limit: call.integer("limit"), next: call.text("next"))
        query.filter.persons = [try call.onePerson()]
        let unit = call.text("interval").flatMap(StatisticsInterval.Unit.init)
        if let unit {
            query.interval = StatisticsInterval(
                every: Int(call.integer("every") ?? 1), unit, anchor: call.time("anchor"), zone: call.text("zone"))
        } else if let other = ["every", "zone", "anchor"].first(where: { call.text($0) != nil }) {
            throw Refusal(.conflict, "Without interval there is one", "\(other): it goes with interval.", member: other)
        }
        query.figures = call.texts("figure")
        return try await call.answer(query)
    }

    @Sendable private static func days(_ call: APICall) async throws -> Response {
        var filter = QueryRequest.Filter()
        (filter.persons, filter.types, filter.kinds) = (try call.person().map { [$0] }, try call.types(), [.day])
        func midnight(_ name: String, _ days: Int) throws -> Timestamp? {
            guard let text = call.text(name) else { return nil }
            guard let date = LocalDate(text) else {
                throw Refusal(
                    .unprocessableContent, "There is no such day", "\(name): it is to be a day such as 2026-03-15.",
                    member: name)
            }
            return Timestamp(microseconds: Int64(date.daysSinceEpoch + days) * 86_400_000_000)
        }
        (filter.from, filter.to) = (try midnight("from", 0), try midnight("to", 1))
        if let from = filter.from, let to = filter.to, from.microseconds >= to.microseconds {
            throw Refusal(
                .conflict, "This is not a span of days", "from: it is to be no later than to.", member: "from")
        }
        return try await call.records(
            QueryRequest(id: 0, filter: filter, order: .time, limit: call.integer("limit"), next: call.text("next")))
    }
}
