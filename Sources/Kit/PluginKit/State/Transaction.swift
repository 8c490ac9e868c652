import Foundation
import GRDB

/// A value that a plugin stores under a key.
public enum StateValue: Sendable, Hashable {
    /// Text without NUL, stored byte for byte.
    case text(String)
    /// A whole number.
    case integer(Int64)
    /// Bytes, stored as they are.
    case bytes([UInt8])
}

extension PluginState {
    /// The operations of one commit; valid only inside the closure that receives it.
    ///
    /// Every call sees the changes of earlier calls in the same transaction. A call that fails with `invalid` or `full` has changed nothing,
    /// and its error may be caught. After any other failure the transaction is rolled back, even if the closure catches the error.
    public struct Transaction: ~Copyable {
        let database: Database
        let place: Place
        let limits: PluginState.Limits

        /// The maximum length of a key in bytes.
        public static var maximumKeyBytes: Int { 256 }
        /// The maximum length of a stored text or byte string.
        public static var maximumValueBytes: Int { 1 << 20 }

        /// The path of the database, and the first failure of SQLite in the transaction.
        final class Place {
            let path: String
            var failure: PluginStateError?
            init(path: String) { self.path = path }
        }

        /// Runs SQL; a failure of SQLite ends the transaction and is converted.
        func run<Value>(_ doing: String, _ body: (Database) throws -> Value) throws(PluginStateError) -> Value {
            if let failure = place.failure { throw failure }
            do {
                return try body(database)
            } catch {
                let failure = PluginStateError(wrapping: error, doing, place.path)
                place.failure = failure
                throw failure
            }
        }
    }
}

// MARK: - Key/value state

extension PluginState.Transaction {
    /// The value under `key`, or `nil` if there is none.
    public func value(_ key: String) throws(PluginStateError) -> StateValue? {
        try run("reading a state value") { database in
            let statement = try database.cachedStatement(sql: "SELECT value FROM state WHERE key = ?")
            let stored = try DatabaseValue.fetchOne(statement, arguments: [key])
            switch stored?.storage {
            case .int64(let integer): return .integer(integer)
            case .string(let text): return .text(text)
            case .blob(let data): return .bytes([UInt8](data))
            case .none: return nil
            case .null, .double:
                throw PluginStateError(
                    .corrupt,
                    "reading a state value failed: \(place.path) holds a kind of value this library never writes; "
                        + "restore the directory from a backup")
            }
        }
    }

    /// The text under `key`, or `nil` if there is none; throws `invalid` if the value has another kind.
    public func text(_ key: String) throws(PluginStateError) -> String? {
        switch try value(key) {
        case nil: return nil
        case .text(let text): return text
        default: throw otherKind(key, "text")
        }
    }

    /// The integer under `key`, or `nil` if there is none; throws `invalid` if the value has another kind.
    public func integer(_ key: String) throws(PluginStateError) -> Int64? {
        switch try value(key) {
        case nil: return nil
        case .integer(let integer): return integer
        default: throw otherKind(key, "an integer")
        }
    }

    /// The bytes under `key`, or `nil` if there is none; throws `invalid` if the value has another kind.
    public func bytes(_ key: String) throws(PluginStateError) -> [UInt8]? {
        switch try value(key) {
        case nil: return nil
        case .bytes(let bytes): return bytes
        default: throw otherKind(key, "bytes")
        }
    }

    /// Stores `value` under `key` and replaces an existing value; `nil` removes it.
    ///
    /// A key has 1 to `maximumKeyBytes` bytes, a value at most `maximumValueBytes`, and neither text may contain a NUL; otherwise the call
    /// throws `invalid`.
    public func set(_ key: String, to value: StateValue?) throws(PluginStateError) {
        guard (1...Self.maximumKeyBytes).contains(key.utf8.count), !key.utf8.contains(0) else {
            throw PluginStateError(
                .invalid, "setting a state value failed: a key has 1 to \(Self.maximumKeyBytes) bytes and no NUL")
        }
        let bound: any DatabaseValueConvertible
        let size: Int
        switch value {
        case nil:
            return try run("removing a state value") { database in
                try database.cachedStatement(sql: "DELETE FROM state WHERE key = ?").execute(arguments: [key])
            }
        case .text(let text):
            guard !text.utf8.contains(0) else {
                throw PluginStateError(
                    .invalid, "setting the state value \(key) failed: the text holds a NUL; store it as bytes")
            }
            (bound, size) = (text, text.utf8.count)
        case .integer(let integer): (bound, size) = (integer, 8)
        case .bytes(let bytes): (bound, size) = (Data(bytes), bytes.count)
        }
        guard size <= Self.maximumValueBytes else {
            throw PluginStateError(
                .invalid,
                "setting the state value \(key) failed: it has \(size) bytes, at most \(Self.maximumValueBytes) are kept"
            )
        }
        try run("setting a state value") { database in
            try database.cachedStatement(
                sql:
                    "INSERT INTO state (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
            ).execute(arguments: [key, bound])
        }
    }

    /// All keys that begin with `prefix`, in the order of their bytes.
    public func keys(prefix: String = "") throws(PluginStateError) -> [String] {
        try run("reading the state's keys") { database in
            // LIKE and a range would need an escape or an upper end that works for any text.
            let statement = try database.cachedStatement(
                sql: "SELECT key FROM state WHERE key >= ?1 AND SUBSTR(key, 1, LENGTH(?1)) = ?1 ORDER BY key")
            return try String.fetchAll(statement, arguments: [prefix])
        }
    }

    private func otherKind(_ key: String, _ expected: String) -> PluginStateError {
        PluginStateError(.invalid, "reading the state value \(key) failed: it is not \(expected)")
    }
}
