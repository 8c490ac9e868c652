import GRDB
import GRDBSQLite

/// The progress of a slow opening: a store of an older hub is copied and upgraded first.
public struct OpeningProgress: Hashable, Sendable {
    public enum Stage: String, Hashable, Sendable {
        /// The store is copied once, so that each page has a checksum.
        case summing
        /// A copy of the old store is made and kept.
        case keeping
        /// The missing migrations are applied. Their duration is unknown.
        case upgrading
    }

    public var stage: Stage
    /// Bytes copied, for the two copies; 0 at the beginning of each stage.
    public var copied: CopyProgress
}

/// Calls back repeatedly while SQLite executes one long statement.
enum Interrupts {
    /// SQLite virtual machine steps between two calls: some hundredths of a second.
    private static let steps: CInt = 500_000

    private final class Box {
        let call: () -> Void
        init(_ call: @escaping () -> Void) { self.call = call }
    }

    static func during<Value>(
        _ db: Database, _ call: () -> Void, _ work: () throws -> Value
    ) rethrows -> Value {
        try withoutActuallyEscaping(call) { call in
            let box = Box(call)
            return try withExtendedLifetime(box) {
                sqlite3_progress_handler(
                    db.sqliteConnection, steps,
                    { context in
                        if let context { Unmanaged<Box>.fromOpaque(context).takeUnretainedValue().call() }
                        return 0
                    }, Unmanaged.passUnretained(box).toOpaque())
                defer { sqlite3_progress_handler(db.sqliteConnection, 0, nil, nil) }
                return try work()
            }
        }
    }
}
