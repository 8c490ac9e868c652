import GRDB
import GRDBSQLite
import Glibc
import Platform

/// Returns unused space of a store's file to the file system by replacing the file with a copy.
///
/// SQLite's own VACUUM works in place in one transaction that blocks all writes, so compaction requires that no hub is running. The calls block.
public struct StoreCompaction: Sendable {
    /// The store before compaction.
    public let store: StoreSummary
    /// Bytes of free pages.
    ///
    /// Compaction gains at least this much.
    public let free: Int64
    /// The maximum size, in bytes, of the copy beside the store until it replaces the store.
    public let needed: Int64
    private let path: String

    /// Examines a store, also while a hub runs.
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

    /// Replaces the file.
    ///
    /// At every instant the store is completely the old or the new one, with the same records, sequence numbers and epoch.
    ///
    /// - Parameter progress: called repeatedly; return `false` to end with `interrupted` and without changes.
    /// - Returns: the new size of the store, in bytes.
    /// - Throws: `locked` while a hub has the store, `full` if there is no room for the copy.
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
        // A remaining log would be applied to the new file. It was emptied, and is removed with the old file.
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
            guard try Int32.fetchOne(db, sql: "PRAGMA application_id") == StoreSchema.applicationID else {
                throw StoreError(.foreign, "it is not a store of this hub")
            }
            try StoreOpener.refuseNewer(db, StoreSchema.migrator, path)
            do {
                try PageChecksums.vacuum(db, into: draft) { step in
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
