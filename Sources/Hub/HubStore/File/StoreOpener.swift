import Glibc
import GRDB

/// Opens the file: checks its origin and version, upgrades it, and makes every commit durable.
enum StoreOpener {
    /// An open store, in the state in which its only writer finds it.
    struct Opened {
        let pool: DatabasePool
        let reserve: SequenceReserve
        /// The loss that was detected at this opening.
        let loss: SequenceGap?
    }

    static func open(
        _ path: String, _ migrator: DatabaseMigrator, _ checkpoints: CheckpointWatch, now: Int64,
        _ telling: (OpeningProgress) -> Void
    ) throws -> Opened {
        try PageChecksums.begin()
        var isConverted = PageChecksums.areMissing(path) ? try convert(path, migrator, telling) : false
        var configuration = Configuration()
        configuration.label = "HubStore"
        // Two for queries of records, two for other queries, two for pages of deliveries, and the rest for status; opened when needed.
        configuration.maximumReaderCount = 8
        configuration.busyMode = .timeout(Double(busyMilliseconds) / 1_000)
        configuration.prepareDatabase { db in
            // `temp_store`: sorting health data must leave no file behind.
            try db.execute(sql: "PRAGMA temp_store = MEMORY; PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON")
            if db.configuration.readonly { return }
            // Zero removed data. Builds of SQLite differ in whether they do so by default.
            try db.execute(sql: "PRAGMA secure_delete = ON")
            try PageChecksums.enableNew(db)
            try identify(db, path)
        }
        var pool = try DatabasePool(path: path, configuration: configuration)
        if !isConverted, try pool.writeWithoutTransaction({ db in try mayHoldLeftovers(db, migrator, path) }) {
            try pool.close()
            isConverted = try convert(path, migrator, telling)
            pool = try DatabasePool(path: path, configuration: configuration)
        }
        let keepsReserve = try pool.writeWithoutTransaction { db in
            try refuseNewer(db, migrator, path)
            if !isConverted { try copyOlder(db, migrator, path, telling) }
            let applied = try migrator.appliedIdentifiers(db)
            if !applied.isEmpty, !applied.isSuperset(of: migrator.migrations) {
                telling(OpeningProgress(stage: .upgrading, copied: CopyProgress(done: 0, total: 0)))
            }
            return applied.contains("v9")
        }
        try migrator.migrate(pool)
        dropOldCopies(path)
        let (reserve, loss) = try pool.writeWithoutTransaction { db in
            try makeMeta(db, now: now)
            if migrator.migrations.contains(ErasureSchema.name) { try ErasureSchema.makeKey(db) }
            try makeDurable(db)
            checkpoints.follow(db)
            try LedgerSchema.boundWaits(db, now: now)
            return try takeOver(path, db, keepsReserve: keepsReserve, now: now)
        }
        return Opened(pool: pool, reserve: reserve, loss: loss)
    }

    static func meta(_ db: Database) throws -> (hub: String, epoch: String) {
        guard let row = try Row.fetchOne(db, sql: "SELECT hub, epoch FROM meta") else {
            throw StoreError(.corrupt, "the store has lost its name; restore a backup")
        }
        return (row[0], row[1])
    }

    /// The place of an open store, with its head.
    static func place(_ db: Database, boot: String) throws -> SequenceRecord.Place {
        let (hub, epoch) = try meta(db)
        return SequenceRecord.Place(
            hub: hub, epoch: epoch, head: try SequenceHead.read(in: db),
            commits: try Int64.fetchOne(db, sql: "SELECT commits FROM meta") ?? 0, boot: boot)
    }

    /// Checks whether the end of the store is complete.
    ///
    /// If it is not, continues above all sequence numbers that may have been assigned.
    private static func takeOver(
        _ path: String, _ db: Database, keepsReserve: Bool, now: Int64
    ) throws -> (SequenceReserve, SequenceGap?) {
        var record = try SequenceReserve.read(of: path)
        let boot = StoreEnd.boot
        var here = try place(db, boot: boot)
        let end = StoreEnd.judge(here, record, isNew: !keepsReserve, boot: boot, SequenceReserve.path(of: path))
        var gap: SequenceGap?
        if end != .whole {
            // One more than was reserved. The last sequence number of the gap was never assigned, so a cursor may point at it.
            let last = max(here.head, (record?.limit).map { $0 + 1 } ?? here.head)
            let known = record?.places.map(\.commits).max() ?? 0
            var found = SequenceGap(
                cause: .power, sequences: (here.head + 1)..<(last + 1), epoch: here.epoch, at: now,
                reason: "the machine went down while the hub ran")
            if case .lost(let reason) = end {
                (found.cause, found.reason, found.epoch) = (.lost, reason, RandomName.epoch())
                var next = here
                (next.epoch, next.commits) = (found.epoch, max(here.commits, known) + 1)
                // Store the expectation first. Otherwise a crash in between would look like another replacement of the file.
                try SequenceReserve.expect(next, as: path)
            }
            (here.epoch, here.head, here.commits) = (found.epoch, last, max(here.commits, known) + 1)
            try db.inTransaction(.immediate) {
                try found.save(to: db)
                try db.execute(
                    sql: "UPDATE meta SET epoch = ?, commits = ?", arguments: [here.epoch, here.commits])
                return .commit
            }
            gap = found
            // The disk is unreliable. If the reserve were written only with the first commit, the disk could lose both, and sequence numbers would be
            // assigned twice.
            record = record ?? SequenceRecord()
            record?.limit = last + SequenceReserve.step
        }
        return (try SequenceReserve(of: path, at: here, after: record), gap)
    }

    /// Sets `synchronous = FULL`.
    ///
    /// GRDB opens in WAL mode with `NORMAL`, and a power failure can then lose confirmed commits.
    ///
    /// Foreign keys are not checked on each write, which would take a sixth of a commit's time. The ids come from the writer's caches. The caches are
    /// read from this file and dropped if a transaction fails, and rows are removed only after the rows that refer to them. ``AccountCheck`` verifies
    /// this.
    private static func makeDurable(_ db: Database) throws {
        try db.execute(
            sql: """
                PRAGMA synchronous = FULL; PRAGMA foreign_keys = OFF;
                PRAGMA journal_size_limit = 67108864; PRAGMA cache_size = -8000
                """)
        guard try Int.fetchOne(db, sql: "PRAGMA synchronous") == 2 else {
            throw StoreError(.internalFault, "SQLite did not accept synchronous = FULL")
        }
        guard try Int.fetchOne(db, sql: "PRAGMA secure_delete") == 1 else {
            throw StoreError(.internalFault, "SQLite did not accept secure_delete")
        }
    }

    /// Marks a new file as a hub's store.
    ///
    /// Throws for a file of another program before anything is written to it.
    private static func identify(_ db: Database, _ path: String) throws {
        let application = try Int32.fetchOne(db, sql: "PRAGMA application_id")
        if application == StoreSchema.applicationID { return }
        guard application == 0, try Int.fetchOne(db, sql: "SELECT count(*) FROM sqlite_master") == 0 else {
            throw StoreError(.foreign, "open \(path): this database belongs to another program; name another store")
        }
        try db.execute(sql: "PRAGMA application_id = \(StoreSchema.applicationID)")
    }

    static func refuseNewer(_ db: Database, _ migrator: DatabaseMigrator, _ path: String) throws {
        guard try migrator.hasBeenSuperseded(db) else { return }
        let unknown = try migrator.appliedIdentifiers(db).subtracting(migrator.migrations).sorted()
        throw StoreError(
            .newerSchema,
            "open \(path): a newer hub wrote it (schema \(unknown.joined(separator: ", "))); update this hub, or restore an older backup"
        )
    }

    /// How long a connection waits for another.
    static let busyMilliseconds: CInt = 5_000

    /// Whether the unused bytes of pages may contain removed data.
    ///
    /// Stores before this version of the format were written that way.
    private static func mayHoldLeftovers(_ db: Database, _ migrator: DatabaseMigrator, _ path: String) throws -> Bool {
        try refuseNewer(db, migrator, path)
        let applied = try migrator.appliedIdentifiers(db)
        return !applied.isEmpty && migrator.migrations.contains(ErasureSchema.name)
            && !applied.contains(ErasureSchema.name)
    }

    /// Replaces a store of an earlier format by a copy in which each page has a checksum and contains only data in use.
    ///
    /// The old file is kept beside the store.
    /// - Returns: whether the file was a hub's store.
    private static func convert(
        _ path: String, _ migrator: DatabaseMigrator, _ telling: (OpeningProgress) -> Void
    ) throws -> Bool {
        let queue = try DatabaseQueue(path: path)
        var draft: DraftFile?
        var kept = ""
        do {
            try queue.writeWithoutTransaction { db in
                guard try Int32.fetchOne(db, sql: "PRAGMA application_id") == StoreSchema.applicationID else { return }
                try refuseNewer(db, migrator, path)
                let applied = try migrator.appliedIdentifiers(db)
                kept = "\(path).before-\(migrator.migrations.first { !applied.contains($0) } ?? "sums")"
                let copy = try DraftFile(path + ".summing")
                try vacuum(db, into: copy, .summing, telling)
                _ = try db.checkpoint(.truncate)
                draft = copy
            }
            try queue.close()
        } catch {
            let reason = StoreError(error, doing: "copy to \(path).summing", path)
            if [.foreign, .newerSchema].contains(reason.code) { throw reason }
            throw StoreError(
                reason.code,
                "open \(path): it is of an older hub and is copied once, page by page, which failed: \(reason.message); nothing was changed"
            )
        }
        guard let draft else { return false }
        unlink(kept)
        try StoreExchange.begin(path, keeping: kept)
        try draft.replace(path)
        StoreExchange.finish(path)
        return true
    }

    /// Keeps a copy before a migration, because a fault in a migration could damage everything.
    private static func copyOlder(
        _ db: Database, _ migrator: DatabaseMigrator, _ path: String, _ telling: (OpeningProgress) -> Void
    ) throws {
        let applied = try migrator.appliedIdentifiers(db)
        guard !applied.isEmpty, let step = migrator.migrations.first(where: { !applied.contains($0) }) else { return }
        let copy = "\(path).before-\(step)"
        do {
            // A copy left by an earlier attempt has the same or an older state. It is replaced under its own name.
            let draft = try DraftFile(copy + ".part")
            try vacuum(db, into: draft, .keeping, telling)
            try draft.replace(copy)
        } catch {
            let reason = StoreError(error, doing: "copy to \(copy)")
            throw StoreError(
                reason.code,
                "open \(path): it is of an older hub and is copied before it is brought up to date (\(step)), which failed: \(reason.message); nothing was changed"
            )
        }
    }

    private static func vacuum(
        _ db: Database, into draft: DraftFile, _ stage: OpeningProgress.Stage, _ telling: (OpeningProgress) -> Void
    ) throws {
        let total = try Int64.fetchOne(db, sql: StoreSummary.bytes) ?? 0
        telling(OpeningProgress(stage: stage, copied: CopyProgress(done: 0, total: total)))
        try PageChecksums.vacuum(db, into: draft) { telling(OpeningProgress(stage: stage, copied: $0)) }
    }

    /// The number of copies kept from before upgrades.
    static let copiesKept = 3

    /// Removes the oldest copies after an upgrade.
    ///
    /// A copy that cannot be removed does no harm.
    private static func dropOldCopies(_ path: String) {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        let folder = parts.count > 1 ? parts.dropLast().joined(separator: "/") + "/" : ""
        guard let name = parts.last, let directory = opendir(folder.isEmpty ? "." : folder) else { return }
        defer { closedir(directory) }
        var copies: [(name: String, made: Int)] = []
        while let entry = readdir(directory) {
            let file = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            var status = stat()
            guard file.hasPrefix("\(name).before-"), !file.hasSuffix(".part"), stat(folder + file, &status) == 0 else {
                continue
            }
            copies.append((file, status.st_mtim.tv_sec))
        }
        for copy in copies.sorted(by: { ($0.made, $0.name) > ($1.made, $1.name) }).dropFirst(copiesKept) {
            unlink(folder + copy.name)
        }
    }

    private static func makeMeta(_ db: Database, now: Int64) throws {
        try db.execute(
            sql: "INSERT INTO meta (id, hub, epoch, created) VALUES (1, ?, ?, ?) ON CONFLICT (id) DO NOTHING",
            arguments: [RandomName.uid(), RandomName.epoch(), now])
    }
}
