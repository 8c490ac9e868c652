import GRDB
import Samples

/// Recomputes the stored figures from the samples.
enum RollupCheck {
    static func discrepancies(in db: Database) throws -> [String] {
        var found: [String] = []
        let reader = try SnapshotReader(db, TermCache())
        for rollup in try Rollup.all(in: db) {
            let type = try reader.termCache.type(rollup.key.type, in: db)
            let person = try reader.termCache.person(rollup.key.person, in: db)
            var query = StatisticsQuery(
                of: person.uid, type, unit: try reader.termCache.term(rollup.terms.unit, in: db), rollup.terms.style)
            // Figures of an earlier hub answer no query and are computed again.
            guard let priority = rollup.terms.sources else { continue }
            query.priority = priority
            (query.isBySource, query.usesRollups) = (true, false)
            guard let wrong = try firstWrongDay(of: rollup, query, reader) else { continue }
            let date = LocalDate(daysSinceEpoch: Int(wrong)).text
            found.append("statistics of \(type) of \(person.name): those kept of \(date) do not match its samples")
        }
        return found
    }

    private static func firstWrongDay(
        of rollup: Rollup, _ query: StatisticsQuery, _ reader: SnapshotReader
    ) throws -> Int64? {
        let rows = try RawStatement(
            new: "SELECT slot, total, hours FROM rollup_day WHERE slot >= ? AND slot < ? ORDER BY slot", in: reader.db)
        rows.bind(1, rollup.keptSlots.lowerBound)
        rows.bind(2, rollup.keptSlots.upperBound)
        let readings = try StatisticsReadings(query, reader)
        var day = try readings?.starts().map { rollup.day(of: $0.lowerBound) } ?? rollup.through
        var isRow = try rows.step()
        while day < rollup.through || isRow {
            let kept = isRow ? rollup.day(ofSlot: rows.integer(0)) : rollup.through
            guard kept >= day else { return kept }
            if isRow, kept == day, rows.isNull(2) {
                // The day is still to be computed.
                (day, isRow) = (day + 1, try rows.step())
                continue
            }
            guard let readings else { return kept }
            let (figures, count) = try RollupPiece.figures(of: rollup, day, readings)
            let bytes = isRow && kept == day ? rows.bytes(2) : nil
            guard RolledDay.areSame(bytes, figures?.hours) else { return day }
            if isRow, kept == day { isRow = try rows.step() }
            day += 1
            if count == 0, day < rollup.through {
                let next =
                    try readings.start(from: rollup.start(of: day)).map { rollup.day(of: $0.time) } ?? rollup.through
                day = max(day, min(next, rollup.through, isRow ? rollup.day(ofSlot: rows.integer(0)) : .max))
            }
        }
        return nil
    }
}
