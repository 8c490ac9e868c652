import GRDB
import Samples

/// Retention: what `hub.conf` says how long records are kept (Docs/Storage.md, *What is kept for a time*).
extension Store {
    /// Carries a rule out, or counts what it would do, in pieces.
    ///
    /// - Parameters:
    ///   - earlier: for a dry run the rules before it, which take what they are about first.
    ///   - now: microseconds since 1970.
    ///   - zones: those of persons, by name, for samples that know no local time; else UTC.
    ///   - thin: has samples of a day thinned, in the line of the commits, and says what became of the value; `nil` for a dry run.
    ///   - pause: called between pieces; `false` ends the work, and the next call goes on.
    public func retain(
        _ rule: RetentionRule, after earlier: [RetentionRule] = [], now: Int64, zones: [String: String] = [:],
        thin: ((ThinnedDay) async throws -> ManualResult?)?, pause: () async -> Bool
    ) async throws -> RetentionCount {
        if thin != nil, try await !finishThinning(pause: pause) { return RetentionCount() }
        var reader = try await read("retention") { db in
            try RetentionReader(rule, after: earlier, now: now, zones: zones, in: db)
        }
        var done = RetentionCount()
        var goesOn = true
        while goesOn, !reader.isOver {
            let before = reader
            let (after, piece) = try await read("retention") { [readerTerms] db in
                var reader = before
                let piece = try reader.next(readerTerms, in: db)
                return (reader, piece)
            }
            reader = after
            if let thin {
                if !piece.removable.isEmpty {
                    done.removed += try await write("retention", now) { transaction in
                        try transaction.remove(piece.removable)
                    }
                }
                if let thinned = piece.thinned {
                    try await note(try await thin(thinned)?.result, thinned, &done)
                    let numbers = thinned.samples.map(\.number)
                    let range = (numbers.min() ?? 0)...(numbers.max() ?? 0)
                    goesOn = try await finishThinning(of: range, pause: pause)
                }
            }
            if goesOn { goesOn = await pause() }
        }
        guard thin != nil else { return reader.count }
        (done.waiting, done.waitingFor) = (reader.count.waiting, reader.count.waitingFor)
        return done
    }

    /// Counts what became of samples that were to be thinned.
    private func note(_ result: StoreResult?, _ thinned: ThinnedDay, _ count: inout RetentionCount) async throws {
        switch result {
        case .stored:
            count.thinned += try await read("retention") { db in
                try thinned.samples.reduce(0) { count, version in
                    // What changed before it was counted is thinned in its new version, later.
                    let isCounted = try RetentionReader.isCounted(version.number, version.sequence, in: db)
                    return try isCounted || Facts.current(version.number, in: db) == nil ? count + 1 : count
                }
            }
        case .duplicate(let number, _):
            count.left += Int64(thinned.samples.count)
            count.reason = "a person took back or erased record \(number), the value of their day"
        case .rejected(let rejection):
            count.left += Int64(thinned.samples.count)
            count.reason = rejection.reason
        case nil: break
        }
    }

    /// What some of the rules would do, each after those before it; the values that thinning makes are not counted.
    ///
    /// - Parameter isWanted: which of them are counted.
    public func count(
        _ rules: [RetentionRule], where isWanted: (RetentionRule) -> Bool = { _ in true }, now: Int64,
        zones: [String: String] = [:]
    ) async throws(StoreError) -> [RetentionCount] {
        var counts: [RetentionCount] = []
        for (index, rule) in rules.enumerated() where isWanted(rule) {
            do {
                counts.append(
                    try await retain(rule, after: Array(rules[..<index]), now: now, zones: zones, thin: nil) { true })
            } catch {
                throw StoreError(error, doing: "count what a retention rule is for in \(path)", path)
            }
        }
        return counts
    }

    /// Removes samples whose statistics are kept already, whatever the rules are now: what a kill or a sink held up.
    ///
    /// - Parameter pause: called between pieces; `false` ends the work, and so the result is.
    @discardableResult
    public func finishThinning(
        of range: ClosedRange<Int64> = 0...(.max), pause: () async -> Bool
    ) async throws(StoreError) -> Bool {
        var lowest = range.lowerBound
        while lowest <= range.upperBound {
            let rest = lowest...range.upperBound
            let last = try await write("retention", 0) { transaction in try transaction.removeThinned(in: rest) }
            guard let last else { return true }
            guard await pause() else { return false }
            lowest = last + 1
        }
        return true
    }

    /// Remembers that the clock was believed at this time, by which the next hub judges its own.
    ///
    /// - Parameter replacing: what was believed before is forgotten, also a later time. Else a clock that is a little behind says nothing
    ///   against it.
    public func believeClock(_ now: Int64, replacing: Bool) async throws(StoreError) {
        try await write("believe the clock", now) { transaction in
            try transaction.db.execute(
                sql: "UPDATE meta SET clock = ?1 WHERE ?2 OR ifnull(clock, 0) < ?1", arguments: [now, replacing])
        }
    }
}
