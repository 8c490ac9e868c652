import GRDB
import Samples

/// A rule in the store's terms: ids instead of words, and times instead of days.
struct RetentionTerms {
    let types: [Int64]
    private let sources: Set<Int64>?
    /// The series of thinned values of these sources.
    ///
    /// They are removed when their samples would have been.
    private let keptSeries: Set<Int64>
    /// Microseconds since 1970.
    ///
    /// Records that ended earlier are removed.
    let removeBefore: Int64?
    let thinBefore: Int64?

    /// - Parameter now: microseconds since 1970.
    init(_ rule: RetentionRule, now: Int64, in db: Database) throws {
        // A type that is named twice is searched once.
        types = Set(try rule.types.compactMap { try Filter.term($0.rawValue, in: db) }).sorted()
        sources = try rule.sources.map { plugins in
            Set(
                try plugins.flatMap {
                    try Int64.fetchAll(db, sql: "SELECT id FROM source WHERE plugin = ?", arguments: [$0])
                })
        }
        keptSeries = Set(
            try (rule.sources ?? []).compactMap { try Filter.term(ThinnedStatistics.series(of: $0), in: db) })
        removeBefore = rule.removeAfter.map { now - Int64($0) * Filter.dayLength }
        thinBefore = rule.thinAfter.map { now - Int64($0) * Filter.dayLength }
    }

    func concerns(_ type: Int64, _ source: Int64) -> Bool {
        types.contains(type) && sources?.contains(source) ?? true
    }

    /// Whether a sample that ended then is removed.
    func removes(_ ended: Int64) -> Bool { removeBefore.map { ended < $0 } ?? false }

    /// Whether a quantity that ended then is thinned.
    ///
    /// It is not thinned before its day is over in all time zones.
    ///
    /// - Parameter date: its local day; `nil` if unknown.
    func thins(_ date: Int?, _ ended: Int64) -> Bool {
        guard let date, let thinBefore else { return false }
        return Int64(date + 2) <= Filter.floor(thinBefore) && ended < thinBefore
    }

    func removes(day date: Int64, _ type: Int64, _ source: Int64, _ series: Int64) -> Bool {
        guard let removeBefore, date < Filter.floor(removeBefore) else { return false }
        return types.contains(type) && (sources?.contains(source) ?? true || keptSeries.contains(series))
    }
}
