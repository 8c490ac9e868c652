import GRDB
import Samples

/// The unretracted, readable records of a group, with the properties that conditions test.
///
/// A condition may test each of a thousand records a hundred times, so each property is computed once.
final class SampleGroup {
    /// The records of one plugin with the same group text, for one person.
    struct Key: Hashable {
        var group: String
        var plugin: String
        var person: Int64
    }

    private struct Member {
        var number: Int64
        var typeID: Int64
        /// Set for a quantity.
        var value: Double?
    }

    /// Sorted by number, ascending.
    private var members: [Member] = []
    /// The kind of each member, by its number.
    private(set) var kinds: [Int64: SampleKind] = [:]
    private var counts: [SampleKind: Int] = [:]
    private var totals: [TypeID: Double]?
    private var met: [[Int64]]?

    /// Maximum number of cached groups.
    ///
    /// The records of one group are mostly adjacent.
    private static let remembered = 64

    static func of(_ key: Key, _ context: RowMatcher.Context) throws -> SampleGroup {
        if let known = context.groups[key] { return known }
        let group = try SampleGroup(key, context)
        if context.groups.count >= remembered { context.groups.removeAll(keepingCapacity: true) }
        context.groups[key] = group
        return group
    }

    private init(_ key: Key, _ context: RowMatcher.Context) throws {
        let statement = try RawStatement(
            cached: """
                SELECT m.number, m.kind, m.type, m.value, m.start + m.duration FROM sample m INDEXED BY sample_group
                CROSS JOIN source s ON s.id = m.source
                WHERE m.grouping = ?1 AND s.plugin = ?2 AND ifnull(m.person, 0) = ?3 AND m.retracted IS NULL
                """, in: context.db)
        defer { statement.clear() }
        statement.bind(1, key.group)
        statement.bind(2, key.plugin)
        statement.bind(3, key.person)
        while try statement.step() {
            guard let kind = SampleKind(code: statement.integer(1)) else { continue }
            let (number, typeID) = (statement.integer(0), statement.integer(2))
            if let allowance = context.allowance {
                guard statement.integer(4) >= allowance.since ?? .min,
                    allowance.allows(try context.termCache.type(typeID, in: context.db), of: key.plugin)
                else { continue }
            }
            members.append(
                Member(number: number, typeID: typeID, value: statement.isNull(3) ? nil : statement.double(3)))
            kinds[number] = kind
            counts[kind, default: 0] += 1
        }
        members.sort { $0.number < $1.number }
    }

    /// Whether the group has a member of one of these kinds other than `number`.
    func hasOther(than number: Int64, of asked: [SampleKind]) -> Bool {
        asked.contains { kind in counts[kind, default: 0] > (kinds[number] == kind ? 1 : 0) }
    }

    /// The sum of the quantities of a type, added in the order of their numbers; `nil` if there are none.
    func total(of type: TypeID, _ context: RowMatcher.Context) throws -> Double? {
        if totals == nil {
            var sums: [TypeID: Double] = [:]
            for member in members {
                guard let value = member.value else { continue }
                sums[try context.termCache.type(member.typeID, in: context.db), default: 0] += value
            }
            totals = sums
        }
        return totals?[type]
    }

    /// For each part of ``ContainedParts`` up to two members that match it, so that one of them differs from any record being tested.
    func met(_ context: RowMatcher.Context) throws -> [[Int64]] {
        if let met { return met }
        var found = context.contained.parts.map { _ in [Int64]() }
        for member in members {
            let type = try context.termCache.type(member.typeID, in: context.db)
            let open = found.indices.filter { found[$0].count < 2 && context.contained.parts[$0].type == type }
            guard !open.isEmpty else { continue }
            let statement = try context.contained.statement(context.db)
            defer { statement.clear() }
            statement.bind(1, member.number)
            guard try statement.step() else { continue }
            let facts = RowProperties(statement, .sample, context)
            for part in open where try context.contained.parts[part].verdict(facts) {
                found[part].append(member.number)
            }
        }
        met = found
        return found
    }
}

/// The expressions within `contains`, which are evaluated for the members of groups.
final class ContainedParts {
    private(set) var parts: [(type: TypeID, verdict: (RowProperties) throws -> Bool)] = []
    private var rows: RawStatement?

    /// - Returns: the index of the part.
    func add(_ type: TypeID, _ verdict: @escaping (RowProperties) throws -> Bool) -> Int {
        parts.append((type, verdict))
        return parts.count - 1
    }

    /// Reads one sample by its number.
    ///
    /// This statement is separate from the one that reads the row being tested.
    func statement(_ db: Database) throws -> RawStatement {
        if let rows { return rows }
        let statement = try RawStatement(new: SampleRow.byNumber, in: db)
        rows = statement
        return statement
    }
}
