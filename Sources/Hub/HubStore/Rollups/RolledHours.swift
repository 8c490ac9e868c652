import GRDB
import Samples

/// The stored figures by hour of one person and type, for a query within one snapshot.
final class RolledHours {
    /// The state of the figures from an instant on.
    enum HourCoverage {
        /// Figures are stored up to `until`.
        case kept(RolledDay.Hour, until: Int64)
        /// The samples have to be read up to `until`.
        case unknown(until: Int64)
    }

    private enum Row {
        case changed
        case day(total: [UInt8], hours: [UInt8])
    }

    /// Number of days read at once.
    private static let daysAtOnce: Int64 = 64

    private let rollup: Rollup
    private let isBySource: Bool
    private let db: Database
    private var rows: [Int64: Row] = [:]
    /// The days that `rows` covers completely.
    private var known: Range<Int64> = 0..<0

    /// - Returns: `nil` if no stored figures can answer the query.
    init?(_ query: StatisticsQuery, _ key: Rollup.Key, unit: Int64, _ db: Database) throws {
        guard query.usesRollups, key.person != 0, let rollup = try Rollup.find(key, in: db) else { return nil }
        // The set of sources with data does not depend on their ranking.
        guard let priority = query.sources == nil ? query.priority : rollup.terms.sources,
            rollup.terms == Rollup.Terms(unit: unit, query.style, priority, phase: rollup.terms.phase)
        else { return nil }
        (self.rollup, self.db, isBySource) = (rollup, db, query.isBySource)
    }

    /// - Parameters:
    ///   - place: microseconds since 1970.
    ///   - border: the end of the requested stretch.
    func stretch(from place: Int64, to border: Int64) throws -> HourCoverage {
        let day = rollup.day(of: place)
        guard day < rollup.through else { return .unknown(until: .max) }
        let start = rollup.start(of: day)
        let (hour, rest) = (place - start).quotientAndRemainder(dividingBy: Rollup.hour)
        let end = Int(min(24, (border - start) / Rollup.hour))
        guard rest == 0, hour < end else {
            return .unknown(until: min(border, start + (hour + 1) * Rollup.hour))
        }
        let until = start + Int64(end) * Rollup.hour
        var sums = RolledDay.Hour()
        switch try row(day) {
        // A missing row means that the day has no data.
        case nil: return .kept(sums, until: until)
        case .changed: return .unknown(until: min(border, start + Rollup.day))
        case .day(let total, let hours):
            let isRight =
                hour == 0 && end == 24
                ? RolledDay.add(total: total, to: &sums, bySource: isBySource)
                : RolledDay.add(hours: hours, Int(hour)..<end, to: &sums, bySource: isBySource)
            // The bytes are malformed, which no writer produces. The samples give the same figures.
            return isRight ? .kept(sums, until: until) : .unknown(until: min(border, start + Rollup.day))
        }
    }

    /// Maximum number of days skipped at once.
    private static let daysPassedAtOnce = 1_024

    /// An instant at or after `time`; between the two, none of these sources has any figures.
    func first(from time: Int64, of sources: Set<Int64>) throws -> Int64 {
        var day = rollup.day(of: time)
        let end = min(rollup.through, day + Int64(Self.daysPassedAtOnce))
        passing: while day < end {
            switch try row(day) {
            case nil: break
            case .changed: break passing
            case .day(let total, _):
                var sums = RolledDay.Hour()
                guard RolledDay.add(total: total, to: &sums, bySource: true),
                    sources.isDisjoint(with: sums.sources.keys)
                else { break passing }
            }
            day += 1
        }
        return max(time, rollup.start(of: day))
    }

    /// The beginning of the hour that contains an instant.
    func hour(of time: Int64) -> Int64 {
        let start = rollup.start(of: rollup.day(of: time))
        return start + (time - start) / Rollup.hour * Rollup.hour
    }

    private func row(_ day: Int64) throws -> Row? {
        if known.contains(day) { return rows[day] }
        known = day..<min(day + Self.daysAtOnce, rollup.through)
        rows.removeAll(keepingCapacity: true)
        let statement = try RawStatement(
            cached: "SELECT slot, total, hours FROM rollup_day WHERE slot >= ?1 AND slot < ?2", in: db)
        defer { statement.clear() }
        statement.bind(1, rollup.slot(known.lowerBound))
        statement.bind(2, rollup.slot(known.upperBound))
        while try statement.step() {
            let day = rollup.day(ofSlot: statement.integer(0))
            if let total = statement.bytes(1), let hours = statement.bytes(2) {
                rows[day] = .day(total: total, hours: hours)
            } else {
                rows[day] = .changed
            }
        }
        return rows[day]
    }
}
