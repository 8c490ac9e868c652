import GRDB
import GRDBSQLite

/// A prepared statement at the cost of SQLite's own calls: binding and reading boxed values costs a third of the ingest.
///
/// GRDB owns the statement and its life; this only binds, steps and reads. For the connection's own queue.
struct RawStatement {
    private let statement: Statement  // Kept alive for `handle`.
    private let handle: OpaquePointer
    private let connection: OpaquePointer

    /// A statement that stays prepared with the connection; one use at a time.
    init(cached sql: String, in db: Database) throws {
        try self.init(try db.cachedStatement(sql: sql), in: db)
    }

    /// A statement of its own, for several uses side by side.
    init(new sql: String, in db: Database) throws {
        try self.init(try db.makeStatement(sql: sql), in: db)
    }

    private init(_ statement: Statement, in db: Database) throws {
        guard let connection = db.sqliteConnection else { throw StoreError(.closed, "the store is closed") }
        self.statement = statement
        handle = statement.sqliteStatement
        self.connection = connection
        // A cached statement may have been left in the middle when an error ended its last use.
        clear()
    }

    /// Ends a use: the statement holds neither a row nor a value any more.
    func clear() {
        sqlite3_reset(handle)
        sqlite3_clear_bindings(handle)
    }

    /// Moves to the next row; `false` when there is none.
    func step() throws -> Bool {
        switch sqlite3_step(handle) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        default:
            throw DatabaseError(
                resultCode: ResultCode(rawValue: sqlite3_extended_errcode(connection)),
                message: String(cString: sqlite3_errmsg(connection)))
        }
    }

    /// Runs a statement that returns no row and makes it ready for its next use; how many rows it changed.
    @discardableResult
    func run() throws -> Int {
        _ = try step()
        let changed = sqlite3_changes(connection)
        clear()
        return Int(changed)
    }

    // Parameters count from 1; one that is not bound is NULL. Memory is the only thing that can run out here.

    func bind(_ index: Int32, _ value: Int64) { sqlite3_bind_int64(handle, index, value) }

    func bind(_ index: Int32, _ value: Double) { sqlite3_bind_double(handle, index, value) }

    func bind(_ index: Int32, _ value: Int64?) {
        if let value { sqlite3_bind_int64(handle, index, value) }
    }

    func bind(_ index: Int32, _ value: Int16?) {
        if let value { sqlite3_bind_int64(handle, index, Int64(value)) }
    }

    func bind(_ index: Int32, _ value: String?) {
        guard var value else { return }
        value.withUTF8 { bytes in
            bytes.withMemoryRebound(to: CChar.self) { characters in
                // An empty buffer may have no address, which SQLite would take for NULL.
                guard let base = characters.baseAddress else {
                    sqlite3_bind_text(handle, index, "", 0, RawStatement.copied)
                    return
                }
                sqlite3_bind_text(handle, index, base, Int32(characters.count), RawStatement.copied)
            }
        }
    }

    func bind(_ index: Int32, _ value: [UInt8]) {
        if value.isEmpty {
            sqlite3_bind_zeroblob(handle, index, 0)
        } else {
            sqlite3_bind_blob64(handle, index, value, UInt64(value.count), RawStatement.copied)
        }
    }

    /// `SQLITE_TRANSIENT`, a cast that C headers cannot bring to Swift: SQLite copies before the call returns.
    private static let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

    // Columns count from 0.

    func isNull(_ column: Int32) -> Bool { sqlite3_column_type(handle, column) == SQLITE_NULL }

    func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }

    func optionalInteger(_ column: Int32) -> Int64? { isNull(column) ? nil : integer(column) }

    func double(_ column: Int32) -> Double { sqlite3_column_double(handle, column) }

    func text(_ column: Int32) -> String? {
        guard let bytes = sqlite3_column_text(handle, column) else { return nil }
        return String(
            decoding: UnsafeBufferPointer(start: bytes, count: Int(sqlite3_column_bytes(handle, column))), as: UTF8.self
        )
    }

    func bytes(_ column: Int32) -> [UInt8]? {
        guard !isNull(column) else { return nil }
        guard let bytes = sqlite3_column_blob(handle, column) else { return [] }
        return Array(UnsafeRawBufferPointer(start: bytes, count: Int(sqlite3_column_bytes(handle, column))))
    }
}
