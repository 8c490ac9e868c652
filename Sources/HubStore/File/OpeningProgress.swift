import GRDB
import GRDBSQLite

/// What the opening of a store is at, where it takes long: a store of an older hub is copied and brought up to date first.
public struct OpeningProgress: Hashable, Sendable {
    public enum Stage: String, Hashable, Sendable {
        /// It is copied once, so that each of its pages has a sum.
        case summing
        /// It is copied, to be kept as it was.
        case keeping
        /// The steps of the format that it lacks are applied: how long that takes is not known.
        case upgrading
    }

    public var stage: Stage
    /// Bytes, for the two copies; at the beginning of each stage 0.
    public var copied: CopyProgress
}

/// Calls back now and then while SQLite works on one long statement.
enum Interrupts {
    /// Machine steps of SQLite between two calls: some hundredths of a second.
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
