import CPageSums
import Dispatch
import GRDB
import GRDBSQLite
import Synchronization

/// Brings the log into the file as it grows, and keeps what became of that.
///
/// SQLite does the same by itself and says nothing when it fails: commits go on into a log that grows until the disk is full. It also does it
/// within a commit, and those who wait for the next one notice. Here the bulk is brought in beside the commits, over a connection of its
/// own, and only what they wrote meanwhile by the commit after that: then the log begins again, which one under writing never would.
final class CheckpointWatch: Sendable {
    /// So many pages of the log are brought in at a time, 16 MB.
    private static let pages: CInt = 4_000
    /// A log this long is brought in faster than it grows: commits wait for it.
    private static let most = 4 * pages

    private enum State {
        case idle
        /// The bulk is under way.
        case underWay
        /// The bulk is in; the rest is not.
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

    /// Why the log could not be brought in at the last attempt; `nil` when it could, or has not been tried.
    var fault: StoreError? { lastFault.withLock { $0 } }

    /// Follows the commits of a connection, which must not outlive this.
    func follow(_ db: Database) {
        sqlite3_wal_hook(
            db.sqliteConnection,
            { context, connection, _, pages in
                if pages >= CheckpointWatch.pages, let context, let connection {
                    Unmanaged<CheckpointWatch>.fromOpaque(context).takeUnretainedValue().grew(to: pages, connection)
                }
                // The commit is durable, whatever became of the log.
                return SQLITE_OK
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    /// The log has become long with a commit of this connection.
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

    /// Ends what is under way, and closes the connection.
    func end() { beside.sync { connection.close() } }
}

/// A connection for nothing but bringing the log in.
///
/// Unchecked because the compiler cannot see it: used on one queue alone.
private final class CheckpointConnection: @unchecked Sendable {
    private var handle: OpaquePointer?

    deinit { close() }

    /// - Returns: `nil` where it could not be opened; the writer then brings all of it in, and says what it meets.
    func open(_ path: String, hasSums: Bool) -> OpaquePointer? {
        if let handle { return handle }
        var opened: OpaquePointer?
        let code = sqlite3_open_v2(path, &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nil)
        // A new store may have its first page in the log alone, and a file without it does not say that its pages have sums.
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
