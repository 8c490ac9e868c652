import GRDB
import JSON
import Samples

/// Judges rows by a condition, within one snapshot.
///
/// Not SQL: what metadata, units and groups say is read here by the same code as everywhere else, and a question reads the same
/// indices whatever its condition is. In a group only what may be read counts.
final class RowJudge {
    private typealias Verdict = (RowFacts) throws -> Bool

    private let context: Context
    private let verdict: Verdict

    /// What the rows of one page share.
    final class Context {
        let termCache: TermCache
        let db: Database
        let allowance: ReadAllowance?
        var groups: [GroupMember.Key: [GroupMember]] = [:]

        init(_ termCache: TermCache, _ db: Database, _ allowance: ReadAllowance?) {
            (self.termCache, self.db, self.allowance) = (termCache, db, allowance)
        }
    }

    /// `nil` where the query has no condition.
    init?(_ query: RecordQuery, _ termCache: TermCache, in db: Database) {
        guard let condition = query.condition?.condition else { return nil }
        context = Context(termCache, db, query.allowance)
        verdict = RowJudge.verdict(condition)
    }

    func fits(_ row: RawStatement, of table: Lane.Table) throws -> Bool {
        try verdict(RowFacts(row, table, context))
    }

    private static func verdict(_ condition: RecordCondition) -> Verdict {
        switch condition {
        case .all(let parts):
            let verdicts = parts.map(verdict)
            return { row in try verdicts.allSatisfy { try $0(row) } }
        case .any(let parts):
            let verdicts = parts.map(verdict)
            return { row in try verdicts.contains { try $0(row) } }
        case .not(let part):
            let verdict = verdict(part)
            return { row in try !verdict(row) }
        case .types(let types):
            let types = Set(types)
            return { row in types.contains(try row.type) }
        case .numbers(let numbers):
            let numbers = Set(numbers)
            return { row in numbers.contains(row.number) }
        case .keys(let keys):
            return { row in row.key.map { key in keys.contains { $0.hasSameBytes(as: key) } } ?? false }
        case .source(let matches):
            return { row in
                let source = try row.source
                return matches.allSatisfy { match in
                    switch match.name {
                    case "plugin": match.fits(source.plugin)
                    case "device": match.fits(source.device)
                    default: match.fits(source.account)
                    }
                }
            }
        case .time(let from, let to, let strict): return { row in row.lies(from, to, strict) }
        case .userEntered: return { row in try row.metadata?.isUserEntered ?? false }
        case .metadata(let name, let test): return metadata(name, test)
        case .properties(let name, let matches):
            return { row in
                let metadata = try row.metadata
                return matches.allSatisfy { match in match.fits(metadata?.text(of: match.name, in: name)) }
            }
        case .quantity(let measures, let unit, let plain):
            let byType = Dictionary(measures.map { ($0.type, $0.comparisons) }) { first, _ in first }
            return { row in
                guard let value = row.quantity else { return false }
                let comparisons = try byType[row.type] ?? (row.unit == unit ? plain : nil)
                return comparisons?.allSatisfy { $0.holds(for: value) } ?? false
            }
        case .category(let names, let raws):
            let (names, raws) = (Set(names), Set(raws))
            return { row in
                guard row.kind == .category else { return false }
                return try row.raw.map(raws.contains) ?? false || row.name.map(names.contains) ?? false
            }
        case .activity(let raws):
            return { row in row.kind == .workout && row.raw.map(raws.contains) ?? false }
        case .duration(let comparisons):
            return { row in comparisons.allSatisfy { $0.holds(for: Double(row.end - row.start)) } }
        case .total(let type, let comparisons):
            return { row in
                let values = try row.group.filter { try $0.type(row.context) == type }.compactMap(\.value)
                guard !values.isEmpty else { return false }
                let total = values.reduce(0, +)
                return comparisons.allSatisfy { $0.holds(for: total) }
            }
        case .partOf(let kinds):
            return { row in
                try row.group.contains { kinds.contains($0.kind) && $0.number != row.number }
            }
        case .partOfRecord(let number):
            return { row in
                guard number != row.number else { return false }
                return try row.group.contains { $0.number == number && [.correlation, .workout].contains($0.kind) }
            }
        case .contains(let contained):
            let parts = contained.map { (type: $0.type, verdict: verdict($0.condition), rows: RowReader()) }
            return { row in
                guard row.kind == .correlation || row.kind == .workout else { return false }
                let members = try row.group.filter { $0.number != row.number }
                return try parts.allSatisfy { part in
                    try members.contains { member in
                        try member.type(row.context) == part.type
                            && part.rows.read(member.number, row.context, part.verdict)
                    }
                }
            }
        }
    }

    /// Reads single samples for one part of a condition, so that no part takes the statement that another is reading from.
    private final class RowReader {
        private var statement: RawStatement?

        func read(_ number: Int64, _ context: Context, _ verdict: Verdict) throws -> Bool {
            let statement = try self.statement ?? RawStatement(new: SampleRow.byNumber, in: context.db)
            self.statement = statement
            defer { statement.clear() }
            statement.bind(1, number)
            return try statement.step() ? try verdict(RowFacts(statement, .sample, context)) : false
        }
    }

    private static func metadata(_ asked: String, _ test: MetadataTest) -> Verdict {
        let (name, key) = (MetadataKey.name(of: asked), MetadataKey.named(asked))
        switch test {
        case .present: return { row in try row.metadata?.has(name) ?? false }
        case .oneOf(let values):
            let values = values.map { $0.plain(of: key) }
            return { row in
                try row.metadata?.value(name).map { $0.plain(of: key) }.map { value in
                    values.contains { $0.isSame(as: value) }
                }
                    ?? false
            }
        case .compared(let comparisons):
            let comparisons = comparisons.map { $0.map { $0.plain(of: key) } }
            return { row in
                try row.metadata?.value(name).map { $0.plain(of: key) }.map { value in
                    comparisons.allSatisfy { $0.holds(for: value) }
                } ?? false
            }
        case .measured(let comparisons, let text):
            guard let unit = try? HealthUnit(text) else { return { _ in false } }
            return { row in
                try row.metadata?.quantity(name, in: unit).map { value in
                    comparisons.allSatisfy { $0.holds(for: value) }
                }
                    ?? false
            }
        }
    }
}

extension MetadataValue {
    /// As it is compared under a key that HealthKit documents: a time as an instant, a value of an enumeration as its number.
    fileprivate func plain(of key: MetadataKey?) -> MetadataValue {
        guard case .text(let text) = self, let key else { return self }
        switch key.content {
        case .date: return (try? Timestamp(parsing: text)).map { .number(Double($0.microseconds)) } ?? self
        case .enumeration(let values):
            return values.first { $0.name == text }?.raw.map { .number(Double($0)) } ?? self
        default: return self
        }
    }
}

extension PropertyMatch {
    /// Byte for byte; no text where none is asked for.
    fileprivate func fits(_ found: String?) -> Bool {
        switch (value, found) {
        case (nil, nil): true
        case (let value?, let found?): value.hasSameBytes(as: found)
        default: false
        }
    }
}

/// One record of a group, as far as conditions ask.
struct GroupMember {
    /// A group is what one plugin has stored under one text for one person.
    struct Key: Hashable {
        var group: String
        var plugin: String
        var person: Int64
    }

    var number: Int64
    var kind: SampleKind
    var typeID: Int64
    /// Of a quantity.
    var value: Double?

    func type(_ context: RowJudge.Context) throws -> TypeID { try context.termCache.type(typeID, in: context.db) }

    /// As many groups as are remembered; records of one mostly lie side by side.
    private static let remembered = 64

    /// The records of a group that are not taken back and may be read, by their numbers.
    static func all(_ key: Key, _ context: RowJudge.Context) throws -> [GroupMember] {
        if let known = context.groups[key] { return known }
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
        var members: [GroupMember] = []
        while try statement.step() {
            guard let kind = SampleKind(code: statement.integer(1)) else { continue }
            let member = GroupMember(
                number: statement.integer(0), kind: kind, typeID: statement.integer(2),
                value: statement.isNull(3) ? nil : statement.double(3))
            if let allowance = context.allowance {
                guard statement.integer(4) >= allowance.since ?? .min,
                    allowance.allows(try member.type(context), of: key.plugin)
                else { continue }
            }
            members.append(member)
        }
        members.sort { $0.number < $1.number }
        if context.groups.count >= remembered { context.groups.removeAll(keepingCapacity: true) }
        context.groups[key] = members
        return members
    }
}
