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
        APIRoute(
            method: .get, path: "/statistics", topic: "Figures",
            summary: "Sums, averages, least and greatest of one type and person: once, or for each interval.",
            parameters: [
                APIParameter(
                    name: "type", form: .text(), help: "A type whose values are quantities.", isRequired: true),
                APIParameter(
                    name: "person", form: .text(), help: "The person; may be left out if the viewer sees only one."),
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
        APIRoute(
            method: .get, path: "/trend", topic: "Figures",
            summary:
                "How a type's values of one person change, and when their goal is reached, as the page Today says.",
            parameters: [
                APIParameter(name: "type", form: .text(), help: "A type of numbers.", isRequired: true),
                APIParameter(
                    name: "person", form: .text(), help: "The person; may be left out if the viewer sees only one."),
                APIParameter(
                    name: "from", form: date, help: "Days from then on, at most 4,000; not given: those of a month."),
            ], answer: .init(help: "In the type's own unit.", schema: trendForm), handle: trend),
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
        guard let person = parts.hub.persons.first(where: { $0.name == name }) else { throw NoSuchPage() }
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
        let days = line.days.filter { $0.date >= from }.map { day -> JSONTree in
            var members: [JSONTree.Member] = [.init("date", .text(day.date.text)), .init("value", json(day.value))]
            if let observed = day.observedOn { members.append(.init("observedOn", .text(observed.text))) }
            if let point = trend[day.date.daysSinceEpoch] { members.append(.init("trend", json(point))) }
            return .object(members)
        }
        var members: [JSONTree.Member] = [
            .init("person", .text(name)), .init("type", .text(type.id.rawValue)), .init("unit", .text(unit)),
            .init("today", .text(subject.today.text)), .init("days", .list(days)),
        ]
        let latest = try await parts.reader.newest(type.id, of: name, limit: 1).first
        let value = latest.flatMap { ValueText.quantity($0)?.value }
        if let latest, let value {
            members.append(.init("latest", ["value": json(value), "number": .number("\(latest.number)")]))
        }
        if !line.isSum, let rate = line.rate(until: subject.today) {
            members.append(.init("rate", ["perDay": json(rate.perDay), "today": json(rate.today)]))
        }
        if let goal = parts.settings.goals.value(of: type.id, for: name) {
            var aim: [JSONTree.Member] = [.init("value", json(goal))]
            if let value, !line.isSum {
                let forecast = GoalForecast(goal: goal, latest: value, line, today: subject.today)
                aim.append(.init("state", .text(forecast.state.rawValue)))
                if case .on(let date) = forecast { aim.append(.init("date", .text(date.text))) }
            }
            members.append(.init("goal", .object(aim)))
        }
        return .json(.object(members))
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
