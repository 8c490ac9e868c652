import HubClient
import HubSettings
import HubWire
import Samples

/// How each person reads weights, as `hub.conf` says.
struct ReadingUnits {
    private let units: [String: PersonSection.Unit]
    /// Of what has no person: the unit that all persons read, if there is one.
    private let shared: PersonSection.Unit?

    init(_ persons: [PersonSection]) {
        units = Dictionary(persons.compactMap { person in person.unit.map { (person.name, $0) } }) { first, _ in first }
        let all = Set(persons.map(\.unit))
        shared = all.count == 1 ? all.first ?? nil : nil
    }

    /// - Parameter person: a name; `nil` where there is none.
    subscript(person: String?) -> PersonSection.Unit? { person.map { units[$0] } ?? shared }
}

/// Values of a type as a person reads them, by the table of Docs/Samples.md.
struct ValueText {
    private let display: DisplayUnit

    /// - Parameter unit: in what the values come.
    init(_ unit: String, of type: TypeID?, for person: PersonSection.Unit?) {
        display = DisplayUnit(unit, of: type.flatMap(TypeRegistry.standard.type), reader: person?.rawValue)
    }

    func text(_ value: Double, finer: Int = 0) -> String { display.text(value, finer: finer) }

    /// A sample's value, in the unit of its person.
    ///
    /// - Parameter finer: so many more decimals than people read.
    static func text(_ stored: StoredRecord, _ units: ReadingUnits, finer: Int = 0) -> String {
        guard let (value, unit) = quantity(stored) else {
            if case .sample(let sample) = stored.record { return word(sample.value) }
            return ""
        }
        return ValueText(unit, of: stored.type, for: units[stored.assignment.person?.name]).text(value, finer: finer)
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
