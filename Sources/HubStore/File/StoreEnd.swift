import Glibc
import GRDB

/// Whether the end of a store is all that was confirmed, found out at its opening.
///
/// The store alone cannot tell: what SQLite recovers of a log that has lost its last pages is a store as good as any, only an older one.
enum StoreEnd: Equatable {
    /// Nothing is missing.
    case whole
    /// The machine went down. SQLite flushes every commit, so nothing should be missing; whether the disk kept its word is not known.
    case unproven
    /// What was confirmed is missing, or the file is another than the last that was here; the reason is a sentence.
    case lost(String)

    /// - Parameters:
    ///   - here: the store as it was found.
    ///   - isNew: the store was made just now, or is of a hub that kept no reserve.
    static func judge(
        _ here: SequenceRecord.Place, _ record: SequenceRecord?, isNew: Bool, boot: String, _ path: String
    ) -> StoreEnd {
        guard let record else {
            return isNew
                ? .whole
                : .lost("\(path) is missing or damaged, so it is not known which sequences the store had given out")
        }
        guard let known = record.places.first(where: { $0.hub == here.hub && $0.epoch == here.epoch }) else {
            return isNew && record.limit == 0
                ? .whole : .lost("the store is not the one that was here last: another file was put in its place")
        }
        guard here.head >= known.head, here.commits >= known.commits else {
            let end =
                here.head < known.head
                ? "it ends at sequence \(here.head), and sequences up to \(known.head) had been given out"
                : "\(known.commits - here.commits) of its last transactions are missing"
            return .lost(
                "\(end): the disk has not kept what it had confirmed, or an older file was put in its place")
        }
        if known.boot.isEmpty { return .whole }
        // What a killed hub has written the system still knows.
        return known.boot == boot && !boot.isEmpty ? .whole : .unproven
    }

    /// What tells one start of this machine from another; empty where the system does not say.
    static var boot: String {
        let file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return "" }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = Glibc.read(file, &bytes, bytes.count)
        return String(decoding: bytes.prefix(max(0, count)).filter { $0 > 32 }, as: UTF8.self)
    }
}

/// Sequences that no record will have, because others may have been told of records that had them.
public struct SequenceGap: Hashable, Sendable {
    /// Why they were left out.
    public enum Cause: String, Sendable {
        /// The machine went down, and it is not known whether its disk has kept what it had confirmed.
        case power
        /// What had been stored is missing; a new epoch began.
        case lost
    }

    public var cause: Cause
    /// The sequences; empty where none are known to have been given out.
    public var sequences: Range<Int64>
    /// The epoch that the store has had from then on.
    public var epoch: String
    /// When it was found, microseconds since 1970.
    public var at: Int64
    /// What was found, a sentence.
    public var reason: String

    static let version9 = """
        -- How many transactions the store has had: what is missing at its end shows here.
        ALTER TABLE meta ADD COLUMN commits INTEGER NOT NULL DEFAULT 0;

        -- Sequences that are left out. `epoch`: that of the store from then on.
        CREATE TABLE gap (
            id INTEGER PRIMARY KEY,
            first INTEGER NOT NULL CHECK (first > 0),
            last INTEGER NOT NULL CHECK (last >= first - 1),
            cause TEXT NOT NULL CHECK (cause IN ('power', 'lost')),
            epoch TEXT NOT NULL,
            at INTEGER NOT NULL,
            reason TEXT NOT NULL
        ) STRICT;
        CREATE INDEX gap_last ON gap (last);
        """

    /// For this long a person should be told of what was lost: a week, in microseconds.
    public static let newsLifetime: Int64 = 7 * 86_400 * 1_000_000

    /// What was found, what became of it and what to do, for people.
    public var text: String {
        switch cause {
        case .power:
            "\(reason): nothing is known to be missing, and sequences go on above \(sequences.upperBound - 1), so that none is used twice"
        case .lost:
            "records are missing: \(reason). The store has a new epoch: followers and sinks begin again by themselves. Sources do not send again what was confirmed: hub backfill NAME where a service still has it, or take it from a newer backup"
        }
    }

    /// The newest first.
    static func all(in db: Database) throws -> [SequenceGap] {
        guard try db.tableExists("gap") else { return [] }
        return try Row.fetchAll(
            db, sql: "SELECT cause, first, last, epoch, at, reason FROM gap ORDER BY id DESC LIMIT 100"
        ).map { row in
            SequenceGap(
                cause: Cause(rawValue: row[0]) ?? .lost, sequences: row[1]..<((row[2] as Int64) + 1), epoch: row[3],
                at: row[4], reason: row[5])
        }
    }

    func save(to db: Database) throws {
        try db.execute(
            sql: "INSERT INTO gap (first, last, cause, epoch, at, reason) VALUES (?, ?, ?, ?, ?, ?)",
            arguments: [
                sequences.lowerBound, sequences.upperBound - 1, cause.rawValue, epoch, at, reason,
            ])
    }
}
