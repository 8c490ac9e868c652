import CPageSums
import Dispatch
import GRDB
import GRDBSQLite
import Synchronization

/// Checkpoints the log into the database file as it grows, and keeps the last failure.
///
/// SQLite's automatic checkpoints report no failures: commits continue into a log that grows until the disk is full. They also run within a
/// commit and delay the next one. This type copies the bulk of the log over a separate connection while commits continue. The next commit then
/// copies only the frames written in the meantime. After that SQLite can restart the log, which it cannot do while the log is being written.
final class CheckpointWatch: Sendable {
    /// The number of log pages that start a checkpoint, 16 MB.
    private static let pages: CInt = 4_000
    /// If the log reaches this length, it grows faster than it is copied, and commits wait for the checkpoint.
    private static let most = 4 * pages

    private enum State {
        case idle
        /// The bulk is being copied.
        case underWay
        /// The bulk is copied; the rest is not.
        case rest
    }

    private let path: String
    private let latch: DamageLatch
    private let lastFault = Mutex<StoreError?>(nil)
    private let state = Mutex(State.idle)
    private let beside: DispatchQueue
    private let connection = CheckpointConnection()

    init(_ path: String, _ latch: DamageLatch) {
        (self.path, self.latch) = (path, latch)
        beside = DispatchQueue(label: "HubStore.checkpoint")
    }

    /// The failure of the last checkpoint; `nil` if it succeeded or none has run.
    var fault: StoreError? { lastFault.withLock { $0 } }

    /// Follows the commits of a connection, which must be closed before this object is released.
    func follow(_ db: Database) {
        sqlite3_wal_hook(
            db.sqliteConnection,
            { context, connection, _, pages in
                if pages >= CheckpointWatch.pages, let context, let connection {
                    Unmanaged<CheckpointWatch>.fromOpaque(context).takeUnretainedValue().grew(to: pages, connection)
                }
                // The commit is durable, even if the checkpoint failed.
                return SQLITE_OK
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    /// Called when a commit of this connection leaves a long log.
    private func grew(to pages: CInt, _ writer: OpaquePointer) {
        var found = state.withLock { state in
            defer { if state == .idle { state = .underWay } }
            return state
        }
        if found == .underWay, pages >= CheckpointWatch.most {
            beside.sync {}
            found = .rest
        }
        switch found {
        case .idle:
            let hasSums = page_sums_are_on(writer) == 1
            beside.async { [self] in
                if let own = connection.open(path, hasSums: hasSums) { attempt(own) }
                state.withLock { $0 = .rest }
            }
        case .underWay: break
        case .rest:
            state.withLock { $0 = .idle }
            attempt(writer)
        }
    }

    /// Copies the frames that no reader needs any more.
    func attempt(_ connection: OpaquePointer) {
        let code = sqlite3_wal_checkpoint_v2(connection, nil, SQLITE_CHECKPOINT_PASSIVE, nil, nil)
        switch code & 0xFF {
        case SQLITE_OK: lastFault.withLock { $0 = nil }
        // Another connection is running a checkpoint.
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

    /// Waits for the current checkpoint and closes the connection.
    func end() { beside.sync { connection.close() } }
}

/// A connection used only for checkpoints.
///
/// It is unchecked because the compiler cannot verify that only one queue uses it.
private final class CheckpointConnection: @unchecked Sendable {
    private var handle: OpaquePointer?

    deinit { close() }

    /// - Returns: `nil` if it cannot be opened. The writer then copies the whole log and reports any error.
    func open(_ path: String, hasSums: Bool) -> OpaquePointer? {
        if let handle { return handle }
        var opened: OpaquePointer?
        let code = sqlite3_open_v2(path, &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nil)
        // The first page of a new store may be only in the log, and without that page the file does not show that it has checksums.
        guard code == SQLITE_OK, let opened, !hasSums || page_sums_enable(opened) == SQLITE_OK else {
            sqlite3_close(opened)
            return nil
        }
        sqlite3_exec(opened, "PRAGMA synchronous = FULL; PRAGMA cache_size = 0", nil, nil, nil)
        handle = opened
        return opened
    }

    func close() {
        sqlite3_close(handle)
        handle = nil
    }
}
