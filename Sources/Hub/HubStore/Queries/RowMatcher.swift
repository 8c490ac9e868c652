import GRDB
import JSON
import Samples

/// Evaluates a condition on rows, within one snapshot.
///
/// The evaluation does not use SQL. Metadata, units and groups are read by the same code as elsewhere, and every query uses the same indices
/// regardless
/// of its condition. Only readable records of a group count.
final class RowMatcher {
    private typealias Verdict = (RowProperties) throws -> Bool

    private let context: Context
    private let verdict: Verdict

    /// The state shared by the rows of one page.
    final class Context {
        let termCache: TermCache
        let db: Database
        let allowance: ReadAllowance?
        var groups: [SampleGroup.Key: SampleGroup] = [:]
        /// The expressions within `contains`; a group evaluates all of them in one pass.
        let contained = ContainedParts()

        init(_ termCache: TermCache, _ db: Database, _ allowance: ReadAllowance?) {
            (self.termCache, self.db, self.allowance) = (termCache, db, allowance)
        }
    }

    /// `nil` if the query has no condition.
    init?(_ query: RecordQuery, _ termCache: TermCache, in db: Database) {
        guard let condition = query.condition?.condition else { return nil }
        context = Context(termCache, db, query.allowance)
        verdict = RowMatcher.verdict(condition, context.contained)
    }

    func fits(_ row: RawStatement, of table: Lane.Table) throws -> Bool {
        try verdict(RowProperties(row, table, context))
    }

    private static func verdict(_ condition: RecordCondition, _ contained: ContainedParts) -> Verdict {
        switch condition {
        case .all(let parts):
            let verdicts = parts.map { verdict($0, contained) }
            return { row in try verdicts.allSatisfy { try $0(row) } }
        case .any(let parts):
            let verdicts = parts.map { verdict($0, contained) }
            return { row in try verdicts.contains { try $0(row) } }
        case .not(let part):
            let verdict = verdict(part, contained)
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
                guard let total = try row.group?.total(of: type, row.context) else { return false }
                return comparisons.allSatisfy { $0.holds(for: total) }
            }
        case .partOf(let kinds): return { row in try row.group?.hasOther(than: row.number, of: kinds) ?? false }
        case .partOfRecord(let number):
            return { row in
                guard number != row.number, let kind = try row.group?.kinds[number] else { return false }
                return kind == .correlation || kind == .workout
            }
        case .contains(let parts):
            let places = parts.map { contained.add($0.type, verdict($0.condition, contained)) }
            return { row in
                guard row.kind == .correlation || row.kind == .workout, let group = try row.group else { return false }
                let met = try group.met(row.context)
                return places.allSatisfy { place in met[place].contains { $0 != row.number } }
            }
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
    /// The form for comparisons under a key that HealthKit documents: a time as an instant, an enumeration value as its number.
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
    /// Compares byte for byte.
    ///
    /// A match without a value requires that the property is missing.
    fileprivate func fits(_ found: String?) -> Bool {
        switch (value, found) {
        case (nil, nil): true
        case (let value?, let found?): value.hasSameBytes(as: found)
        default: false
        }
    }
}
