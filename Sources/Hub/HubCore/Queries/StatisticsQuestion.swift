import HubStore
import HubWire
import Samples

/// A QUERY for statistics in the store's terms, with the progress of its answer (Protocol §8.4).
struct StatisticsQuestion: Sendable {
    /// The type's id and unit, and the person's name, as in the answer.
    let type: TypeID
    let unit: String
    let person: String
    let style: AggregationStyle
    let figures: StatisticsOptions
    let intervals: Intervals?
    var walk: StatisticsWalk
    /// The number of intervals that may still come after this answer; `nil` for all.
    private let remaining: Int64?

    /// - Throws: `field` for an invalid question, with the valid choices; `cursor` for a page mark with another format.
    init(_ request: QueryRequest, _ session: ClientSession, _ facts: HubContext) throws(WireError) {
        let names = FilterNames("QUERY", session, facts)
        let type = try Self.type(request, names, session.registry)
        let person = try Self.person(request, names)
        self.person = person
        guard let style = type.aggregation, let unit = type.unit else {
            let members = type.requiredMembers.map(\.rawValue).joined(separator: " and ")
            throw WireError(
                .field,
                "QUERY.types: \(type.id) has no number in its values, and no statistics"
                    + (members.isEmpty ? "; hub samples \(type.id) lists them" : "; \(members) have"), closed: false)
        }
        (self.type, self.unit, self.style) = (type.id, unit, style)
        figures = try Self.figures(request.figures, type, style)
        intervals = try Self.intervals(request.interval, zone: facts.zone(of: person))
        var query = StatisticsQuery(of: person, type.id, unit: unit, style, intervals: intervals)
        query.sources = request.filter.sources.map(Set.init)
        query.priority = facts.priority(of: type.id, person)
        query.isBySource = figures.contains(.bySource)
        query.zone = request.interval?.zone ?? facts.zone(of: person)
        (query.from, query.to) = (request.filter.from?.microseconds, request.filter.to?.microseconds)
        query.since = names.allowance?.since
        var remaining = request.limit
        if let next = request.next { query.first = try Self.mark(next, &remaining, intervals) }
        query.limit = Int(min(remaining ?? .max, Int64(facts.policy.limits.pageRecords)))
        query.reportsNext = remaining.map { $0 > query.limit } ?? true
        self.remaining = remaining
        // Records that a session may not read are treated as absent (R8.7); it may read those that its own plugin gave (R8.120).
        let (reading, asked) = (names.reading, names.reading.asked?.contains(type.id) ?? true)
        if !reading.types.contains(type.id), asked, let own = reading.own {
            query.sources = (query.sources ?? [own]).intersection([own])
        } else {
            query.reportsThinned = true
        }
        walk = asked && (reading.types.contains(type.id) || reading.own != nil) ? StatisticsWalk(query) : .empty(query)
    }

    /// The mark of the next page; `nil` after the last.
    var next: String? {
        guard let next = walk.next else { return nil }
        guard let remaining else { return "\(next)" }
        let left = remaining - Int64(walk.rows.count)
        return left > 0 ? "\(left):\(next)" : nil
    }

    private static func type(
        _ request: QueryRequest, _ names: FilterNames, _ registry: TypeRegistry
    ) throws(WireError) -> HealthType {
        guard let asked = request.filter.types, asked.count == 1, let name = asked.first else {
            throw WireError(.field, "QUERY.types: statistics are of one type; name it", closed: false)
        }
        _ = try names.types(asked)
        guard let type = registry.resolve(name) else {
            throw WireError(
                .field, "QUERY.types: the hub does not know how values of this type are added up or averaged",
                closed: false)
        }
        return type
    }

    private static func person(_ request: QueryRequest, _ names: FilterNames) throws(WireError) -> String {
        if let asked = request.filter.persons {
            let persons = try names.persons(asked) ?? []
            if asked.count == 1, let person = persons.first { return person }
        } else if names.persons.count == 1, let person = names.persons.first {
            return person
        }
        throw WireError(
            .field,
            "QUERY.persons: statistics are of one person; there are: \(names.listed)", closed: false)
    }

    private static func figures(
        _ asked: [String]?, _ type: HealthType, _ style: AggregationStyle
    ) throws(WireError) -> StatisticsOptions {
        guard let asked else { return style == .cumulative ? [.sum] : [.average, .minimum, .maximum] }
        var options: StatisticsOptions = []
        for name in asked {
            guard let option = StatisticsOptions.names.first(where: { $0.key == name })?.value else {
                let names = StatisticsOptions.names.map(\.key).joined(separator: ", ")
                throw WireError(
                    .field,
                    "QUERY.figures: no figure \(RawJSON.string(String(name.prefix(64))).text); there are: \(names)",
                    closed: false)
            }
            options.insert(option)
        }
        if let fault = options.fault(for: type) {
            throw WireError(.field, "QUERY.figures: \(fault)", closed: false)
        }
        return options
    }

    private static func intervals(_ asked: StatisticsInterval?, zone: String) throws(WireError) -> Intervals? {
        guard let asked else { return nil }
        let unit: Intervals.Unit =
            switch asked.unit {
            case .hour: .hour
            case .day: .day
            case .week: .week
            case .month: .month
            case .year: .year
            }
        let zone = asked.zone ?? zone
        let intervals =
            if let anchor = asked.anchor {
                Intervals(every: asked.every, unit, anchor: anchor.microseconds, zone: zone)
            } else {
                Intervals(every: asked.every, unit, zone: zone)
            }
        guard let intervals else {
            throw WireError(
                .field, "QUERY.interval.zone: no zone \(RawJSON.string(String(zone.prefix(64))).text) on this machine",
                closed: false)
        }
        return intervals
    }

    private static func mark(
        _ next: String, _ remaining: inout Int64?, _ intervals: Intervals?
    ) throws(WireError) -> Int64 {
        var mark = Substring(next)
        var left: Int64?
        if remaining != nil {
            let parts = next.split(separator: ":", maxSplits: 1)
            (left, mark) = (parts.first.flatMap { Int64($0) }, parts.last ?? "")
        }
        guard let intervals, let time = Int64(mark), Timestamp.range.contains(time),
            intervals.border(intervals.number(of: time)) == time, left.map({ $0 > 0 && $0 <= remaining ?? 0 }) ?? true
        else { throw WireError(.cursor, "QUERY.next: not the mark of a page of this query") }
        remaining = left
        return time
    }
}

extension HubContext {
    /// The zone of a person by name or uid, or else of the first person.
    fileprivate func zone(of person: String) -> String {
        (persons.first { $0.name == person } ?? persons.first)?.zone ?? "UTC"
    }
}
