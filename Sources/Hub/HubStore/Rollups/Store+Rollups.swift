import GRDB
public import Samples

/// A person and type with many samples.
public struct RollupCandidate: Hashable, Sendable {
    public var person: Person
    public var type: TypeID
}

extension Store {
    /// The persons and types for which storing figures of hours may be worthwhile.
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

    /// Computes some of the figures to store for one person and type, without blocking commits.
    ///
    /// Figures are stored for days before yesterday, and again for days with changes. Statistics are the same with and without them.
    /// - Parameters:
    ///   - query: the person, the type, its unit and style, and the order of its sources; the rest is ignored.
    ///   - phase: the offset of the person's hours from whole hours of UTC, in minutes.
    ///   - now: microseconds since 1970.
    /// - Returns: whether there is more to do now.
    public func rollUp(_ query: StatisticsQuery, phase: Int64, now: Int64) async throws(StoreError) -> Bool {
        try await rollUp(query, phase: phase, now: now, from: .usual)
    }

    /// - Parameter density: the minimum density of samples.
    func rollUp(
        _ query: StatisticsQuery, phase: Int64, now: Int64, from density: RollupPlan.Density
    ) async throws(StoreError) -> Bool {
        var asked = StatisticsQuery(of: query.person, query.type, unit: query.unit, query.style)
        (asked.priority, asked.isBySource, asked.usesRollups) = (query.priority, true, false)
        let question = asked
        let plan = try await readSnapshot("roll up") { reader in
            try RollupPlan(question, phase: phase, now: now, density, reader)
        }
        switch plan {
        case .nothing: return false
        case .begin(let key, let terms):
            try await write("roll up", 0) { try $0.caches.rollups.begin(key, terms, in: $0.db) }
            return true
        case .build(let rollup, let days):
            guard try await onWriter("roll up", { [writer] _ in writer.build(rollup, days) }) else { return false }
            let piece = try await readSnapshot("roll up") { reader in
                try RollupPiece(of: rollup, days, question, reader)
            }
            try await write("roll up", 0) { try $0.caches.rollups.keep(piece, in: $0.db) }
            return true
        }
    }

    /// Removes some of the figures that are no longer valid.
    ///
    /// - Returns: whether there is more to remove.
    public func removeEndedRollups() async throws(StoreError) -> Bool {
        guard try await read("roll up", { db in try Rollup.ended(in: db) != nil }) else { return false }
        try await write("roll up", 0) { try Rollup.removeEnded(in: $0.db) }
        return true
    }
}
