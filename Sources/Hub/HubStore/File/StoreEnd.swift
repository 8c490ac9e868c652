import Glibc
import GRDB

/// Whether the end of a store contains everything that was confirmed.
///
/// It is checked when the store is opened.
///
/// The store alone cannot show this. If a log lost its last pages, SQLite recovers a valid store that is only older.
enum StoreEnd: Equatable {
    /// Nothing is missing.
    case whole
    /// The machine crashed. SQLite flushes every commit, so nothing should be missing, but the disk may not have kept the flushed data.
    case unproven
    /// Confirmed data is missing, or the file is not the last one that was here. The reason is a sentence.
    case lost(String)

    /// - Parameters:
    ///   - here: the place of the store as found.
    ///   - isNew: whether the store was just created, or is of a hub that kept no reserve.
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
                "\(end): the disk has lost confirmed data, or an older file was put in its place")
        }
        if known.boot.isEmpty { return .whole }
        // The system still has everything that a killed hub wrote.
        return known.boot == boot && !boot.isEmpty ? .whole : .unproven
    }

    /// Identifies the current boot of this machine; empty if the system does not report it.
    static var boot: String {
        let file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return "" }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = Glibc.read(file, &bytes, bytes.count)
        return String(decoding: bytes.prefix(max(0, count)).filter { $0 > 32 }, as: UTF8.self)
    }
}

/// Sequence numbers that no record will get, because clients may have seen lost records with them.
public struct SequenceGap: Hashable, Sendable {
    /// Why the numbers were skipped.
    public enum Cause: String, Sendable {
        /// The machine crashed, and it is unknown whether its disk kept the confirmed data.
        case power
        /// Stored data is missing; a new epoch began.
        case lost
    }

    public var cause: Cause
    /// The skipped sequence numbers; empty if none is known to have been assigned.
    public var sequences: Range<Int64>
    /// The epoch of the store from then on.
    public var epoch: String
    /// When the gap was found, in microseconds since 1970.
    public var at: Int64
    /// The finding, as a sentence.
    public var reason: String

    static let version9 = """
        -- The number of transactions of the store; it reveals transactions missing at its end.
        ALTER TABLE meta ADD COLUMN commits INTEGER NOT NULL DEFAULT 0;

        -- Skipped sequences. `epoch`: the store's epoch from then on.
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

    /// How long to show people a notice of the loss: a week, in microseconds.
    public static let newsLifetime: Int64 = 7 * 86_400 * 1_000_000

    /// The cause, the consequences and the next steps, for people.
    public var text: String {
        switch cause {
        case .power:
            "\(reason): nothing is known to be missing, and sequences go on above \(sequences.upperBound - 1), so that none is used twice"
        case .lost:
            "records are missing: \(reason). The store has a new epoch: followers and sinks start over. Sources do not send confirmed records again: run hub backfill NAME if a service still has them, or take them from a newer backup"
        }
    }

    /// All gaps, newest first.
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
