import Foundation
import HubWire
import Samples

/// A sample in a ``FakeHub``.
struct HeldSample {
    let sample: Sample
    let number: Int64
    let sequence: Int64
    /// The retraction of the sample, or its removal from a followed query.
    var retraction: Retraction?

    init?(_ held: FakeHub.Held) {
        guard let sample = held.sample else { return nil }
        (self.sample, number, sequence) = (sample, held.number, held.sequence)
        if case .retraction(let retraction) = held.record { self.retraction = retraction }
    }

    /// A sample that the hub stored before the plugin came.
    init?(_ stored: StoredRecord) {
        guard case .sample(let sample) = stored.record else { return nil }
        (self.sample, number, sequence) = (sample, stored.number, stored.sequence)
    }

    /// A copy of the sample that is marked as no longer matching the query (R8.131).
    var ceased: HeldSample {
        var held = self
        held.retraction = Retraction(
            identity: .sample(sample.source, sample.key), source: sample.source, reason: "does not meet the query now")
        return held
    }

    var start: Int64 { sample.start.microseconds }
    var end: Int64 { sample.end.microseconds }
    func time(_ key: SortKey) -> Int64 { key.end == .start ? start : end }

    func stored(of person: Person) -> StoredRecord {
        StoredRecord(
            record: retraction.map(Record.retraction) ?? .sample(sample), number: number, sequence: sequence,
            assignment: .person(person), type: sample.type)
    }
}

extension Sample {
    /// Whether the sample lies in the period that `from`, `to` and `strict` of QUERY select.
    func lies(_ from: Timestamp?, _ to: Timestamp?, _ strict: Set<SpanEnd>) -> Bool {
        if let from, (strict.contains(.start) ? start : end).microseconds < from.microseconds { return false }
        guard let to else { return true }
        return start.microseconds < to.microseconds && (!strict.contains(.end) || end.microseconds < to.microseconds)
    }
}

/// Matches samples against `where` of QUERY (Protocol §8.1.1), to the extent that tests of plugins need.
struct SampleMatcher {
    private let condition: QueryRequest.Condition
    private let samples: [HeldSample]
    private let registry: TypeRegistry

    /// - Throws: `field` for conditions that the hub would refuse: an unknown type, or a unit that fits no type.
    init(
        _ condition: QueryRequest.Condition, among samples: [HeldSample], _ registry: TypeRegistry
    ) throws(WireError) {
        (self.condition, self.samples, self.registry) = (condition, samples, registry)
        try check(condition)
    }

    func isMet(by held: HeldSample) -> Bool { meets(held, condition) }

    private func check(_ condition: QueryRequest.Condition) throws(WireError) {
        switch condition {
        case .all(let parts), .any(let parts): for part in parts { try check(part) }
        case .not(let part): try check(part)
        case .types(let names):
            if let name = names.first(where: { registry.resolve($0) == nil }) {
                throw fault("type", "no type \"\(name)\"")
            }
        case .quantity(_, let unit):
            guard registry.all.contains(where: { (try? $0.canonicalValue(1, unit: unit)) ?? nil != nil }) else {
                throw fault("quantity.unit", "\"\(unit)\" fits none of the types")
            }
        case .duration(_, let unit):
            if seconds(1, unit) == nil {
                throw fault("duration.unit", "\"\(unit)\" is not a unit of time, such as min")
            }
        case .total(let type, _, let unit):
            guard let known = registry.resolve(type), (try? known.canonicalValue(1, unit: unit)) ?? nil != nil else {
                throw fault("total", "\"\(type)\" has no total in \"\(unit)\"")
            }
        case .metadata(_, .measured(_, let unit)):
            if (try? HealthUnit(unit)) == nil { throw fault("metadata.unit", "there is no unit \"\(unit)\"") }
        case .contains(let parts): for part in parts { try check(.types([part.type]) && part.condition) }
        default: break
        }
    }

    private func fault(_ member: String, _ reason: String) -> WireError {
        WireError(.field, "QUERY.where.\(member): \(reason)")
    }

    private func meets(_ held: HeldSample, _ condition: QueryRequest.Condition) -> Bool {
        let sample = held.sample
        switch condition {
        case .all(let parts): return parts.allSatisfy { meets(held, $0) }
        case .any(let parts): return parts.contains { meets(held, $0) }
        case .not(let part): return !meets(held, part)
        case .types(let names): return names.contains { registry.resolve($0)?.id == sample.type }
        case .numbers(let numbers): return numbers.contains(held.number)
        case .keys(let keys): return keys.contains(sample.key.text)
        case .properties(let facet, let matches):
            let values =
                facet.metadata.map { (metadata(sample)[$0]?.members ?? [:]).compactMapValues(\.text) }
                ?? sample.source.properties
            return matches.allSatisfy { values[$0.name] == $0.value }
        case .time(let from, let to, let strict): return sample.lies(from, to, strict)
        case .userEntered(let truth): return (metadata(sample)["wasUserEntered"]?.value == .truth(true)) == truth
        case .metadata(let name, let test): return meets(metadata(sample)[MetadataKey.name(of: name)], test)
        case .quantity(let comparisons, let unit):
            return canonical(sample).map { holds(comparisons, $0, unit, sample.type) } ?? false
        case .category(let choices):
            guard case .category(let name, let raw) = sample.value else { return false }
            return choices.contains { $0 == .name(name) || $0 == .raw(raw) }
        case .activity(let choices):
            guard case .workout(let name, let raw) = sample.value else { return false }
            return choices.contains { $0 == .name(name) || $0 == .raw(raw) }
        case .duration(let comparisons, let unit):
            let length = Double(held.end - held.start) / 1_000_000
            return comparisons.allSatisfy { comparison in
                seconds(comparison.value, unit).map { Comparison(comparison.relation, $0).holds(for: length) } ?? false
            }
        case .total(let name, let comparisons, let unit):
            guard let type = registry.resolve(name)?.id else { return false }
            let values = group(of: held).filter { $0.sample.type == type }.compactMap { canonical($0.sample) }
            return !values.isEmpty && holds(comparisons, values.reduce(0, +), unit, type)
        case .part(let whole):
            return group(of: held).contains { other in
                guard other.number != held.number else { return false }
                return switch whole {
                case .correlation: other.sample.value.kind == .correlation
                case .workout: other.sample.value.kind == .workout
                case .record(let number):
                    other.number == number && [.correlation, .workout].contains(other.sample.value.kind)
                }
            }
        case .contains(let parts):
            guard [.correlation, .workout].contains(sample.value.kind) else { return false }
            let others = group(of: held).filter { $0.number != held.number }
            return parts.allSatisfy { part in others.contains { meets($0, .types([part.type]) && part.condition) } }
        }
    }

    // MARK: - Parts of a sample

    private func group(of held: HeldSample) -> [HeldSample] {
        guard let group = held.sample.group else { return [] }
        return samples.filter { $0.sample.group == group && $0.sample.source.plugin == held.sample.source.plugin }
    }

    /// The value in the canonical unit of the type.
    private func canonical(_ sample: Sample) -> Double? {
        guard case .quantity(let value, let unit) = sample.value else { return nil }
        return (try? registry.type(sample.type)?.canonicalValue(value, unit: unit)) ?? nil
    }

    private func holds(_ comparisons: [Comparison<Double>], _ value: Double, _ unit: String, _ type: TypeID) -> Bool {
        comparisons.allSatisfy { comparison in
            let asked = (try? registry.type(type)?.canonicalValue(comparison.value, unit: unit)) ?? nil
            return asked.map { Comparison(comparison.relation, $0).holds(for: value) } ?? false
        }
    }

    private func seconds(_ value: Double, _ unit: String) -> Double? {
        guard let second = try? HealthUnit("s") else { return nil }
        return try? HealthUnit(unit).convert(value, to: second)
    }

    // MARK: - Metadata

    private func metadata(_ sample: Sample) -> [String: Member] {
        let text = sample.metadata?.text ?? "{}"
        return (try? JSONDecoder().decode([String: Member].self, from: Data(text.utf8))) ?? [:]
    }

    private func meets(_ found: Member?, _ test: MetadataTest) -> Bool {
        switch test {
        case .present: found != nil
        case .oneOf(let values): found?.value.map { value in values.contains { $0.isSame(as: value) } } ?? false
        case .compared(let comparisons):
            found?.value.map { value in comparisons.allSatisfy { $0.holds(for: value) } } ?? false
        case .measured(let comparisons, let unit):
            found?.quantity(in: unit).map { value in comparisons.allSatisfy { $0.holds(for: value) } } ?? false
        }
    }

    /// A member of metadata.
    private enum Member: Decodable {
        case plain(MetadataValue)
        case object([String: Member])
        case other

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let truth = try? container.decode(Bool.self) {
                self = .plain(.truth(truth))
            } else if let number = try? container.decode(Double.self) {
                self = .plain(.number(number))
            } else if let text = try? container.decode(String.self) {
                self = .plain(.text(text))
            } else {
                self = (try? container.decode([String: Member].self)).map(Member.object) ?? .other
            }
        }

        var value: MetadataValue? { if case .plain(let value) = self { value } else { nil } }
        var text: String? { if case .text(let text)? = value { text } else { nil } }
        var members: [String: Member] { if case .object(let members) = self { members } else { [:] } }

        /// Reads `"21.5 degC"` and `{"value":21.5,"unit":"degC"}`.
        func quantity(in asked: String) -> Double? {
            var (number, unit): (Double?, String?) = (nil, members["unit"]?.text)
            if case .number(let value)? = members["value"]?.value { number = value }
            if let words = text?.split(separator: " ", maxSplits: 1), words.count == 2 {
                (number, unit) = (Double(words[0]), String(words[1]))
            }
            guard let number, let unit, let asked = try? HealthUnit(asked) else { return nil }
            return try? HealthUnit(unit).convert(number, to: asked)
        }
    }
}

extension Source {
    fileprivate var properties: [String: String] {
        ["plugin": plugin, "device": device, "account": account].compactMapValues(\.self)
    }
}
