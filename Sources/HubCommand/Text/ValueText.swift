import Foundation
import HealthText
import HubClient
import HubSettings
import HubWire
import Samples

/// How each person reads values, as `hub.conf` says, and where it does not, this machine's locale.
struct ReadingUnits {
    private let readers: [String: Reader]
    /// Of what has no person: what all persons have in common.
    private let shared: Reader
    private let machine: Locale?

    init(_ persons: [PersonSection], machine: Locale? = nil) {
        self.machine = machine
        let all = persons.map { person in
            var reader = person.reader
            if reader.locale == nil { reader.locale = machine }
            return (person.name, reader)
        }
        readers = Dictionary(all) { first, _ in first }
        func common<Value: Equatable>(_ value: (Reader) -> Value) -> Value? {
            let first = all.first.map { value($0.1) }
            return all.allSatisfy { value($0.1) == first } ? first : nil
        }
        shared = common(\.self) ?? Reader(locale: common(\.locale) ?? machine)
    }

    /// - Parameter person: a name; `nil` where there is none.
    subscript(person: String?) -> Reader { person.map { readers[$0] ?? Reader(locale: machine) } ?? shared }

    /// Values of a type that come in `unit`, as that person reads them.
    func format(_ unit: String, of type: TypeID?, for person: String?) -> ValueFormat {
        ValueFormat(unit, of: type.flatMap(TypeRegistry.standard.type), for: self[person])
    }
}

/// Values of records as their persons read them.
enum ValueText {
    /// A sample's value, in the unit of its person.
    ///
    /// - Parameter finer: so many more decimals than people read.
    static func text(_ stored: StoredRecord, _ units: ReadingUnits, finer: Int = 0) -> String {
        guard let (value, unit) = quantity(stored) else {
            guard case .sample(let sample) = stored.record else { return "" }
            if let summary = sample.activitySummary {
                return ActivityText(units: units, person: stored.assignment.person?.name).words(summary)
            }
            return name(of: sample) ?? word(sample.value)
        }
        return units.format(unit, of: stored.type, for: stored.assignment.person?.name).text(value, finer: finer)
    }

    /// What was eaten, of a food, whose values are its members'.
    private static func name(of sample: Sample) -> String? {
        guard sample.value == .correlation else { return nil }
        return try? KnownMetadata(sample.metadata, of: sample.type).text("foodType")
    }

    /// The same, and whether it is hardly true.
    static func marked(_ stored: StoredRecord, _ units: ReadingUnits, finer: Int = 0) -> String {
        text(stored, units, finer: finer) + (stored.implausible.contains(.value) ? " (implausible)" : "")
    }

    /// Two values of a sample with as many decimals as tell them apart.
    static func change(from old: StoredRecord, to new: StoredRecord, _ units: ReadingUnits) -> (String, String) {
        func texts(_ finer: Int) -> (String, String) {
            (marked(old, units, finer: finer), marked(new, units, finer: finer))
        }
        guard let first = quantity(old), let second = quantity(new), first != second else { return texts(0) }
        return (0..<12).lazy.map(texts).first { $0.0 != $0.1 } ?? (exact(first), exact(second))
    }

    /// Value and unit as the hub stores them; `nil` for what is not a quantity.
    static func quantity(_ stored: StoredRecord) -> (value: Double, unit: String)? {
        if let canonical = stored.canonical { return (canonical.value, canonical.unit) }
        guard case .sample(let sample) = stored.record, case .quantity(let value, let unit) = sample.value else {
            return nil
        }
        return (value, unit)
    }

    /// Every digit, in the unit it comes in; a fraction as percent.
    static func exact(_ quantity: (value: Double, unit: String)) -> String {
        quantity.unit == "%"
            ? "\(NumberText.percent(quantity.value)) %" : "\(NumberText.shortest(quantity.value)) \(quantity.unit)"
    }

    /// What is not a quantity.
    static func word(_ value: SampleValue) -> String {
        switch value {
        case .quantity(let value, let unit): exact((value, unit))
        case .category(let name, _), .workout(let name, _): name
        case .correlation: "(a group)"
        case .characteristic(let text, _): text
        case .other(let text): text ?? "(no value)"
        }
    }
}
