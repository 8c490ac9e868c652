import Foundation
import HealthText
import HubClient
import HubSettings
import HubWire
import Samples

/// How each person reads values and moments: by `hub.conf`, else by this machine's locale and zone.
struct ReadingUnits {
    private let readers: [String: DisplayPreferences]
    private let persons: [PersonSection]
    /// The choices that all persons have in common, for records without a person.
    private let shared: DisplayPreferences
    private let machine: Locale?
    /// The width of written units.
    var width = TextWidth.medium
    private let household: TimeZone?

    /// - Parameter household: the zone for moments that have no person or whose person has no zone; `nil`: as they were measured.
    init(_ persons: [PersonSection], machine: Locale? = nil, household: TimeZone? = nil) {
        (self.machine, self.household, self.persons) = (machine, household, persons)
        let all = persons.map { person in
            var reader = person.reader
            if reader.locale == nil { reader.locale = machine }
            if reader.zone == nil { reader.zone = household }
            return (person.name, reader)
        }
        readers = Dictionary(all) { first, _ in first }
        func common<Value: Equatable>(_ value: (DisplayPreferences) -> Value) -> Value? {
            let first = all.first.map { value($0.1) }
            return all.allSatisfy { value($0.1) == first } ? first : nil
        }
        var shared = common(\.unnamed) ?? DisplayPreferences(locale: common(\.locale) ?? machine)
        if persons.count != 1 { shared.zone = household }
        self.shared = shared
    }

    /// - Parameter person: a name, from `hub.conf` or as typed; `nil` if there is none.
    subscript(person: String?) -> DisplayPreferences {
        var reader =
            person.map { self.reader(of: $0) ?? DisplayPreferences(locale: machine, zone: household) } ?? shared
        reader.unitWidth = width
        return reader
    }

    private func reader(of person: String) -> DisplayPreferences? {
        readers[person] ?? persons.named(person).flatMap { readers[$0.name] }
    }

    /// The display name of a person.
    func name(of person: String) -> String { self.reader(of: person)?.displayName ?? person }

    /// The format for values of a type given in `unit`, as that person reads them.
    func format(_ unit: String, of type: TypeID?, for person: String?) -> ValueFormat {
        self[person].format(unit, of: type)
    }
}

extension ValueText {
    /// A sample's value, in the unit of its person.
    ///
    /// - Parameter finer: the number of decimals beyond the usual ones.
    static func text(_ stored: StoredRecord, _ units: ReadingUnits, finer: Int = 0) -> String {
        text(stored, for: units[stored.assignment.person?.name], finer: finer)
    }

    /// The value of a sample, marked if it is implausible.
    static func marked(_ stored: StoredRecord, _ units: ReadingUnits, finer: Int = 0) -> String {
        marked(stored, for: units[stored.assignment.person?.name], finer: finer)
    }

    /// Two values of a sample, with enough decimals to tell them apart.
    static func change(from old: StoredRecord, to new: StoredRecord, _ units: ReadingUnits) -> (String, String) {
        func texts(_ finer: Int) -> (String, String) {
            (marked(old, units, finer: finer), marked(new, units, finer: finer))
        }
        guard let first = quantity(old), let second = quantity(new), first != second else { return texts(0) }
        return (0..<12).lazy.map(texts).first { $0.0 != $0.1 } ?? (exact(first), exact(second))
    }
}
