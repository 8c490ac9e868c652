import GRDB
import Samples

/// The next step for the rollup of one person and type.
enum RollupPlan {
    case nothing
    case begin(Rollup.Key, Rollup.Terms)
    /// Compute as many of these days as fit in a short time.
    case build(Rollup, Range<Int64>)

    /// The minimum number and density of samples.
    ///
    /// Below it, reading the samples is as fast as reading figures.
    struct Density {
        var samples: Int64
        var ofDay: Int64

        static let usual = Density(samples: 2_000, ofDay: 16)
    }
    init(_ query: StatisticsQuery, phase: Int64, now: Int64, _ density: Density, _ reader: SnapshotReader) throws {
        self = .nothing
        guard let readings = try StatisticsReadings(query, reader), let key = readings.key,
            let starts = try readings.starts()
        else { return }
        let terms = Rollup.Terms(unit: readings.unit, query.style, query.priority, phase: phase)
        guard let rollup = try Rollup.find(key, in: reader.db), rollup.terms == terms else {
            if try Self.areMany(key, density, reader.db) { self = .begin(key, terms) }
            return
        }
        // Recent days get most of the new samples, so they are not stored.
        let end = rollup.day(of: min(starts.upperBound, now)) - 1
        let hole = try RawStatement(
            cached: """
                SELECT slot FROM rollup_day WHERE hours IS NULL AND slot >= ?1 AND slot < ?2 ORDER BY slot LIMIT 1
                """, in: reader.db)
        defer { hole.clear() }
        hole.bind(1, rollup.keptSlots.lowerBound)
        hole.bind(2, rollup.keptSlots.upperBound)
        if try hole.step() {
            let day = rollup.day(ofSlot: hole.integer(0))
            self = .build(rollup, day..<(day + 1))
        } else if rollup.through < end {
            self = .build(rollup, rollup.through..<end)
        }
    }

    /// Whether the newest or the oldest samples are dense enough; a few samples with a wrong time are ignored.
    private static func areMany(_ key: Rollup.Key, _ density: Density, _ db: Database) throws -> Bool {
        let strays: Int64 = density.ofDay == 0 ? 0 : 16
        func start(_ order: String, _ place: Int64) throws -> Int64? {
            let statement = try RawStatement(
                cached: """
                    SELECT start FROM sample INDEXED BY sample_history WHERE person = ?1 AND type = ?2
                    ORDER BY start \(order) LIMIT 1 OFFSET ?3
                    """, in: db)
            defer { statement.clear() }
            statement.bind(1, key.person)
            statement.bind(2, key.type)
            statement.bind(3, place)
            return try statement.step() ? statement.integer(0) : nil
        }
        return try ["DESC", "ASC"].contains { order in
            guard let last = try start(order, strays + density.samples - 1), let first = try start(order, strays) else {
                return false
            }
            return abs(first - last) / Rollup.day * density.ofDay <= density.samples
        }
    }
}

/// The figures of some days, computed in one snapshot.
struct RollupPiece: Sendable {
    /// The rollup that the figures are for.
    let id: Int64
    /// The days with data.
    private(set) var days: [(day: Int64, figures: RolledDay)] = []
    /// The first day examined, and the first day after it that was not.
    let begin: Int64
    private(set) var end: Int64

    /// Days with more samples are computed hour by hour.
    private static let samplesAtOnce = 100_000

    init(of rollup: Rollup, _ days: Range<Int64>, _ query: StatisticsQuery, _ reader: SnapshotReader) throws {
        (id, begin, end) = (rollup.id, days.lowerBound, days.lowerBound)
        guard let readings = try StatisticsReadings(query, reader) else { return }
        let limit = ContinuousClock.now + PageTimeLimit.usual.duration
        while end < days.upperBound, end == begin || ContinuousClock.now < limit {
            let (figures, count) = try Self.figures(of: rollup, end, readings)
            if let figures { self.days.append((end, figures)) }
            end += 1
            guard count == 0, end < days.upperBound else { continue }
            // No sample extends into the day, so skip to the start of the next sample.
            let next =
                try readings.start(from: rollup.start(of: end)).map { rollup.day(of: $0.time) } ?? days.upperBound
            end = max(end, min(next, days.upperBound))
        }
    }

    /// The figures of a day, and the number of samples.
    static func figures(
        of rollup: Rollup, _ day: Int64, _ readings: StatisticsReadings
    ) throws -> (figures: RolledDay?, count: Int) {
        let borders = (0...24).map { rollup.start(of: day) + $0 * Rollup.hour }
        if let (figures, count, _) = try readings.figures(borders, most: samplesAtOnce) {
            return (RolledDay(figures.map(readings.rolled)), count)
        }
        var (hours, count) = ([RolledDay.Hour](), 0)
        for hour in 0..<24 {
            guard let part = try readings.figures(Array(borders[hour...hour + 1]), most: .max) else { continue }
            hours += part.figures.map(readings.rolled)
            count += part.count
        }
        return (RolledDay(hours), count)
    }
}
