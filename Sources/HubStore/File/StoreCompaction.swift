import Files
import Glibc
import GRDB
import GRDBSQLite

/// Gives what a store no longer needs of its file back to the file system: a copy by statements takes its place.
///
/// SQLite can do that in place only in one transaction, for whose length nothing is stored; so it is done while no hub runs. The calls block.
public struct StoreCompaction: Sendable {
    /// The store as it was found.
    public let store: StoreSummary
    /// Bytes of free pages: at least so many are gained.
    public let free: Int64
    /// Bytes that the copy takes beside the store until it has its place, at most.
    public let needed: Int64
    private let path: String

    /// Looks at a store, also while a hub runs.
    public init(of path: String) throws(StoreError) {
        self.path = path
        let file = StoreFile(path)
        store = try file.summary()
        free = try file.read("look at") { db in
            try Int64.fetchOne(
                db, sql: "SELECT freelist_count * page_size FROM pragma_freelist_count, pragma_page_size") ?? 0
        }
        needed = store.bytes - free
    }

    /// Exchanges the two; at every instant the store is the old one or the new one, whole, with the same records, sequences and epoch.
    ///
    /// - Parameter progress: called now and then; `false` ends it with `interrupted`, and nothing has changed.
    /// - Returns: the store's size, in bytes.
    /// - Throws: `locked` while a hub has the store, `full` where there is no room for the copy.
    public func carryOut(progress: (CopyProgress) -> Bool = { _ in true }) throws(StoreError) -> Int64 {
        let lock = try StoreFiles.lock(path)
        defer { lock.release() }
        let verb = "compact \(path)"
        if let reason = try DamageLatch.read(of: path) { throw DamageLatch.refusal(reason, verb) }
        try StoreLoss.check(path)
        let draft = try DraftFile(path + ".compacting")
        let copied: StoreSummary
        do { copied = try copy(into: draft, progress) } catch { throw StoreError(error, doing: verb, path) }
        let copy = StoreFile(draft.path)
        let faults = try copy.faults(.indices)
        let found = try copy.summary()
        guard faults.isEmpty, found.head == copied.head, found.records == copied.records, found.epoch == copied.epoch
        else {
            throw StoreError(
                .corrupt,
                "\(verb): the copy is not sound (\(faults.first ?? "other records than in the store")), nothing was changed; hub doctor --deep looks at the store"
            )
        }
        // A log that stayed would be applied to the new file: it was emptied, and goes with the old one.
        let kept = path + ".before-compact"
        StoreCompaction.remove(kept)
        try StoreExchange.begin(path, keeping: kept)
        try draft.replace(path)
        StoreExchange.finish(path)
        StoreCompaction.remove(kept)
        PageCheck.forget(of: path)
        return found.bytes
    }

    private func copy(into draft: DraftFile, _ progress: (CopyProgress) -> Bool) throws -> StoreSummary {
        var configuration = Configuration()
        configuration.prepareDatabase { db in
            try db.execute(sql: "PRAGMA temp_store = MEMORY; PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON")
        }
        let queue = try DatabaseQueue(path: path, configuration: configuration)
        var isWanted = true
        let summary = try queue.writeWithoutTransaction { db in
            guard try Int32.fetchOne(db, sql: "PRAGMA application_id") == Schema.applicationID else {
                throw StoreError(.foreign, "it is not a store of this hub")
            }
            try Opening.refuseNewer(db, Schema.migrator, path)
            do {
                try PageSums.vacuum(db, into: draft) { step in
                    isWanted = isWanted && progress(step)
                    if !isWanted { sqlite3_interrupt(db.sqliteConnection) }
                }
            } catch  where !isWanted {}
            isWanted = isWanted && progress(CopyProgress(done: draft.size, total: draft.size))
            guard isWanted else { throw StoreError(.interrupted, "ended before it was done; nothing was changed") }
            _ = try db.checkpoint(.truncate)
            return try StoreSummary(in: db)
        }
        try queue.close()
        return summary
    }

    private static func remove(_ file: String) {
        for suffix in ["", "-wal", "-shm"] { unlink(file + suffix) }
    }
}
