import GRDB
import GRDBSQLite
import Synchronization

/// Brings the log into the file as it grows, and keeps what became of that.
///
/// SQLite does the same by itself and says nothing when it fails: commits go on into a log that grows until the disk is full.
final class CheckpointWatch: Sendable {
    /// So many pages of the log are brought in at a time, 16 MB.
    private static let pages: CInt = 4_000

    private let path: String
    private let latch: DamageLatch
    private let lastFault = Mutex<StoreError?>(nil)

    init(_ path: String, _ latch: DamageLatch) { (self.path, self.latch) = (path, latch) }

    /// Why the log could not be brought in at the last attempt; `nil` when it could, or has not been tried.
    var fault: StoreError? { lastFault.withLock { $0 } }

    /// Follows the commits of a connection, which must not outlive this.
    func follow(_ db: Database) {
        sqlite3_wal_hook(
            db.sqliteConnection,
            { context, connection, _, pages in
                if pages >= CheckpointWatch.pages, let context, let connection {
                    Unmanaged<CheckpointWatch>.fromOpaque(context).takeUnretainedValue().attempt(connection)
                }
                // The commit is durable, whatever became of the log.
                return SQLITE_OK
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    /// Brings in what no reader needs any more.
    func attempt(_ connection: OpaquePointer) {
        let code = sqlite3_wal_checkpoint_v2(connection, nil, SQLITE_CHECKPOINT_PASSIVE, nil, nil)
        switch code & 0xFF {
        case SQLITE_OK: lastFault.withLock { $0 = nil }
        // Another connection is doing it.
        case SQLITE_BUSY, SQLITE_LOCKED: return
        default:
            let error = DatabaseError(
                resultCode: ResultCode(rawValue: sqlite3_extended_errcode(connection)),
                message: String(cString: sqlite3_errmsg(connection)))
            let fault = StoreError(error, doing: "bring the log \(path)-wal into \(path)")
            latch.note(fault)
            lastFault.withLock { $0 = fault }
        }
    }
}
