import GRDB

/// Records that a store erased, or began to erase, after a backup was made.
///
/// A restore of the backup brings them back.
public struct RevivedErasures: Codable, Hashable, Sendable {
    public var records: Int64 = 0
    /// Their numbers, at most ``most``.
    public var numbers: [Int64] = []
    /// Persons who were forgotten, by the names that the backup restores.
    public var persons: [String] = []

    public static let most = 1_000_000

    public var isEmpty: Bool { records == 0 && persons.isEmpty }

    /// - Parameters:
    ///   - store: the store that erased the records.
    ///   - backup: a backup of the same hub and epoch, so that a number means the same record in both.
    ///   - head: the last sequence number in the backup.
    ///   - progress: as in `StoreFile.backUp`.
    static func between(
        _ store: StoreFile, _ backup: StoreFile, head: Int64, _ progress: (CopyProgress) -> Bool
    ) throws(StoreError) -> RevivedErasures {
        try backup.read("look for erased records in") { backup in
            try store.read("look for erased records in") { store in
                var revived = RevivedErasures()
                // An older store without erasure has erased nothing.
                guard try store.tableExists("erased") else { return revived }
                let copy = try Backup(backup)
                let erased = try Int64.fetchCursor(store, sql: try numbers(in: store), arguments: [head])
                while let number = try erased.next() {
                    guard progress(CopyProgress(done: number, total: head)) else {
                        throw StoreError(.interrupted, "ended on request; nothing was done")
                    }
                    guard try copy.has(number) else { continue }
                    revived.records += 1
                    if revived.numbers.count < most { revived.numbers.append(number) }
                }
                for person in try Int64.fetchAll(store, sql: "SELECT id FROM person WHERE erased = 1 ORDER BY id") {
                    if let name = try copy.name(of: person) { revived.persons.append(name) }
                }
                return revived
            }
        }
    }

    /// The numbers of erased records and of records chosen for erasure.
    ///
    /// Records removed by retention have no row. The retention rule removes them again after a restore.
    private static func numbers(in store: Database) throws -> String {
        var sets = [
            "SELECT number FROM erased", "SELECT number FROM erasure_record WHERE (SELECT stage FROM erasure) > 0",
        ]
        if try store.tableExists("erasure_fault") { sets.append("SELECT number FROM erasure_fault") }
        return """
            SELECT number FROM (\(sets.joined(separator: " UNION "))) AS e WHERE number <= ?1 AND (
                EXISTS (SELECT 1 FROM sample WHERE sample.number = e.number)
                OR EXISTS (SELECT 1 FROM day WHERE day.number = e.number)) ORDER BY number
            """
    }

    /// The records and persons that the backup still has.
    private struct Backup {
        private let record: Statement
        private let person: Statement

        init(_ db: Database) throws {
            let knowsErasing = try db.tableExists("erased")
            record = try db.makeStatement(
                sql: """
                    SELECT (EXISTS (SELECT 1 FROM sample WHERE number = n) OR EXISTS (SELECT 1 FROM day WHERE number = n))
                    \(knowsErasing ? "AND NOT EXISTS (SELECT 1 FROM erased WHERE number = n)" : "") FROM (SELECT ?1 AS n)
                    """)
            person = try db.makeStatement(
                sql: "SELECT name FROM person WHERE id = ?1 \(knowsErasing ? "AND erased IS NULL" : "")")
        }

        func has(_ number: Int64) throws -> Bool { try Bool.fetchOne(record, arguments: [number]) ?? false }

        func name(of id: Int64) throws -> String? { try String.fetchOne(person, arguments: [id]) }
    }
}
