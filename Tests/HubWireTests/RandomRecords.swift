import Platform
import Samples

/// Random records of every kind. Every member occurs in some of them.
extension SeededGenerator {
    mutating func record(plugin: String) -> Record {
        switch Int.random(in: 0..<10, using: &self) {
        case 0: .day(day(plugin: plugin))
        case 1: .retraction(retraction(plugin: plugin))
        default: .sample(sample(plugin: plugin))
        }
    }

    /// A stored form of `record`, with a day assigned to the person that it names.
    mutating func stored(_ record: Record) -> StoredRecord {
        var assignment: Assignment =
            chance(80)
            ? .person(Person(uid: name(), name: name())) : .nobody(reason: name())
        var canonical: StoredRecord.CanonicalValue?
        let type: TypeID
        switch record {
        case .sample(let sample):
            type = sample.type
            if case .quantity = sample.value, chance(30) {
                canonical = StoredRecord.CanonicalValue(value: double(), unit: "kg")
            }
        case .day(let day):
            type = day.type
            if chance(30) { canonical = StoredRecord.CanonicalValue(value: double(), unit: "kg") }
            if case .person(var person) = assignment {
                person.name = day.person
                assignment = .person(person)
            }
        case .retraction(let retraction):
            type = retraction.type ?? .weight
            if case .person(var person) = assignment, case .day(let name, _, _, _) = retraction.identity {
                person.name = name
                assignment = .person(person)
            }
        }
        var edited: SampleMembers = []
        if case .sample = record, chance(20) {
            edited = SampleMembers(rawValue: UInt8.random(in: 0...15, using: &self))
        }
        var implausible: SampleMembers = []
        if case .sample = record, chance(20) {
            implausible = SampleMembers(rawValue: UInt8.random(in: 0...7, using: &self))
        }
        return StoredRecord(
            record: record, number: Int64.random(in: 1...Int64.max, using: &self),
            sequence: Int64.random(in: 1...Int64.max, using: &self), assignment: assignment, type: type,
            canonical: canonical, edited: edited, implausible: implausible)
    }

    mutating func sample(plugin: String) -> Sample {
        let (type, value) = typeAndValue()
        let start = time()
        var end = time()
        if end.microseconds < start.microseconds { end = start }
        return Sample(
            source: source(plugin: plugin), key: key(), type: type, value: value, start: start,
            end: chance(50) ? start : end, zone: maybe { $0.name() }, subject: maybe { $0.subject() },
            group: maybe { $0.key().text }, provenance: provenance(), metadata: maybe { $0.object() },
            sourceVersion: maybe { Int64.random(in: .min ... .max, using: &$0) },
            origin: chance(20) ? [.system(name: name(), account: maybe { $0.name() }), .hub(id: name())] : [],
            extra: maybe { $0.object() })
    }

    private mutating func typeAndValue() -> (TypeID, SampleValue) {
        switch Int.random(in: 0..<8, using: &self) {
        case 0: (.sleepAnalysis, .category(name: "asleepCore", raw: 3))
        case 1: (.workout, .workout(activity: "running", raw: 37))
        case 2: (.bloodPressure, .correlation)
        case 3: (.biologicalSex, .characteristic("female", raw: chance(50) ? 1 : nil))
        case 4: (newType("HKDataTypeIdentifierSomethingNew"), .other(maybe { $0.text() }))
        case 5: (newType("HKQuantityTypeIdentifierSomethingNew"), .quantity(double(), unit: "kg"))
        default: (.weight, .quantity(double(), unit: ["kg", "lb", "g"].randomElement(using: &self) ?? "kg"))
        }
    }

    private func newType(_ id: String) -> TypeID { (try? TypeID(id)) ?? .weight }

    mutating func day(plugin: String) -> DayValue {
        let (observedOn, age) = (date(), maybe { Int.random(in: 1...400, using: &$0) })
        return DayValue(
            source: source(plugin: plugin), person: name(), type: .weight, series: name(),
            date: observedOn.adding(days: age ?? 0), value: double(), unit: "kg", method: name(),
            observedOn: age.map { _ in observedOn }, age: age, basis: basis(), zone: maybe { $0.name() },
            metadata: maybe { $0.object() }, extra: maybe { $0.object() })
    }

    mutating func retraction(plugin: String) -> Retraction {
        let source = source(plugin: plugin)
        let identity: RecordIdentity =
            chance(70)
            ? .sample(source, key()) : .day(person: name(), type: .weight, series: name(), date: date())
        return Retraction(
            identity: identity, source: source, reason: maybe { $0.text() },
            sourceVersion: maybe { Int64.random(in: 0...9, using: &$0) })
    }

    /// A random finite double, mostly a plausible measurement.
    ///
    /// Never −0, because it equals 0 and would hide a difference.
    mutating func double() -> Double {
        switch Int.random(in: 0..<4, using: &self) {
        case 0: return Double(Int.random(in: -1_000...100_000, using: &self))
        case 1: return Double(Int.random(in: -9_999_999...9_999_999, using: &self)) / 1_000
        case 2: return Double.random(in: 0...300, using: &self)
        default:
            let value = Double(bitPattern: next())
            return value.isFinite && value != 0 ? value : 1
        }
    }

    mutating func time() -> Timestamp {
        let microseconds = Int64.random(in: -1_000_000_000_000...4_000_000_000_000_000, using: &self)
        return Timestamp(
            microseconds: chance(50) ? microseconds / 1_000_000 * 1_000_000 : microseconds,
            offsetMinutes: maybe { Int16.random(in: -839...840, using: &$0) })
    }

    mutating func date() -> LocalDate { LocalDate(daysSinceEpoch: Int.random(in: -700_000...2_900_000, using: &self)) }

    mutating func key() -> RecordKey {
        let text = name().replacing("\u{80}", with: "\u{A0}")
        return RecordKey(text.utf8.count <= 64 ? text : "k") ?? RecordKey("k") ?? fallbackKey()
    }

    private func fallbackKey() -> RecordKey { preconditionFailure("\"k\" is a key") }

    private mutating func subject() -> Subject {
        switch Int.random(in: 0..<3, using: &self) {
        case 0: .account(name())
        case 1: .slot(Int.random(in: .min ... .max, using: &self))
        default: .name(name())
        }
    }

    private mutating func source(plugin: String) -> Source {
        Source(plugin: plugin, device: maybe { $0.name() }, account: maybe { $0.name() })
    }

    private mutating func provenance() -> Provenance {
        switch Int.random(in: 0..<6, using: &self) {
        case 0: .derived(formula: name(), version: name(), basis: basis())
        case 1: .filled(method: name(), basis: basis())
        default: .measured
        }
    }

    private mutating func basis() -> [Provenance.Basis] {
        (0..<Int.random(in: 0...3, using: &self)).map { _ in
            chance(50) ? .number(Int64.random(in: 1...Int64.max, using: &self)) : .key(key())
        }
    }

    private mutating func object() -> JSONObject? {
        [
            JSONObject(#"{"a":1.00,"b":[true,null,{"c":"\ud83d\ude00\n"}]}"#), JSONObject(#"{"wasUserEntered":true}"#),
            JSONObject(#"{"é":"\"\\ x","n":-1E+99}"#),
        ].randomElement(using: &self) ?? nil
    }

    /// A short text without control characters.
    private mutating func name() -> String {
        let scalars: [Unicode.Scalar] = ["a", "Z", "7", " ", "\"", "\\", "/", "é", "日", "😀", "-", ".", "\u{80}"]
        return String(
            String.UnicodeScalarView(
                (0..<Int.random(in: 1...16, using: &self)).map { _ in scalars.randomElement(using: &self) ?? "a" }))
    }

    private mutating func text() -> String { name() + "\u{0}\n\u{1F}\u{7F}\u{2028}" + name() }
}

extension SeededGenerator {
    private mutating func maybe(_ value: (inout SeededGenerator) -> JSONObject?) -> JSONObject? {
        chance(40) ? value(&self) : nil
    }
}

extension Retraction {
    fileprivate var type: TypeID? {
        if case .day(_, let type, _, _) = identity { type } else { nil }
    }
}
