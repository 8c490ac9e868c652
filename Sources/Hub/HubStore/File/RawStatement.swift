import GRDB
import GRDBSQLite

/// A prepared statement without GRDB's boxed values, which cost a third of the ingest.
///
/// GRDB owns the statement and its lifetime. This type only binds, steps and reads. Use it on the connection's queue only.
struct RawStatement {
    private let statement: Statement  // Kept alive for `handle`.
    private let handle: OpaquePointer
    private let connection: OpaquePointer

    /// A statement that stays prepared with the connection.
    ///
    /// It allows one use at a time.
    init(cached sql: String, in db: Database) throws {
        try self.init(try db.cachedStatement(sql: sql), in: db)
    }

    /// A separate statement, for several uses at the same time.
    init(new sql: String, in db: Database) throws {
        try self.init(try db.makeStatement(sql: sql), in: db)
    }

    private init(_ statement: Statement, in db: Database) throws {
        guard let connection = db.sqliteConnection else { throw StoreError(.closed, "the store is closed") }
        self.statement = statement
        handle = statement.sqliteStatement
        self.connection = connection
        // An error may have left a cached statement in the middle of its last use.
        clear()
    }

    /// Ends a use: resets the statement and releases its bound values.
    func clear() {
        sqlite3_reset(handle)
        sqlite3_clear_bindings(handle)
    }

    /// Moves to the next row; returns `false` if there is none.
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

    /// Runs a statement that returns no row and prepares it for its next use; returns the number of changed rows.
    @discardableResult
    func run() throws -> Int {
        _ = try step()
        let changed = sqlite3_changes(connection)
        clear()
        return Int(changed)
    }

    /// Runs a statement with one parameter that returns no row.
    static func run(_ sql: String, _ number: Int64, in db: Database) throws {
        let statement = try RawStatement(cached: sql, in: db)
        statement.bind(1, number)
        try statement.run()
    }

    /// The first column of the first row of a statement with one parameter; `nil` if there is no row.
    static func integer(_ sql: String, _ number: Int64, in db: Database) throws -> Int64? {
        let statement = try RawStatement(cached: sql, in: db)
        defer { statement.clear() }
        statement.bind(1, number)
        return try statement.step() ? statement.integer(0) : nil
    }

    // Parameters count from 1. Unbound parameters are NULL. Binding can fail only if memory runs out.

    func bind(_ index: Int32, _ value: Int64) { sqlite3_bind_int64(handle, index, value) }

    /// Binds consecutive parameters.
    func bind(_ values: [Int64], from first: Int32 = 1) {
        for (offset, value) in values.enumerated() { bind(first + Int32(offset), value) }
    }

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
                // An empty buffer may have no address, which SQLite would treat as NULL.
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

    /// `SQLITE_TRANSIENT`, which Swift cannot import as a cast: SQLite copies the value before the call returns.
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
