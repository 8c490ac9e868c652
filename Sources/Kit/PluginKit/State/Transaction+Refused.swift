import Foundation
import GRDB

extension PluginState.Transaction {
    /// Moves records that the hub rejected from the spool to the refused records, which a person can look at.
    ///
    /// Ids that are no longer in the spool are ignored.
    ///
    /// If a limit is exceeded, whole groups of refused records are dropped and counted, beginning with those that were spooled first.
    /// - Parameters:
    ///   - refusals: the hub's refusals.
    ///   - time: when the hub rejected them, in microseconds since 1970.
    /// - Returns: the number of moved records.
    @discardableResult
    public func refuse(_ refusals: [SpoolRefusal], at time: Int64) throws(PluginStateError) -> Int {
        guard !refusals.contains(where: { $0.code.utf8.contains(0) }) else {
            throw PluginStateError(.invalid, "keeping refused records failed: a code holds a NUL")
        }
        var counters = try counters()
        var moved = 0
        try run("keeping refused records") { database in
            let length = try database.cachedStatement(sql: "SELECT LENGTH(body) FROM spool WHERE id = ?")
            let insert = try database.cachedStatement(
                sql: """
                    INSERT INTO refused (id, groupID, body, code, reason, time)
                    SELECT id, groupID, body, ?, ?, ? FROM spool WHERE id = ?
                    """)
            let delete = try database.cachedStatement(sql: "DELETE FROM spool WHERE id = ?")
            for refusal in refusals {
                guard let bytes = try Int64.fetchOne(length, arguments: [refusal.id]) else { continue }
                let reason = String(refusal.reason.unicodeScalars.map { $0 == "\0" ? "\u{2400}" : Character($0) })
                try insert.execute(arguments: [refusal.code, reason, time, refusal.id])
                try delete.execute(arguments: [refusal.id])
                moved += 1
                counters.pending -= 1
                counters.pendingBytes -= bytes
                counters.refused += 1
                counters.refusedBytes += bytes
            }
        }
        guard moved > 0 else { return 0 }
        try dropOldestRefused(&counters)
        try save(counters)
        return moved
    }

    /// Refused records after the record `after`, in the order in which they were spooled.
    public func refused(after: Int64 = 0, maximum: Int = 1000) throws(PluginStateError) -> [RefusedRecord] {
        try run("reading the refused records") { database in
            let statement = try database.cachedStatement(
                sql: "SELECT id, groupID, body, code, reason, time FROM refused WHERE id > ? ORDER BY id LIMIT ?")
            return try Row.fetchAll(statement, arguments: [after, max(0, maximum)]).map { row in
                let data: Data = row[2]
                return RefusedRecord(
                    id: row[0], group: row[1], bytes: [UInt8](data), code: row[3], reason: row[4], time: row[5])
            }
        }
    }

    /// Deletes refused records for good: all of them, or the groups that begin at or before the record `upTo`.
    /// - Returns: the number of deleted records.
    @discardableResult
    public func clearRefused(upTo: Int64 = .max) throws(PluginStateError) -> Int {
        var counters = try counters()
        let (count, size) = try takeRefused(upTo)
        guard count > 0 else { return 0 }
        try run("clearing the refused records") { database in
            try database.cachedStatement(sql: "DELETE FROM refused WHERE groupID <= ?").execute(arguments: [upTo])
        }
        counters.refused -= count
        counters.refusedBytes -= size
        counters.cleared += count
        try save(counters)
        return Int(count)
    }

    /// Puts refused records back at the end of the spool under new ids: all of them, or the groups that begin at or before the record `upTo`.
    ///
    /// Groups stay together. Throws `full`, and moves no record, if they do not fit.
    /// - Returns: the new ids in the old order.
    @discardableResult
    public func requeueRefused(upTo: Int64 = .max) throws(PluginStateError) -> Range<Int64> {
        var counters = try counters()
        let first = counters.lastID + 1
        let (count, size) = try takeRefused(upTo)
        guard count > 0 else { return first..<first }
        try checkRoom(for: count, size, counters)
        try run("requeueing the refused records") { database in
            let rows = try Row.fetchAll(
                database.cachedStatement(sql: "SELECT id, groupID FROM refused WHERE groupID <= ? ORDER BY id"),
                arguments: [upTo])
            let insert = try database.cachedStatement(
                sql: "INSERT INTO spool (id, groupID, body) SELECT ?, ?, body FROM refused WHERE id = ?")
            var (oldGroup, newGroup): (Int64, Int64) = (0, 0)
            for (offset, row) in rows.enumerated() {
                let id = first + Int64(offset)
                if row[1] != oldGroup { (oldGroup, newGroup) = (row[1], id) }
                try insert.execute(arguments: [id, newGroup, row[0] as Int64])
            }
            try database.cachedStatement(sql: "DELETE FROM refused WHERE groupID <= ?").execute(arguments: [upTo])
        }
        counters.refused -= count
        counters.refusedBytes -= size
        counters.pending += count
        counters.pendingBytes += size
        counters.requeued += count
        counters.lastID += count
        try save(counters)
        return first..<(first + count)
    }

    private func takeRefused(_ upTo: Int64) throws(PluginStateError) -> (count: Int64, bytes: Int64) {
        try run("reading the refused records") { database in
            let row = try Row.fetchOne(
                database.cachedStatement(
                    sql: "SELECT COUNT(*), IFNULL(SUM(LENGTH(body)), 0) FROM refused WHERE groupID <= ?"),
                arguments: [upTo])
            return (row?[0] ?? 0, row?[1] ?? 0)
        }
    }

    private func dropOldestRefused(_ counters: inout SpoolCounters) throws(PluginStateError) {
        guard counters.refused > limits.refusedRecords || counters.refusedBytes > limits.refusedBytes else { return }
        var kept = counters
        let bounds = limits
        try run("dropping the oldest refused records") { database in
            let rows = try Row.fetchCursor(
                database.cachedStatement(sql: "SELECT id, groupID, LENGTH(body) FROM refused ORDER BY id"))
            var last: (id: Int64, group: Int64) = (0, 0)
            while let row = try rows.next() {
                let (id, group, bytes): (Int64, Int64, Int64) = (row[0], row[1], row[2])
                let isOver = kept.refused > bounds.refusedRecords || kept.refusedBytes > bounds.refusedBytes
                guard isOver || group == last.group else { break }
                kept.refused -= 1
                kept.refusedBytes -= bytes
                kept.dropped += 1
                last = (id, group)
            }
            try database.cachedStatement(sql: "DELETE FROM refused WHERE id <= ?").execute(arguments: [last.id])
        }
        counters = kept
    }
}
