import GRDB
import Samples

/// Retention: what `hub.conf` says how long records are kept (Docs/Storage.md, *What is kept for a time*).
extension Store {
    /// Carries a rule out, or counts what it would do, in pieces.
    ///
    /// - Parameters:
    ///   - now: microseconds since 1970.
    ///   - thin: has samples of a day thinned, in the line of the commits; `nil` for a dry run.
    ///   - pause: called between pieces; `false` ends the work, and the next call goes on.
    public func retain(
        _ rule: RetentionRule, now: Int64, thin: ((ThinnedDay) async throws -> Void)?, pause: () async -> Bool
    ) async throws -> RetentionCount {
        if thin != nil, try await !finishThinning(pause: pause) { return RetentionCount() }
        var reader = try await read("retention") { db in try RetentionReader(rule, now: now, in: db) }
        while !reader.isOver {
            let before = reader
            let (after, piece) = try await read("retention") { [readerTerms] db in
                var reader = before
                let piece = try reader.next(readerTerms, in: db)
                return (reader, piece)
            }
            reader = after
            if let thin {
                if !piece.removable.isEmpty {
                    _ = try await write("retention", now) { transaction in try transaction.remove(piece.removable) }
                }
                if let thinned = piece.thinned {
                    try await thin(thinned)
                    let numbers = thinned.samples.map(\.number)
                    let range = (numbers.min() ?? 0)...(numbers.max() ?? 0)
                    if try await !finishThinning(of: range, pause: pause) { return reader.count }
                }
            }
            if await !pause() { break }
        }
        return reader.count
    }

    /// What a rule would do.
    public func count(_ rule: RetentionRule, now: Int64) async throws(StoreError) -> RetentionCount {
        do { return try await retain(rule, now: now, thin: nil) { true } } catch {
            throw StoreError(error, doing: "count what a retention rule is for in \(path)", path)
        }
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
}
