import GRDB
import HubWire
import Samples

/// Retention: the rules in `hub.conf` for how long records are kept (Docs/Storage.md, the section on retention).
extension Store {
    /// Applies a rule, or counts its effect, in pieces.
    ///
    /// - Parameters:
    ///   - earlier: for a dry run, the rules that apply before it.
    ///   - now: microseconds since 1970.
    ///   - zones: time zones of persons, by name, for samples without a local time; otherwise UTC.
    ///   - thin: thins samples of a day in the order of commits and returns the result for the value; `nil` for a dry run.
    ///   - pause: called between pieces; return `false` to stop. The next call continues.
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
                        try RecordRemoval.remove(piece.removable, in: &transaction)
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

    /// Counts the result for samples that were to be thinned.
    private func note(_ result: StoreResult?, _ thinned: ThinnedDay, _ count: inout RetentionCount) async throws {
        switch result {
        case .stored:
            count.thinned += try await read("retention") { db in
                try thinned.samples.reduce(0) { count, version in
                    // A sample that changed before it was counted is thinned later, in its new version.
                    let isCounted = try RetentionReader.isCounted(version.number, version.sequence, in: db)
                    return try isCounted || VersionLookup.current(version.number, in: db) == nil ? count + 1 : count
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

    /// Counts the effect of some of the rules, each applied after those before it.
    ///
    /// Values made by thinning are not counted.
    ///
    /// - Parameter isWanted: selects the rules to count.
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
                throw StoreError(error, doing: "count the records of a retention rule in \(path)", path)
            }
        }
        return counts
    }

    /// Removes samples whose statistics are stored already, regardless of the current rules.
    ///
    /// A kill or a sink delayed their removal.
    ///
    /// - Parameter pause: called between pieces; return `false` to stop, and the result is `false`.
    @discardableResult
    public func finishThinning(
        of range: ClosedRange<Int64> = 0...(.max), pause: () async -> Bool
    ) async throws(StoreError) -> Bool {
        var lowest = range.lowerBound
        while lowest <= range.upperBound {
            let rest = lowest...range.upperBound
            let last = try await write("retention", 0) { try RecordRemoval.removeThinned(rest, in: &$0) }
            guard let last else { return true }
            guard await pause() else { return false }
            lowest = last + 1
        }
        return true
    }

    /// Stores the time at which the clock was trusted.
    ///
    /// The next hub checks its own clock against it.
    ///
    /// - Parameter replacing: whether to replace a later time too. If `false`, a clock that is slightly behind does not change it.
    public func acceptClock(_ now: Int64, replacing: Bool) async throws(StoreError) {
        try await write("believe the clock", now) { transaction in
            try transaction.db.execute(
                sql: "UPDATE meta SET clock = ?1 WHERE ?2 OR ifnull(clock, 0) < ?1", arguments: [now, replacing])
        }
    }
}
