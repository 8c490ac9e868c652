import GRDB
import Glibc
import Platform

/// The reason why a plugin's state could not be opened, read or changed.
///
/// The text contains the operation, the place, the reason and the remedy. It never contains a record, a value or a cursor, and may be logged.
public struct PluginStateError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of failure, which decides whether trying again can help.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Kind: String {
            case full, locked, readOnly, diskFull, corrupt, newerSchema, invalid, closed, io
        }
        private let kind: Kind

        /// The spool is full.
        ///
        /// Stop acknowledging the device, report it, and try again once the hub has stored some of the pending records.
        public static let full = Code(kind: .full)
        /// Another process, or another `PluginState` of this one, uses the directory.
        public static let locked = Code(kind: .locked)
        /// The directory or a file in it may not be written.
        public static let readOnly = Code(kind: .readOnly)
        /// The disk, the user's quota or `PluginState.Limits.fileBytes` is used up.
        ///
        /// Try again once there is room.
        public static let diskFull = Code(kind: .diskFull)
        /// `state.db` is damaged or is not a plugin's state.
        ///
        /// Nothing was changed; a person has to look at it.
        public static let corrupt = Code(kind: .corrupt)
        /// `state.db` was written by a newer version of the plugin.
        public static let newerSchema = Code(kind: .newerSchema)
        /// The call itself is wrong: an empty group, an oversized record or key, text with a NUL, or a value of another kind than requested.
        ///
        /// Trying again does not help.
        public static let invalid = Code(kind: .invalid)
        /// The state was closed before the call.
        public static let closed = Code(kind: .closed)
        /// The operating system failed in another way; the text has its reason.
        public static let io = Code(kind: .io)

        public var description: String { kind.rawValue }
    }

    /// The kind of failure.
    public let code: Code
    /// One or two sentences for a person.
    public let message: String

    public var description: String { message }

    init(_ code: Code, _ message: String) {
        (self.code, self.message) = (code, message)
    }
}

extension PluginStateError {
    /// A failure that SQLite reported while `path` was in use.
    ///
    /// The text contains neither SQL nor bound values.
    init(_ error: DatabaseError, _ doing: String, _ path: String) {
        let because = "\(error.message ?? "no reason given") (SQLite \(error.extendedResultCode.rawValue))"
        switch error.resultCode {
        case .SQLITE_FULL:
            self.init(
                .diskFull,
                "\(doing) failed: the disk is full or \(path) has reached its size limit; "
                    + "make room, then try again: nothing of this call was stored")
        case .SQLITE_CORRUPT, .SQLITE_NOTADB:
            self.init(
                .corrupt,
                "\(doing) failed: \(path) is damaged or is not a SQLite file: \(because); "
                    + "keep a copy of the directory, then restore it from a backup or move it away to start empty")
        case .SQLITE_READONLY, .SQLITE_PERM, .SQLITE_AUTH:
            self.init(
                .readOnly,
                "\(doing) failed: \(path) may not be written: \(because); "
                    + "give the plugin's user write permission for the file and its directory")
        case .SQLITE_BUSY, .SQLITE_LOCKED:
            self.init(
                .locked,
                "\(doing) failed: another program holds \(path) open for writing; close it, then try again")
        case .SQLITE_TOOBIG:
            self.init(.invalid, "\(doing) failed: a value is larger than SQLite takes: \(because)")
        default:
            self.init(.io, "\(doing) failed at \(path): \(because)")
        }
    }

    /// Any error thrown while SQL was running.
    init(wrapping error: any Error, _ doing: String, _ path: String) {
        switch error {
        case let error as PluginStateError: self = error
        case let error as DatabaseError: self.init(error, doing, path)
        // GRDB's decoding errors contain the row, so only their type may be reported.
        default: self.init(.corrupt, "\(doing) failed: \(path) contains unexpected data (\(type(of: error)))")
        }
    }

    /// Performs file operations and converts their errors.
    static func translated<Value>(
        _ doing: String, _ body: () throws(FileError) -> Value
    ) throws(PluginStateError) -> Value {
        do throws(FileError) { return try body() } catch { throw PluginStateError(error, doing) }
    }

    /// A failure that the operating system reported.
    init(_ error: FileError, _ doing: String) {
        let (path, because) = (error.path, error.reason)
        switch error.code {
        case ENOSPC, EDQUOT:
            self.init(.diskFull, "\(doing) failed: no room for \(path): \(because); make room, then try again")
        case EACCES, EPERM, EROFS:
            self.init(
                .readOnly,
                "\(doing) failed: \(path): \(because); give the plugin's user write permission for the directory")
        default:
            self.init(.io, "\(doing) failed: \(path): \(because)")
        }
    }
}
