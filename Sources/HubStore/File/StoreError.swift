import Files
import Glibc
import GRDB
import GRDBSQLite

/// Why the store did not do what it was asked; nothing of a failed commit is stored.
public struct StoreError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What kind of failure it is.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        enum Value: String {
            case full, readOnly, busy, locked, corrupt, foreign, newerSchema, input, epoch, cursor, token, query,
                closed, internalFault,
                missing, exists, changed, interrupted
        }
        let value: Value

        /// The disk or a limit is full; space must be made first.
        public static let full = Code(value: .full)
        /// The file or its folder cannot be written.
        public static let readOnly = Code(value: .readOnly)
        /// Another program holds SQLite's own lock for too long.
        public static let busy = Code(value: .busy)
        /// Another hub has this store open; the text names its process.
        public static let locked = Code(value: .locked)
        /// The file is damaged.
        public static let corrupt = Code(value: .corrupt)
        /// The file is not a store of this hub.
        public static let foreign = Code(value: .foreign)
        /// A newer version of the hub made the file.
        public static let newerSchema = Code(value: .newerSchema)
        /// Reading or writing failed below SQLite.
        public static let input = Code(value: .input)
        /// A cursor of another epoch: the store was restored since, so a new snapshot is needed.
        public static let epoch = Code(value: .epoch)
        /// A cursor beyond the store's head.
        public static let cursor = Code(value: .cursor)
        /// A page token that this store did not give out for this query.
        public static let token = Code(value: .token)
        /// A query that cannot be answered as it stands; the text says what to change.
        public static let query = Code(value: .query)
        /// The store has been closed.
        public static let closed = Code(value: .closed)
        /// A fault of the hub itself.
        public static let internalFault = Code(value: .internalFault)

        /// There is no such file.
        public static let missing = Code(value: .missing)
        /// There is such a file already, and nothing is overwritten.
        public static let exists = Code(value: .exists)
        /// The store is not any more what a decision was made about.
        public static let changed = Code(value: .changed)
        /// The caller ended it.
        public static let interrupted = Code(value: .interrupted)

        /// The code as one word.
        public var description: String { value.rawValue }
    }

    /// What kind of failure it is.
    public var code: Code
    /// One line: what was being done, to what, why it failed, what to do.
    public var message: String

    /// Code and message, for logs: no health value is in it.
    public var description: String { "\(code): \(message)" }

    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// A refusal of the system, in its words.
    init(_ error: FileError) {
        let code: Code =
            switch error.code {
            case EROFS, EACCES, EPERM, ENOENT, ENOTDIR: .readOnly
            case ENOSPC, EDQUOT: .full
            case ELOOP: .foreign
            default: .input
            }
        self.init(code, "\(error.verb) \(error.path): \(error.reason)")
    }

    /// A refusal of the system, in its words; reads `errno`.
    init(system verb: String, _ path: String) { self.init(FileError(verb, path)) }

    /// Does something with files, whose errors become the store's.
    @discardableResult
    static func translated<Value>(_ body: () throws(FileError) -> Value) throws(StoreError) -> Value {
        do throws(FileError) { return try body() } catch { throw StoreError(error) }
    }

    /// Translates what GRDB or SQLite threw while `doing`; never carries bound values.
    ///
    /// - Parameter path: the store's file, where another program may hold a lock on it.
    init(_ error: any Error, doing: String, _ path: String? = nil) {
        if let error = error as? StoreError {
            self = error
            return
        }
        guard let error = error as? DatabaseError else {
            self.init(.internalFault, "\(doing): \(error)")
            return
        }
        let reason = error.message ?? String(describing: error.resultCode)
        switch error.resultCode {
        case .SQLITE_FULL:
            self.init(.full, "\(doing): no space left (\(reason)); make room, nothing confirmed is lost")
        case .SQLITE_READONLY, .SQLITE_PERM, .SQLITE_CANTOPEN:
            self.init(
                .readOnly,
                "\(doing): \(reason); check owner and mode of the file and its folder, and whether the disk is mounted read-only"
            )
        case .SQLITE_BUSY, .SQLITE_LOCKED:
            let holders = path.map(LockHolders.others) ?? []
            let cause =
                holders.isEmpty
                ? "no other program of this machine is seen to hold it, so the hub's own work has not ended, as when its disk does not answer, or another machine has the file open"
                : "\(holders.joined(separator: ", ")) holds it; end that program, or wait until it is done"
            self.init(.busy, "\(doing): the file is locked (\(reason)): \(cause)")
        case .SQLITE_CORRUPT:
            self.init(
                .corrupt, "\(doing): the file is damaged (\(reason)): hub doctor --deep reads all of it"
            )
        case .SQLITE_NOTADB:
            self.init(.foreign, "\(doing): the file is not a SQLite database (\(reason))")
        case .SQLITE_IOERR where error.extendedResultCode == .SQLITE_IOERR_SHMSIZE:
            self.init(
                .full, "\(doing): no space left (for the index of the log); make room, nothing confirmed is lost")
        case .SQLITE_IOERR where error.extendedResultCode.rawValue == PageDamage.code:
            self.init(
                .corrupt, "\(doing): \(PageDamage.last): the disk has not kept it, or another program has written it")
        case .SQLITE_IOERR:
            self.init(
                .input,
                "\(doing): \(reason) (\(error.extendedResultCode)): the disk or what connects it has failed; see dmesg. What passes by itself has damaged nothing"
            )
        case .SQLITE_MISUSE where reason.contains("closed"):
            self.init(.closed, "\(doing): the store is closed")
        default:
            self.init(.internalFault, "\(doing): \(reason) (\(error.extendedResultCode))")
        }
    }
}
