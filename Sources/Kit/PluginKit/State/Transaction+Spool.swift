import Foundation
import GRDB

extension PluginState.Transaction {
    /// Appends `groups` to the spool; the records of a group travel in one batch.
    ///
    /// All groups are accepted, or none: the call throws `full` if they do not fit. An empty group, an empty record and a call that is too
    /// large even for an empty spool are `invalid`. Each record costs one row.
    /// - Returns: the ids of the records in their order; empty if `groups` is empty.
    @discardableResult
    public func spool(_ groups: [[[UInt8]]]) throws(PluginStateError) -> Range<Int64> {
        var (count, size): (Int64, Int64) = (0, 0)
        for group in groups {
            guard !group.isEmpty, !group.contains(where: \.isEmpty) else {
                throw PluginStateError(.invalid, "spooling failed: a group without records, or a record without bytes")
            }
            count += Int64(group.count)
            for record in group { size += Int64(record.count) }
        }
        var counters = try counters()
        let first = counters.lastID + 1
        guard count > 0 else { return first..<first }
        try checkRoom(for: count, size, counters)
        counters.spooled += count
        counters.pending += count
        counters.pendingBytes += size
        counters.lastID += count
        try run("spooling") { database in
            let insert = try database.cachedStatement(sql: "INSERT INTO spool (id, groupID, body) VALUES (?, ?, ?)")
            var id = first
            for group in groups {
                let groupID = id
                for record in group {
                    try insert.execute(arguments: [id, groupID, Data(record)])
                    id += 1
                }
            }
        }
        try save(counters)
        return first..<(first + count)
    }

    /// The next whole groups after the record `after`, in order, without removing them.
    ///
    /// It stops before the group that would exceed one of the limits, but always returns at least one group: a group larger than a batch would
    /// otherwise block the queue unnoticed. The caller compares its size and refuses it.
    /// - Parameters:
    ///   - maximumRecords: the limit for the number of records.
    ///   - maximumBytes: the limit for the records alone, without the envelope of the batch.
    ///   - after: the `id` of the last record of an earlier batch, which allows several batches on their way; 0 for the oldest record.
    /// - Returns: an empty array if no record follows `after`.
    public func nextBatch(
        maximumRecords: Int, maximumBytes: Int, after: Int64 = 0
    ) throws(PluginStateError) -> [SpooledRecord] {
        try run("reading the spool") { database in
            let statement = try database.cachedStatement(
                sql: "SELECT id, groupID, body FROM spool WHERE id > ? ORDER BY id")
            var (batch, group): ([SpooledRecord], [SpooledRecord]) = ([], [])
            var (batchBytes, groupBytes) = (0, 0)
            // Adds the group that was read last, if it fits; a group is complete only when the next one begins.
            func takeGroup() -> Bool {
                let fits = batch.count + group.count <= maximumRecords && batchBytes + groupBytes <= maximumBytes
                guard batch.isEmpty || fits else { return false }
                batch += group
                batchBytes += groupBytes
                (group, groupBytes) = ([], 0)
                return true
            }
            let rows = try Row.fetchCursor(statement, arguments: [after])
            while let row = try rows.next() {
                let data: Data = row[2]
                let record = SpooledRecord(id: row[0], group: row[1], bytes: [UInt8](data))
                if let open = group.first, open.group != record.group {
                    guard takeGroup(), batch.count < maximumRecords, batchBytes < maximumBytes else { return batch }
                }
                group.append(record)
                groupBytes += record.bytes.count
            }
            _ = takeGroup()
            return batch
        }
    }

    /// Removes records from the spool because the hub has them.
    ///
    /// Ids that are no longer there are ignored.
    /// - Returns: the number of removed records.
    @discardableResult
    public func remove(_ ids: some Sequence<Int64>, as removal: Removal) throws(PluginStateError) -> Int {
        var (count, size): (Int64, Int64) = (0, 0)
        try run("removing from the spool") { database in
            let length = try database.cachedStatement(sql: "SELECT LENGTH(body) FROM spool WHERE id = ?")
            let delete = try database.cachedStatement(sql: "DELETE FROM spool WHERE id = ?")
            for id in ids {
                guard let bytes = try Int64.fetchOne(length, arguments: [id]) else { continue }
                try delete.execute(arguments: [id])
                count += 1
                size += bytes
            }
        }
        try account(removed: count, size, as: removal)
        return Int(count)
    }

    /// Removes every record up to and including `id` from the spool because the hub has them.
    /// - Returns: the number of removed records.
    @discardableResult
    public func remove(upTo id: Int64, as removal: Removal) throws(PluginStateError) -> Int {
        let (count, size) = try run("removing from the spool") { database in
            let sums = try Row.fetchOne(
                database.cachedStatement(
                    sql: "SELECT COUNT(*), IFNULL(SUM(LENGTH(body)), 0) FROM spool WHERE id <= ?"),
                arguments: [id])
            try database.cachedStatement(sql: "DELETE FROM spool WHERE id <= ?").execute(arguments: [id])
            return (sums?[0] ?? 0, sums?[1] ?? 0) as (Int64, Int64)
        }
        try account(removed: count, size, as: removal)
        return Int(count)
    }

    /// The counters as this transaction sees them.
    public func counters() throws(PluginStateError) -> SpoolCounters {
        try run("reading the spool's counters") { database in
            let statement = try database.cachedStatement(
                sql: """
                    SELECT spooled, stored, duplicate, pending, refused, dropped, cleared, requeued, pendingBytes,
                        refusedBytes, lastID FROM counters
                    """)
            guard let row = try Row.fetchOne(statement) else {
                throw PluginStateError(
                    .corrupt,
                    "reading the spool's counters failed: \(place.path) has none; restore the directory from a backup")
            }
            return SpoolCounters(
                spooled: row[0], stored: row[1], duplicate: row[2], pending: row[3], refused: row[4], dropped: row[5],
                cleared: row[6], requeued: row[7], pendingBytes: row[8], refusedBytes: row[9], lastID: row[10])
        }
    }

    func save(_ counters: SpoolCounters) throws(PluginStateError) {
        try run("keeping the spool's counters") { database in
            let statement = try database.cachedStatement(
                sql: """
                    UPDATE counters SET spooled = ?, stored = ?, duplicate = ?, pending = ?, refused = ?, dropped = ?,
                        cleared = ?, requeued = ?, pendingBytes = ?, refusedBytes = ?, lastID = ?
                    """)
            try statement.execute(arguments: [
                counters.spooled, counters.stored, counters.duplicate, counters.pending, counters.refused,
                counters.dropped, counters.cleared, counters.requeued, counters.pendingBytes, counters.refusedBytes,
                counters.lastID,
            ])
        }
    }

    /// Throws unless there is room for `count` more records of `size` bytes in total.
    func checkRoom(for count: Int64, _ size: Int64, _ counters: SpoolCounters) throws(PluginStateError) {
        guard count <= limits.records, size <= limits.bytes else {
            throw PluginStateError(
                .invalid,
                "spooling failed: \(count) records of \(size) bytes in one call can never fit the spool's bound of "
                    + "\(limits.records) records and \(limits.bytes) bytes; spool them in smaller calls")
        }
        guard counters.pending + count <= limits.records, counters.pendingBytes + size <= limits.bytes else {
            throw PluginStateError(
                .full,
                "spooling failed: the spool in \(place.path) is full: \(counters.pending) of \(limits.records) records, "
                    + "\(counters.pendingBytes) of \(limits.bytes) bytes wait for the hub; nothing of this call was "
                    + "stored; stop acknowledging the device until the hub has stored some")
        }
    }

    private func account(removed count: Int64, _ size: Int64, as removal: Removal) throws(PluginStateError) {
        guard count > 0 else { return }
        var counters = try counters()
        counters.pending -= count
        counters.pendingBytes -= size
        switch removal {
        case .stored: counters.stored += count
        case .duplicate: counters.duplicate += count
        }
        try save(counters)
    }
}
