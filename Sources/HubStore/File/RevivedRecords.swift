import GRDB

/// Records that a store has erased since a backup was made: who restores the backup has them again.
public struct RevivedRecords: Codable, Hashable, Sendable {
    public var count: Int64
    /// The first of their numbers, at most ``most``: as many as `erase` takes at once.
    public var numbers: [Int64]

    public static let most = RecordQuery.maximumPage

    /// - Parameters:
    ///   - store: which has erased them.
    ///   - backup: of the same hub and epoch, so that a number is the same record in both.
    ///   - head: the newest sequence in the backup.
    static func between(_ store: StoreFile, _ backup: StoreFile, head: Int64) throws(StoreError) -> RevivedRecords {
        try backup.read("look for what was erased in") { backup in
            let isThere =
                "EXISTS (SELECT 1 FROM sample WHERE number = n) OR EXISTS (SELECT 1 FROM day WHERE number = n)"
            // A store of before there was erasing has erased nothing.
            let isLeft =
                try backup.tableExists("erased") ? "AND NOT EXISTS (SELECT 1 FROM erased WHERE number = n)" : ""
            let has = try backup.makeStatement(sql: "SELECT (\(isThere)) \(isLeft) FROM (SELECT ?1 AS n)")
            return try store.read("look for what was erased in") { store in
                var revived = RevivedRecords(count: 0, numbers: [])
                guard try store.tableExists("erased") else { return revived }
                // What a rule of retention has removed has no row any more, and goes again by the rule.
                let erased = try Int64.fetchCursor(
                    store,
                    sql:
                        "SELECT number FROM (SELECT number, number AS n FROM erased WHERE number <= ?1 ORDER BY number) WHERE \(isThere)",
                    arguments: [head])
                while let number = try erased.next() {
                    guard try Bool.fetchOne(has, arguments: [number]) == true else { continue }
                    revived.count += 1
                    if revived.numbers.count < most { revived.numbers.append(number) }
                }
                return revived
            }
        }
    }
}
