import HealthText
import Hummingbird
import JSON
import PluginKit
import Samples

/// Statistics and day values.
enum FigureRoutes {
    private static let pattern = #"^(?!0000)[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$"#
    private static let date = APIParameter.Form.text(most: 10, pattern: pattern)

    static let all: [APIRoute] = [
        .get(
            "/statistics", "Sums, averages, least and greatest of one type and person: once, or for each interval.",
            [
                APIParameter(
                    name: "type", form: .text(), help: "A type whose values are quantities.", isRequired: true),
                Parameters.onePerson,
                Parameters.sources,
                APIParameter(name: "from", form: .time, help: "What lies before it does not count."),
                APIParameter(name: "to", form: .time, help: "What lies at or after it does not count."),
                APIParameter(
                    name: "interval", form: .word(StatisticsInterval.Unit.allCases.map(\.rawValue)),
                    help: "Figures for each; not given: once, for all."),
                APIParameter(
                    name: "every", form: .integer(StatisticsInterval.counts),
                    help: "The number of these that make one interval."),
                APIParameter(
                    name: "zone", form: .text(),
                    help: "By whose calendar, such as Europe/Berlin; not given: the person's."),
                APIParameter(name: "anchor", form: .time, help: "The start of one interval."),
                APIParameter(
                    name: "figure", form: .word(StatisticsFigure.allCases.map(\.rawValue) + ["bySource"]),
                    help: "As they fit the type; may be repeated. Not given: those that fit best.", isList: true),
                Parameters.limit(1_000, "Intervals of all pages together."), Parameters.next,
            ], answer: .init("What hub stats --json prints.", Schemas.ref("statistics")), handle: statistics),
        .get(
            "/days", "A value for every day: measured, or carried.",
            [
                Parameters.person, Parameters.types,
                APIParameter(name: "from", form: date, help: "From this day on, such as 2026-03-01."),
                APIParameter(name: "to", form: date, help: "Up to this day, which is included."),
                Parameters.limit(1_000, "Days of all pages together; not given: all."), Parameters.next,
            ], answer: .init("Days, as hub days --json prints them.", Schemas.records), handle: days),
        .get(
            "/trend",
            "How a type's values of one person change, and when their goal is reached, as the page Today says.",
            [
                APIParameter(name: "type", form: .text(), help: "A type of numbers.", isRequired: true),
                Parameters.onePerson,
                APIParameter(
                    name: "from", form: date, help: "Days from then on, at most 4,000; not given: those of a month."),
            ], answer: .init("In the type's own unit.", trendForm), handle: trend),
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
            throw RequestRefusal(
                .conflict, "Without interval there is one", "\(other): it needs interval.", member: other)
        }
        query.figures = call.texts("figure")
        return try await call.answer(query)
    }

    @Sendable private static func days(_ call: APICall) async throws -> Response {
        var filter = QueryRequest.Filter()
        (filter.persons, filter.types, filter.kinds) = (try call.person().map { [$0] }, try call.types(), [.day])
        func midnight(_ name: String, _ days: Int) throws -> Timestamp? {
            guard let date = try call.text(name).map({ try call.date(name, $0) }) else { return nil }
            return Timestamp(microseconds: Int64(date.daysSinceEpoch + days) * 86_400_000_000)
        }
        (filter.from, filter.to) = (try midnight("from", 0), try midnight("to", 1))
        if let from = filter.from, let to = filter.to, from.microseconds >= to.microseconds {
            throw RequestRefusal(
                .conflict, "This is not a span of days", "from: expected a day no later than to.", member: "from")
        }
        return try await call.records(
            QueryRequest(id: 0, filter: filter, order: .time, limit: call.integer("limit"), next: call.text("next")))
    }

    // MARK: - Trend

    private static let number: JSONTree = ["type": "number"]
    private static let day: JSONTree = ["type": "string", "format": "date"]
    private static let trendForm = Schemas.object(
        [
            ("person", ["type": "string"]), ("type", Schemas.ref("common/$defs/typeID")), ("unit", ["type": "string"]),
            ("today", day), ("latest", Schemas.object([("value", number), ("number", ["type": "integer"])])),
            (
                "days",
                Schemas.list(
                    Schemas.object(
                        [("date", day), ("value", number), ("observedOn", day), ("trend", number)],
                        optional: ["observedOn", "trend"]))
            ),
            ("rate", Schemas.object([("perDay", number), ("today", number)])),
            (
                "goal",
                Schemas.object(
                    [
                        ("value", number),
                        ("state", ["enum": .list(GoalForecast.State.allCases.map { .text($0.rawValue) })]),
                        ("date", day),
                    ], optional: ["state", "date"])
            ),
        ], optional: ["latest", "rate", "goal"])

    private static func json(_ number: Double) -> JSONTree {
        var digits: [UInt8] = []
        NumberWriter.append(number, to: &digits)
        return .number(String(decoding: digits, as: UTF8.self))
    }

    @Sendable private static func trend(_ call: APICall) async throws -> Response {
        let (name, parts) = (try call.onePerson(), call.parts)
        guard let person = parts.hub.persons.first(where: { $0.name == name }) else { throw noSuchPage }
        let subject = try PagePerson(person, parts.hub.clock)
        guard let id = try call.types()?.first, let type = TypeRegistry.standard.resolve(id), let unit = type.unit
        else {
            throw RequestRefusal(
                .unprocessableContent, "Its values are no numbers", "type: a trend is of a type that has a unit.",
                member: "type")
        }
        let from = try call.text("from").map { try call.date("from", $0) } ?? subject.today.adding(months: -1)
        let line = try await DayLine(parts.reader, type.id, of: subject, from: from)
        let trend = Dictionary(line.trend.map { (Int($0.day), $0.value) }) { first, _ in first }
        let days = line.days.filter { $0.date >= from }.map { day in
            JSONTree(present: [
                ("date", .text(day.date.text)), ("value", json(day.value)),
                ("observedOn", day.observedOn.map { .text($0.text) }),
                ("trend", trend[day.date.daysSinceEpoch].map(json)),
            ])
        }
        let latest = try await parts.reader.newest(type.id, of: name, limit: 1).first
        let value = latest.flatMap { ValueText.quantity($0)?.value }
        let newest: JSONTree? = value.map { ["value": json($0), "number": .number("\(latest?.number ?? 0)")] }
        let rate = line.isSum ? nil : line.rate(until: subject.today)
        let slope: JSONTree? = rate.map { ["perDay": json($0.perDay), "today": json($0.today)] }
        let aim = parts.settings.goals.value(of: type.id, for: name).map { goal -> JSONTree in
            guard let value, !line.isSum else { return ["value": json(goal)] }
            let forecast = GoalForecast(goal: goal, latest: value, line, today: subject.today)
            let date: JSONTree? = if case .on(let date) = forecast { .text(date.text) } else { nil }
            return JSONTree(present: [("value", json(goal)), ("state", .text(forecast.state.rawValue)), ("date", date)])
        }
        return .json(
            JSONTree(present: [
                ("person", .text(name)), ("type", .text(type.id.rawValue)), ("unit", .text(unit)),
                ("today", .text(subject.today.text)), ("days", .list(days)), ("latest", newest), ("rate", slope),
                ("goal", aim),
            ]))
    }
}

extension APICall {
    /// The day in a parameter.
    fileprivate func date(_ name: String, _ text: String) throws -> LocalDate {
        if let date = LocalDate(text) { return date }
        throw RequestRefusal(
            .unprocessableContent, "There is no such day", "\(name): expected a day such as 2026-03-15.", member: name)
    }
}

extension GoalForecast {
    /// The words of the API for a forecast.
    fileprivate enum State: String, CaseIterable { case reached, reachedOn, inDistantFuture, recedes, tooFewDays }

    fileprivate var state: State {
        switch self {
        case .reached: .reached
        case .on: .reachedOn
        case .inDistantFuture: .inDistantFuture
        case .recedes: .recedes
        case .tooFewDays: .tooFewDays
        }
    }
}
