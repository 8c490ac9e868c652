import GRDB
import HealthStatistics
public import Samples

/// Whose samples of which type are many.
public struct RollupCandidate: Hashable, Sendable {
    public var person: Person
    public var type: TypeID
}

extension Store {
    /// The persons and types of which it may be worth while to keep figures of hours.
    public func rollupCandidates() async throws(StoreError) -> [RollupCandidate] {
        try await read("look for rollups") { [readerTerms] db in
            let statement = try RawStatement(
                cached: """
                    SELECT person, type FROM stream WHERE kind = 0 AND person IS NOT NULL AND type IS NOT NULL
                    GROUP BY person, type HAVING sum(count) >= \(RollupPlan.Density.usual.samples) ORDER BY person, type
                    """, in: db)
            defer { statement.clear() }
            var found: [RollupCandidate] = []
            while try statement.step() {
                let person = try readerTerms.person(statement.integer(0), in: db)
                found.append(RollupCandidate(person: person, type: try readerTerms.type(statement.integer(1), in: db)))
            }
            return found
        }
    }

    /// Computes some of the figures of whole hours that are to be kept of one person and type, beside the commits.
    ///
    /// They are kept of days before yesterday, and again of days in which something has changed. Statistics that use them and those that
    /// read the samples are the same.
    /// - Parameters:
    ///   - query: the person, the type, its unit and style, and the order of its sources; the rest of it does not count.
    ///   - phase: minutes after a whole hour of UTC at which the person's hours begin.
    ///   - now: microseconds since 1970.
    /// - Returns: whether there is more to do at once.
    public func rollUp(_ query: StatisticsQuery, phase: Int64, now: Int64) async throws(StoreError) -> Bool {
        try await rollUp(query, phase: phase, now: now, from: .usual)
    }

    /// - Parameter density: of how many samples on.
    func rollUp(
        _ query: StatisticsQuery, phase: Int64, now: Int64, from density: RollupPlan.Density
    ) async throws(StoreError) -> Bool {
        var asked = StatisticsQuery(of: query.person, query.type, unit: query.unit, query.style)
        (asked.priority, asked.isBySource, asked.usesRollups) = (query.priority, true, false)
        let question = asked
        let plan = try await read("roll up") { [readerTerms] db in
            try RollupPlan(question, phase: phase, now: now, density, Reader(db, readerTerms))
        }
        switch plan {
        case .nothing: return false
        case .begin(let key, let terms):
            try await write("roll up", 0) { transaction in try transaction.begin(key, terms) }
            return true
        case .build(let rollup, let days):
            guard try await onWriter("roll up", { [writer] _ in writer.build(rollup, days) }) else { return false }
            let piece = try await read("roll up") { [readerTerms] db in
                try RollupPiece(of: rollup, days, question, Reader(db, readerTerms))
            }
            try await write("roll up", 0) { transaction in try transaction.keep(piece) }
            return true
        }
    }

    /// Removes some of what is kept and does not hold any more.
    ///
    /// - Returns: whether there is more to remove.
    public func removeEndedRollups() async throws(StoreError) -> Bool {
        guard try await read("roll up", { db in try Rollup.ended(in: db) != nil }) else { return false }
        try await write("roll up", 0) { transaction in try transaction.removeEnded() }
        return true
    }
}
