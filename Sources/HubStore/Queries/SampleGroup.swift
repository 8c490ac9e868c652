import GRDB
import Samples

/// The records of a group that are not taken back and may be read, as far as conditions ask.
///
/// A condition may test each of its thousand records a hundred times: each fact is computed once.
final class SampleGroup {
    /// One plugin's records under one text for one person.
    struct Key: Hashable {
        var group: String
        var plugin: String
        var person: Int64
    }

    private struct Member {
        var number: Int64
        var typeID: Int64
        /// Of a quantity.
        var value: Double?
    }

    /// By their numbers, upwards.
    private var members: [Member] = []
    /// The kind of each member, by its number.
    private(set) var kinds: [Int64: SampleKind] = [:]
    private var counts: [SampleKind: Int] = [:]
    private var totals: [TypeID: Double]?
    private var met: [[Int64]]?

    /// As many groups as are remembered; records of one mostly lie side by side.
    private static let remembered = 64

    static func of(_ key: Key, _ context: RowJudge.Context) throws -> SampleGroup {
        if let known = context.groups[key] { return known }
        let group = try SampleGroup(key, context)
        if context.groups.count >= remembered { context.groups.removeAll(keepingCapacity: true) }
        context.groups[key] = group
        return group
    }

    private init(_ key: Key, _ context: RowJudge.Context) throws {
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

    /// Whether a member of one of these kinds is another record.
    func hasOther(than number: Int64, of asked: [SampleKind]) -> Bool {
        asked.contains { kind in counts[kind, default: 0] > (kinds[number] == kind ? 1 : 0) }
    }

    /// The sum of the quantities of a type, in the order of their numbers; `nil` if there are none.
    func total(of type: TypeID, _ context: RowJudge.Context) throws -> Double? {
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

    /// Of each part of ``ContainedParts`` two members that meet it, or the only one: so one is another record than any that asks.
    func met(_ context: RowJudge.Context) throws -> [[Int64]] {
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
            let facts = RowFacts(statement, .sample, context)
            for part in open where try context.contained.parts[part].verdict(facts) {
                found[part].append(member.number)
            }
        }
        met = found
        return found
    }
}

/// The expressions within `contains`, which are judged for the members of groups.
final class ContainedParts {
    private(set) var parts: [(type: TypeID, verdict: (RowFacts) throws -> Bool)] = []
    private var rows: RawStatement?

    /// - Returns: the part's place.
    func add(_ type: TypeID, _ verdict: @escaping (RowFacts) throws -> Bool) -> Int {
        parts.append((type, verdict))
        return parts.count - 1
    }

    /// Reads one sample by its number; not the statement that the row is read from which is asked about.
    func statement(_ db: Database) throws -> RawStatement {
        if let rows { return rows }
        let statement = try RawStatement(new: SampleRow.byNumber, in: db)
        rows = statement
        return statement
    }
}
