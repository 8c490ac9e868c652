import GRDB

/// A summary of a store's file: enough to distinguish two stores and to tell what one has that the other lacks.
public struct StoreSummary: Codable, Hashable, Sendable {
    /// The random, permanent name of the hub that wrote it.
    public var hub: String
    /// Eight characters that change with every restore.
    public var epoch: String
    /// The newest sequence number; 0 in an empty store.
    public var head: Int64
    /// The number of identities in their current version, including retracted ones, according to the accounts.
    public var records: Int64
    /// When the newest version was stored, in microseconds since 1970 by the hub's clock; `nil` in an empty store.
    public var newest: Int64?
    /// When the store was created, in microseconds since 1970.
    public var created: Int64
    /// The last migration that was applied, such as `v1`.
    public var schema: String
    /// The size of the database, including data that is still in its write-ahead log.
    public var bytes: Int64

    init(
        hub: String, epoch: String, head: Int64, records: Int64, newest: Int64?, created: Int64, schema: String,
        bytes: Int64
    ) {
        (self.hub, self.epoch, self.head, self.records) = (hub, epoch, head, records)
        (self.newest, self.created, self.schema, self.bytes) = (newest, created, schema, bytes)
    }

    init(in db: Database) throws {
        guard let meta = try Row.fetchOne(db, sql: "SELECT hub, epoch, created FROM meta") else {
            throw StoreError(.corrupt, "the store has lost its name; restore another backup")
        }
        (hub, epoch, created) = (meta[0], meta[1], meta[2])
        head = try SequenceHead.ofAnyFormat(db)
        records =
            (try Int64.fetchOne(db, sql: "SELECT ifnull(sum(stored), 0) FROM account") ?? 0)
            - (try RetentionSchema.removedRecords(in: db))
        newest = try Int64.fetchOne(db, sql: StoreSummary.newest)
        schema =
            try String.fetchOne(
                db, sql: "SELECT identifier FROM grdb_migrations ORDER BY rowid DESC LIMIT 1") ?? ""
        bytes = try Int64.fetchOne(db, sql: StoreSummary.bytes) ?? 0
    }

    static let bytes = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"

    /// The row with the highest sequence number is at the end of one of four indices, like the head.
    static let newest = """
        SELECT recorded_at FROM (
            SELECT * FROM (SELECT seq, recorded_at FROM sample ORDER BY number DESC LIMIT 1)
            UNION ALL SELECT * FROM (SELECT seq, recorded_at FROM sample WHERE seq <> number ORDER BY seq DESC LIMIT 1)
            UNION ALL SELECT * FROM (SELECT seq, recorded_at FROM day ORDER BY number DESC LIMIT 1)
            UNION ALL SELECT * FROM (SELECT seq, recorded_at FROM day WHERE seq <> number ORDER BY seq DESC LIMIT 1))
        ORDER BY seq DESC LIMIT 1
        """
}

/// The progress of a copy, in bytes.
public struct CopyProgress: Hashable, Sendable {
    public var done: Int64
    public var total: Int64
}
