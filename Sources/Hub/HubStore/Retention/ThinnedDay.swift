import GRDB
public import Samples

/// Samples of one person, type, plugin kind and day that are replaced by one value.
public struct ThinnedDay: Hashable, Sendable {
    var personID: Int64
    var person: Person
    public let type: TypeID
    var plugin: String
    var date: LocalDate
    var samples: [Version]

    struct Version: Hashable, Sendable {
        var number: Int64
        var sequence: Int64
    }
}

extension ThinnedDay {
    /// Stores statistics of a day's samples as a day value of the hub, and schedules the samples for removal.
    ///
    /// - Returns: `nil` if nothing was done: all samples have changed, or an erasure is under way.
    func store(isCumulative: Bool, in transaction: inout WriteTransaction) throws -> ManualResult? {
        let db = transaction.db
        // Records chosen for erasure must not remain in the statistics of their day.
        guard try Int64.fetchOne(db, sql: "SELECT 1 FROM erasure") == nil else { return nil }
        var statistics = try ThinnedStatistics.stored(for: self, in: transaction)
        var numbers: [ThinnedDay.Version] = []
        var unit: String?
        for version in samples {
            guard let row = try transaction.find(SampleRow.byNumber, version.number), row.sequence == version.sequence,
                case .quantity(let value, let given) = row.sample.value
            else { continue }
            statistics.take(row.canonical?.value ?? value, at: row.sample.start.microseconds)
            unit = row.canonical?.unit ?? given
            numbers.append(version)
        }
        guard let unit, !numbers.isEmpty else { return nil }
        let day = DayValue(
            source: Source(plugin: IntakeCounts.hand), person: person.name, type: type,
            series: ThinnedStatistics.series(of: plugin), date: date,
            value: isCumulative ? statistics.sum : statistics.mean, unit: unit, method: "retention", basis: [],
            metadata: statistics.metadata)
        let intake = IntakeRecord(record: .day(day), assignment: .person(person))
        let result = try transaction.store(IntakeBatch(instance: IntakeCounts.hand, records: [intake]))[0]
        guard case .stored(let placement) = result else { return ManualResult(number: 0, result: result) }
        for version in numbers {
            let insert = try RawStatement(
                cached: "INSERT OR REPLACE INTO removal (number, seq) VALUES (?1, ?2)", in: db)
            insert.bind(1, version.number)
            insert.bind(2, version.sequence)
            try insert.run()
        }
        return ManualResult(number: placement.number, result: .stored(placement.showing(intake)))
    }
}

/// The statistics that remain of thinned samples.
struct ThinnedStatistics {
    private var count: Int64 = 0
    private(set) var sum = 0.0
    private var least = Double.infinity
    private var most = -Double.infinity
    private var first: Moment?
    private var last: Moment?

    /// A value and the start of its sample.
    private struct Moment {
        var value: Double
        var start: Int64
        var text: String { Timestamp(microseconds: start).text }
    }

    var mean: Double { count == 0 ? 0 : sum / Double(count) }

    /// The series of the statistics of one plugin's samples.
    static func series(of plugin: String) -> String { "kept.\(plugin)" }

    /// Adds a value, in any order: samples of a day may arrive later than others that began after them.
    mutating func take(_ value: Double, at start: Int64) {
        count += 1
        sum += value
        (least, most) = (min(least, value), max(most, value))
        let moment = Moment(value: value, start: start)
        if first.map({ start < $0.start }) ?? true { first = moment }
        if last.map({ start >= $0.start }) ?? true { last = moment }
    }

    var metadata: JSONObject? {
        guard let first, let last else { return nil }
        return JSONObject(
            #"{"count":\#(count),"min":\#(least),"max":\#(most),"mean":\#(mean),"sum":\#(sum),"first":\#(first.value),"last":\#(last.value),"firstStart":"\#(first.text)","lastStart":"\#(last.text)"}"#
        )
    }

    /// The statistics of samples of the same day that were thinned earlier.
    static func stored(for thinned: ThinnedDay, in transaction: borrowing WriteTransaction) throws -> ThinnedStatistics
    {
        var statistics = ThinnedStatistics()
        let db = transaction.db
        guard let type = try Filter.term(thinned.type.rawValue, in: db),
            let series = try Filter.term(series(of: thinned.plugin), in: db),
            let known = try transaction.findDay(thinned.personID, type, series, thinned.date), known.retraction == nil,
            let text = known.day.metadata?.text,
            let row = try Row.fetchOne(
                db,
                sql: """
                    SELECT json_extract(?1, '$.count'), json_extract(?1, '$.sum'), json_extract(?1, '$.min'),
                        json_extract(?1, '$.max'), json_extract(?1, '$.first'), json_extract(?1, '$.last'),
                        json_extract(?1, '$.firstStart'), json_extract(?1, '$.lastStart')
                    """, arguments: [text]),
            let count = row[0] as Int64?
        else { return statistics }
        statistics.count = count
        statistics.sum = row[1] ?? 0
        (statistics.least, statistics.most) = (row[2] ?? .infinity, row[3] ?? -.infinity)
        // Older hubs did not store the times. Their samples count as samples at midnight UTC.
        func moment(_ value: Int, _ start: Int) -> Moment? {
            guard let number = row[value] as Double? else { return nil }
            let time = (row[start] as String?).flatMap { try? Timestamp(parsing: $0) }
            let midnight = Int64(thinned.date.daysSinceEpoch) * Filter.dayLength
            return Moment(value: number, start: time?.microseconds ?? midnight)
        }
        (statistics.first, statistics.last) = (moment(4, 6), moment(5, 7))
        return statistics
    }
}
