import GRDB
import Samples

/// Look-ups of the records of a group.
enum RecordGroup {
    /// The numbers, and after each correlation or workout those of its group, which have no meaning without it.
    ///
    /// - Parameter alone: numbers whose groups are not included.
    static func withMembers(_ numbers: [Int64], but alone: Set<Int64> = [], in db: Database) throws -> [Int64] {
        var (all, seen): ([Int64], Set<Int64>) = ([], Set(numbers))
        for number in numbers {
            all.append(number)
            guard !alone.contains(number), let kind = try VersionLookup.current(number, in: db)?.kind,
                wholes.contains(kind)
            else { continue }
            all += try withGroups([number], in: db).filter { seen.insert($0).inserted }
        }
        return all
    }

    private static let wholes = Set([RecordKind.correlation, .workout].compactMap(\.code).map { Int($0) })

    /// The numbers, and those of all records in one group with them, each once.
    ///
    /// - Parameter alone: numbers whose groups are not included.
    static func withGroups(_ numbers: [Int64], but alone: Set<Int64> = [], in db: Database) throws -> [Int64] {
        var (all, seen): ([Int64], Set<Int64>) = ([], [])
        let sql = """
            SELECT o.number FROM sample s
            JOIN sample o INDEXED BY sample_group ON o.grouping = s.grouping
            JOIN source a ON a.id = s.source JOIN source b ON b.id = o.source AND b.plugin = a.plugin
            WHERE s.number = ?1 AND o.grouping IS NOT NULL ORDER BY o.number
            """
        for number in numbers {
            let statement = try RawStatement(cached: sql, in: db)
            defer { statement.clear() }
            statement.bind(1, number)
            if seen.insert(number).inserted { all.append(number) }
            if alone.contains(number) { continue }
            while try statement.step() {
                if seen.insert(statement.integer(0)).inserted { all.append(statement.integer(0)) }
            }
        }
        return all
    }
}
