import HubClient
import HubWire
import Samples

/// Asks a hub for the days of a person that have a summary, or samples from which one can be computed.
struct ActivityQuery {
    let person: String
    let range: ClosedRange<LocalDate>
    /// The person's IANA zone.
    let zone: String
    let door: DoorClient

    /// The days in the order of time, and advice about days whose samples are gone.
    func days() throws -> (days: [ActivityDay], advice: [String]) {
        let summaries = try summaries()
        let ranks = summaries.values.contains { $0.count > 1 } ? try ranks() : [:]
        var days: [LocalDate: ActivityDay] = [:]
        for (date, several) in summaries {
            func rank(_ day: ActivityDay) -> Int64 { day.record.flatMap { ranks[$0.source] } ?? .max }
            days[date] = several.min { rank($0) < rank($1) }
        }
        let (computed, advice) = try computed()
        for (date, summary) in computed where days[date] == nil {
            days[date] = ActivityDay(date: date, summary: summary)
        }
        return (days.values.sorted { $0.date < $1.date }, advice)
    }

    /// The summaries of all sources, by day.
    private func summaries() throws -> [LocalDate: [ActivityDay]] {
        var days: [LocalDate: [ActivityDay]] = [:]
        try samples(of: .activitySummary) { stored, sample in
            guard let date = sample.activitySummaryDate, range.contains(date), let summary = sample.activitySummary
            else { return }
            days[date, default: []].append(
                ActivityDay(date: date, summary: summary, record: (sample.source, stored.number)))
        }
        return days
    }

    /// The rank of each source, as for statistics.
    private func ranks() throws -> [Source: Int64] {
        let ranks = try door.sources(filter(of: .activitySummary)).compactMap { tally in
            let source = tally.source
            return tally.rank.map {
                (Source(plugin: source.plugin, device: source.device, account: source.account), $0)
            }
        }
        return Dictionary(ranks, uniquingKeysWith: min)
    }

    /// The summaries computed from samples, by day.
    private func computed() throws -> (days: [LocalDate: ActivitySummary], advice: [String]) {
        var days: [LocalDate: ActivitySummary] = [:]
        var advice: [String] = []
        let sums: [(TypeID, WritableKeyPath<ActivitySummary, ActivitySummary.Figure?>)] = [
            (.activeEnergyBurned, \.activeEnergyBurned), (.appleMoveTime, \.appleMoveTime),
            (.appleExerciseTime, \.appleExerciseTime),
        ]
        for (type, figure) in sums {
            let page = try self.sums(of: type)
            for interval in page.intervals {
                guard let sum = interval.figures.sum, let date = LocalDate(interval.from.prefix(10)),
                    range.contains(date)
                else { continue }
                days[date, default: ActivitySummary()][keyPath: figure] = ActivitySummary.Figure(sum, unit: page.unit)
            }
            if let thinned = page.thinned, let first = LocalDate(thinned.first), let last = LocalDate(thinned.last),
                first <= range.upperBound, last >= range.lowerBound
            {
                advice += [page.thinnedAdvice].compactMap(\.self)
            }
        }
        for (date, hours) in try standHours() {
            days[date, default: ActivitySummary()].appleStandHours = ActivitySummary.Figure(
                Double(hours), unit: "count")
        }
        return (days, advice)
    }

    private func sums(of type: TypeID) throws -> StatisticsPage {
        var query = QueryRequest(id: 0, want: .statistics, filter: filter(of: type))
        query.interval = StatisticsInterval(.day, zone: zone)
        query.figures = ["sum"]
        return try StatsAnswer(query, door).statistics()
    }

    /// The number of hours of each day with a sample `stood`; several sources of the same hour count once.
    private func standHours() throws -> [LocalDate: Int] {
        var hours: [LocalDate: Set<Int64>] = [:]
        try samples(of: .appleStandHour) { stored, sample in
            guard case .category(_, 0) = sample.value, stored.implausible.isEmpty, !sample.isFilled,
                let date = LocalDay.of(sample.start, sampleZone: sample.zone, personZone: zone, policy: .fixed),
                range.contains(date)
            else { return }
            hours[date, default: []].insert(sample.start.microseconds / 3_600_000_000)
        }
        return hours.mapValues(\.count)
    }

    // MARK: - Queries

    /// The filter for a type, with one more day on both sides: at the source's place, the day may begin earlier or later than in the person's zone.
    private func filter(of type: TypeID) -> QueryRequest.Filter {
        var filter = QueryRequest.Filter()
        filter.types = [type.rawValue]
        filter.persons = [person]
        filter.from = midnight(range.lowerBound.adding(days: -1))
        filter.to = midnight(range.upperBound.adding(days: 2))
        return filter
    }

    private func midnight(_ date: LocalDate) -> Timestamp {
        let time = Int64(date.daysSinceEpoch) * 86_400_000_000
        return Timestamp(microseconds: min(max(time, Timestamp.range.lowerBound), Timestamp.range.upperBound))
    }

    private func samples(of type: TypeID, _ take: (StoredRecord, Sample) -> Void) throws {
        try door.records(QueryRequest(id: 0, filter: filter(of: type), order: .time)) { stored in
            if case .sample(let sample) = stored.record { take(stored, sample) }
        }
    }
}

extension Sample {
    fileprivate var isFilled: Bool { if case .filled = provenance { true } else { false } }
}
