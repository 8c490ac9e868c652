import PluginKit

/// The time in microseconds since 1970.
func moment(_ text: String) -> Int64 { (try? Timestamp(parsing: text).microseconds) ?? 0 }

private func key(_ number: Int64) -> RecordKey {
    guard let key = RecordKey("\(number)") else { preconditionFailure("digits are a key") }
    return key
}

private func sample(
    _ number: Int64, _ type: TypeID, _ value: Double, _ unit: String, _ start: String, _ sequence: Int64?,
    _ person: String, _ plugin: String, _ provenance: Provenance, _ note: String?, _ implausible: SampleMembers = [],
    lasting seconds: Int64 = 0
) -> StoredRecord {
    let start = (try? Timestamp(parsing: start)) ?? Timestamp(microseconds: 0)
    let sample = Sample(
        source: Source(plugin: plugin), key: key(number), type: type,
        value: .quantity(value, unit: unit), start: start,
        end: Timestamp(microseconds: start.microseconds + seconds * 1_000_000, offsetMinutes: start.offsetMinutes),
        provenance: provenance,
        metadata: note.map { JSONObject(trusted: "{\"note\":\"\($0)\"}") })
    return StoredRecord(
        record: .sample(sample), number: number, sequence: sequence ?? number,
        assignment: .person(Person(uid: "uid-\(person)", name: person)), type: type, implausible: implausible)
}

/// A weigh-in in Berlin.
func weight(
    _ number: Int64, _ value: Double, _ date: String, hour: Int = 10, sequence: Int64? = nil, person: String = "me",
    provenance: Provenance = .measured, note: String? = nil, implausible: SampleMembers = []
) -> StoredRecord {
    sample(
        number, .weight, value, "kg", "\(date)T\(hour):00:00+02:00", sequence, person, "scale", provenance, note,
        implausible)
}

func steps(_ number: Int64, _ value: Double, _ date: String, _ plugin: String) -> StoredRecord {
    let type = (try? TypeID("stepCount")) ?? .weight
    return sample(
        number, type, value, "count", "\(date)T12:00:00+02:00", nil, "me", plugin, .measured, nil, lasting: 3_600)
}

func retraction(_ number: Int64, sequence: Int64, person: String = "me") -> StoredRecord {
    let source = Source(plugin: "scale")
    let identity = RecordIdentity.sample(source, key(number))
    return StoredRecord(
        record: .retraction(Retraction(identity: identity, source: source)), number: number, sequence: sequence,
        assignment: .person(Person(uid: "uid-\(person)", name: person)), type: .weight)
}
