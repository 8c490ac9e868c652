import GRDB
import GRDBSQLite
import Glibc
import Platform

/// Why the store refused or failed an operation.
///
/// Nothing of a failed commit is stored.
public struct StoreError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of failure.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        enum Value: String {
            case full, readOnly, busy, locked, corrupt, foreign, newerSchema, input, epoch, cursor, token, query,
                closed, internalFault,
                missing, exists, changed, interrupted
        }
        let value: Value

        /// The disk or a limit is full; free some space first.
        public static let full = Code(value: .full)
        /// The file or its folder is not writable.
        public static let readOnly = Code(value: .readOnly)
        /// Another program holds SQLite's own lock for too long.
        public static let busy = Code(value: .busy)
        /// Another hub has this store open; the message names its process.
        public static let locked = Code(value: .locked)
        /// The file is damaged.
        public static let corrupt = Code(value: .corrupt)
        /// The file is not a store of this hub.
        public static let foreign = Code(value: .foreign)
        /// A newer version of the hub wrote the file.
        public static let newerSchema = Code(value: .newerSchema)
        /// Reading or writing failed below SQLite.
        public static let input = Code(value: .input)
        /// The cursor is of another epoch: the store was restored since, so a new snapshot is needed.
        public static let epoch = Code(value: .epoch)
        /// The cursor is beyond the store's head.
        public static let cursor = Code(value: .cursor)
        /// This store did not issue the page token for this query.
        public static let token = Code(value: .token)
        /// The query is invalid; the message says how to change it.
        public static let query = Code(value: .query)
        /// The store has been closed.
        public static let closed = Code(value: .closed)
        /// A bug in the hub.
        public static let internalFault = Code(value: .internalFault)

        /// There is no such file.
        public static let missing = Code(value: .missing)
        /// The file exists already, and it is not overwritten.
        public static let exists = Code(value: .exists)
        /// The store has changed since a decision was made.
        public static let changed = Code(value: .changed)
        /// The caller cancelled the operation.
        public static let interrupted = Code(value: .interrupted)

        /// The code as one word.
        public var description: String { value.rawValue }
    }

    /// The kind of failure.
    public var code: Code
    /// One line: the operation, its object, the reason, and the next step.
    public var message: String

    /// Code and message, for logs.
    ///
    /// It contains no health values.
    public var description: String { "\(code): \(message)" }

    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// A system error, with the system's message.
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

    /// A system error, with the system's message; reads `errno`.
    init(system verb: String, _ path: String) { self.init(FileError(verb, path)) }

    /// Runs `body` and converts its file errors to store errors.
    @discardableResult
    static func translated<Value>(_ body: () throws(FileError) -> Value) throws(StoreError) -> Value {
        do throws(FileError) { return try body() } catch { throw StoreError(error) }
    }

    /// Converts an error thrown by GRDB or SQLite while `doing`.
    ///
    /// The message never contains bound values.
    ///
    /// - Parameter path: the store's file, if another program may hold a lock on it.
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
                ? "no other program of this machine holds it: the hub's own work has not ended, for example because its disk does not answer, or another machine has the file open"
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
                "\(doing): \(reason) (\(error.extendedResultCode)): the disk or its connection has failed; see dmesg. A failure that passes has damaged nothing"
            )
        case .SQLITE_MISUSE where reason.contains("closed"):
            self.init(.closed, "\(doing): the store is closed")
        default:
            self.init(.internalFault, "\(doing): \(reason) (\(error.extendedResultCode))")
        }
    }
}
