import GRDB
public import Samples

/// The days of a person and type whose samples retention has thinned and replaced by a value of the hub.
public struct ThinnedDays: Sendable, Hashable {
    /// The number of calendar days.
    public let count: Int
    public let first, last: LocalDate
    /// The series of the values: `kept.` and the plugin kind.
    public let series: [String]

    /// `nil` if there are none in the span of the query.
    init?(_ query: StatisticsQuery, in db: Database) throws {
        guard let person = try Filter.person(query.person, in: db) else { return nil }
        func day(_ time: Int64?, or other: Int) -> Int {
            time.flatMap {
                LocalDay.number(
                    of: Timestamp(microseconds: $0), sampleZone: nil, personZone: query.zone, policy: .fixed)
            } ?? other
        }
        let prefix = ThinnedStatistics.series(of: "")
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT t.text, day.date FROM term t
                JOIN day INDEXED BY day_identity ON day.series = t.id
                    AND day.person = ?1
                    AND day.type = (SELECT id FROM term WHERE text = ?2) AND day.date BETWEEN ?3 AND ?4
                JOIN source ON source.id = day.source AND source.plugin = ?5
                WHERE t.text >= ?6 AND t.text < ?7 AND day.retracted IS NULL
                """,
            arguments: [
                person, query.type.rawValue,
                day([query.from, query.since].compactMap(\.self).max(), or: Int(Int32.min)),
                day(query.to.map { $0 - 1 }, or: Int(Int32.max)), IntakeCounts.hand, prefix, prefix + "\u{10FFFF}",
            ])
        var (days, series): (Set<Int>, Set<String>) = ([], [])
        for row in rows {
            let name: String = row[0]
            guard query.sources?.contains(String(name.dropFirst(prefix.count))) ?? true else { continue }
            days.insert(row[1])
            series.insert(name)
        }
        guard let first = days.min(), let last = days.max() else { return nil }
        (count, self.series) = (days.count, series.sorted())
        (self.first, self.last) = (LocalDate(daysSinceEpoch: first), LocalDate(daysSinceEpoch: last))
    }
}
