import FoundationEssentials
import GRDB

/// The tokens of plugins, in a separate SQLite file that is not part of record backups.
///
/// It has mode 0600. Every change, including the folder entry, is on disk before the call returns, and replaced data is overwritten in the file.
/// Callers may use any thread. No error and no description contains a token.
public final class SecretStore: Sendable {
    private let path: String
    private let queue: DatabaseQueue

    /// The application id in the file header: "HhSe".
    static let applicationID: Int32 = 0x4868_5365

    /// Opens the file, or creates it if there is none.
    ///
    /// Its folder must exist.
    public init(path: String) throws(StoreError) {
        self.path = path
        try StoreFiles.prepare(path)
        do {
            try PageChecksums.begin()
            try Self.convert(path)
            var configuration = Configuration()
            configuration.label = "SecretStore"
            configuration.busyMode = .timeout(5)
            configuration.prepareDatabase { db in
                try PageChecksums.enableNew(db)
                // Use a rollback journal. A write-ahead log would keep old tokens until it is reused.
                try db.execute(
                    sql: """
                        PRAGMA temp_store = MEMORY; PRAGMA trusted_schema = OFF; PRAGMA secure_delete = ON;
                        PRAGMA synchronous = EXTRA
                        """)
                try Self.identify(db, path)
            }
            queue = try DatabaseQueue(path: path, configuration: configuration)
            try queue.writeWithoutTransaction { try StoreOpener.refuseNewer($0, Self.migrator, path) }
            try Self.migrator.migrate(queue)
        } catch {
            throw StoreError(error, doing: "open \(path)")
        }
    }

    /// Closes the file; later calls throw `closed`.
    public func close() throws(StoreError) {
        do { try queue.close() } catch { throw StoreError(error, doing: "close \(path)") }
    }

    /// Replaces a file without page checksums by a copy with them.
    private static func convert(_ path: String) throws {
        guard PageChecksums.areMissing(path) else { return }
        let draft = try DraftFile(path + ".summing")
        let queue = try DatabaseQueue(path: path)
        let isOurs = try queue.writeWithoutTransaction { db in
            guard try Int32.fetchOne(db, sql: "PRAGMA application_id") == applicationID else { return false }
            try PageChecksums.vacuum(db, into: draft)
            return true
        }
        try queue.close()
        if isOurs { try draft.replace(path) }
    }

    private static func identify(_ db: Database, _ path: String) throws {
        let application = try Int32.fetchOne(db, sql: "PRAGMA application_id")
        if application == applicationID { return }
        guard application == 0, try Int.fetchOne(db, sql: "SELECT count(*) FROM sqlite_master") == 0 else {
            throw StoreError(.foreign, "open \(path): this database belongs to another program; move it away")
        }
        try db.execute(sql: "PRAGMA application_id = \(applicationID)")
    }

    /// A released migration is never edited; each change is a new migration.
    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1") { db in
            try db.execute(
                sql: """
                    CREATE TABLE token (
                        instance TEXT NOT NULL,
                        account TEXT NOT NULL,
                        -- Grows with every change, including removals, and never restarts.
                        version INTEGER NOT NULL,
                        -- NULL: there is no token, or it was removed.
                        json BLOB,
                        -- Microseconds since 1970: the expiry that the token states, and when it was stored.
                        expires INTEGER,
                        renewable INTEGER NOT NULL DEFAULT 0,
                        put INTEGER,
                        -- Why its last refresh failed; NULL after a success.
                        failure TEXT CHECK (failure IN ('auth', 'network')),
                        reason TEXT,
                        failed INTEGER,
                        PRIMARY KEY (instance, account)
                    ) STRICT, WITHOUT ROWID
                    """)
        }
        migrator.registerMigration("2") { db in
            // The logged-in user, for display; NULL if the token does not name one.
            try db.execute(sql: "ALTER TABLE token ADD COLUMN user TEXT")
        }
        return migrator
    }
}

// MARK: - Operations on tokens

extension SecretStore {
    /// Maximum number of accounts of an instance.
    public static let accountsOfInstance = 32

    /// The stored token of an account.
    public func token(of account: TokenAccount) async throws(StoreError) -> StoredToken {
        try await read("read a token") { db in
            let row = try Row.fetchOne(
                db, sql: "SELECT version, json FROM token WHERE instance = ? AND account = ?",
                arguments: [account.instance, account.name])
            return StoredToken(version: row?[0] ?? 0, json: (row?[1] as Data?).map(Array.init))
        }
    }

    /// Stores a token if the current version is the expected one.
    /// - Parameter now: microseconds since 1970.
    /// - Returns: the new version, or the reason why the token was not stored: another version than `expected`, or too many accounts of the instance.
    public func put(
        _ token: NewToken, for account: TokenAccount, expecting expected: Int64, at now: Int64
    ) async throws(StoreError) -> TokenPutResult {
        try await write("store a token") { db in
            let known = try Int64.fetchOne(
                db, sql: "SELECT version FROM token WHERE instance = ? AND account = ?",
                arguments: [account.instance, account.name])
            let version = known ?? 0
            guard version == expected else { return .conflict(version: version) }
            // An account that has only a failure is already counted.
            if known == nil, try Self.count(db, account.instance) >= Self.accountsOfInstance { return .tooMany }
            try db.execute(
                sql: """
                    INSERT INTO token (instance, account, version, json, expires, renewable, put, user)
                    VALUES (?, ?, ?, ?, ?, ?, ?, ?)
                    ON CONFLICT DO UPDATE SET version = excluded.version, json = excluded.json,
                        expires = excluded.expires, renewable = excluded.renewable, put = excluded.put,
                        user = excluded.user, failure = NULL, reason = NULL, failed = NULL
                    """,
                arguments: [
                    account.instance, account.name, version + 1, Data(token.json), token.expires, token.isRenewable,
                    now, token.user,
                ])
            return .stored(version: version + 1)
        }
    }

    /// Records why a token could not be obtained, for `hub status`.
    ///
    /// The next `put` clears it.
    ///
    /// - Parameter version: the version of the token that failed, or 0 for none. The failure is ignored if another version is stored; `nil` accepts
    ///   any.
    public func note(
        _ failure: TokenFailure, of account: TokenAccount, version: Int64? = nil, at now: Int64
    ) async throws(StoreError) {
        try await write("note a failure") { db in
            let stored = try Int64.fetchOne(
                db, sql: "SELECT version FROM token WHERE instance = ? AND account = ?",
                arguments: [account.instance, account.name])
            if let version, version != stored ?? 0 { return }
            guard try stored != nil || Self.count(db, account.instance) < Self.accountsOfInstance else { return }
            try db.execute(
                sql: """
                    INSERT INTO token (instance, account, version, failure, reason, failed) VALUES (?, ?, 0, ?, ?, ?)
                    ON CONFLICT DO UPDATE SET failure = excluded.failure, reason = excluded.reason,
                        failed = excluded.failed
                    """,
                arguments: [account.instance, account.name, failure.kind.rawValue, failure.reason, now])
        }
    }

    /// Removes the tokens of one account or of all accounts of an instance.
    ///
    /// Their version numbers are not reused.
    /// - Returns: the accounts that had a token.
    public func remove(instance: String, account: String? = nil) async throws(StoreError) -> [String] {
        try await write("remove tokens") { db in
            let accounts = try String.fetchAll(
                db,
                sql: """
                    SELECT account FROM token WHERE instance = ?1 AND (?2 IS NULL OR account = ?2) AND json IS NOT NULL
                    ORDER BY account
                    """, arguments: [instance, account])
            try db.execute(
                sql: """
                    UPDATE token SET version = version + 1, json = NULL, expires = NULL, renewable = 0, put = NULL,
                        user = NULL, failure = NULL, reason = NULL, failed = NULL
                    WHERE instance = ?1 AND (?2 IS NULL OR account = ?2)
                    """, arguments: [instance, account])
            return accounts
        }
    }

    /// The states of all accounts without the tokens, by instance and account.
    public func overview() async throws(StoreError) -> [TokenOverview] {
        try await read("look at the tokens") { db in
            try Row.fetchAll(
                db,
                sql: """
                    SELECT instance, account, version, json IS NOT NULL, expires, renewable, put, failure, reason, failed,
                        user
                    FROM token ORDER BY instance, account
                    """
            ).map { row in
                let kind = (row[7] as String?).flatMap(TokenFailure.Kind.init)
                return TokenOverview(
                    account: TokenAccount(instance: row[0], name: row[1]), version: row[2], isThere: row[3],
                    user: row[10],
                    expires: row[4], isRenewable: row[5], put: row[6],
                    failure: kind.map { TokenFailure($0, reason: row[8] ?? "") }, failed: row[9])
            }
        }
    }

    private static func count(_ db: Database, _ instance: String) throws -> Int {
        try Int.fetchOne(db, sql: "SELECT count(*) FROM token WHERE instance = ?", arguments: [instance]) ?? 0
    }

    private func read<Value: Sendable>(
        _ doing: String, _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws(StoreError) -> Value {
        do { return try await queue.read(body) } catch { throw StoreError(error, doing: "\(doing) in \(path)") }
    }

    private func write<Value: Sendable>(
        _ doing: String, _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws(StoreError) -> Value {
        do { return try await queue.write(body) } catch { throw StoreError(error, doing: "\(doing) in \(path)") }
    }
}
