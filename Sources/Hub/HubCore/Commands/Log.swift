import FoundationEssentials
import HubStore
import HubWire
import Samples

extension OwnCommands.Log: CommandWork {
    func run(_ call: OwnCommandCall, on hub: Commands) async throws -> ManualAnswer {
        let person = try person(hub.facts, call.scope?.persons)
        let records = try samples(hub.knownTypes, now: hub.facts.clock.now()).map { sample, canonical in
            IntakeRecord(record: .sample(sample), assignment: .person(person), canonical: canonical)
        }
        var last: [Int: StoredRecord] = [:]
        for (place, record) in records.enumerated() {
            guard case .sample(let sample) = record.record else { continue }
            let newest = try await hub.store.newest(of: sample.type, person)
            last[place] = newest.flatMap { call.scope?.mayRead($0) ?? true ? $0 : nil }
        }
        let results = try await hub.carryOut(
            try ManualChange.log(records).concerning(of, hub.facts, call.scope), call)
        return ManualAnswer(results, others: [:], last: last, isDryRun: call.isDryRun)
    }

    /// - Parameter allowed: the persons that the asker may enter records for; `nil` for all.
    private func person(_ facts: HubContext, _ allowed: [String]?) throws(OwnCommandFailure) -> Person {
        let names = facts.persons.map(\.name).filter { allowed?.contains($0) ?? true }
        guard let name = person ?? (names.count == 1 ? names[0] : nil) else {
            throw OwnCommandFailure(
                "person",
                names.isEmpty
                    ? "hub.conf has no person; add [person.NAME], and start the hub again or apply it"
                    : "person: hub.conf has \(names.joined(separator: ", ")); say whose it is")
        }
        return try facts.person(name, in: "person", allowed: allowed)
    }

    private func samples(
        _ registry: TypeRegistry, now: Int64
    ) throws -> [(sample: Sample, canonical: StoredRecord.CanonicalValue?)] {
        let start = start ?? Timestamp(microseconds: now).text
        // The instant comes first, so that keys sort by time; the number after it distinguishes entries of one instant.
        let instant = (try? Timestamp(parsing: start)).map { Timestamp(microseconds: $0.microseconds).text } ?? start
        let key = key ?? "\(instant) \(UInt64.random(in: .min ... .max) % 1_000_000_000)"
        guard key.utf8.count <= 56 else { throw OwnCommandFailure(problems: ["key: at most 56 bytes"]) }
        let parts = try parts(registry)
        var record = ManualRecord(type: type, start: start, end: end, zone: zone, key: key)
        record.metadata = try metadata(note: note)
        if let duration { record.last(seconds: duration) }
        try record.take(value: value, unit: parts.isEmpty ? unit : nil, name: name)
        if !parts.isEmpty { record.join(group: key) }
        let records =
            [try record.checked(registry)]
            + (try parts.enumerated().map { place, part in
                var record = ManualRecord(
                    type: part.type, start: start, end: end, zone: zone, key: "\(key) \(place + 1)")
                record.metadata = try metadata(note: nil)
                try record.take(value: part.value, unit: part.unit, name: nil)
                record.join(group: key)
                return try record.checked(registry)
            })
        let samples = records.enumerated().map { (place: $0, sample: $1.sample) }
        if let fault = CorrelationCheck(registry).faults(of: samples).values.first {
            throw OwnCommandFailure(fault.code.rawValue, fault.reason)
        }
        return records
    }

    private struct Part {
        var type: String
        var value: Double
        var unit: String?
    }

    /// The members that the type of a correlation requires, or the named members of a food or a workout.
    private func parts(_ registry: TypeRegistry) throws(OwnCommandFailure) -> [Part] {
        let known = registry.resolve(type)
        let required = known?.requiredMembers ?? []
        let values = values ?? []
        guard duration == nil || known?.kind == .workout else {
            throw OwnCommandFailure(problems: ["duration: only a workout has one beside its interval"])
        }
        guard let members else {
            guard units == nil, values.count == required.count else {
                let problem =
                    required.isEmpty
                    ? "values: only with members, or for a correlation with fixed members; use value"
                    : "values: expected one for each of \(required.map(\.rawValue).joined(separator: ", "))"
                throw OwnCommandFailure(problems: [problem])
            }
            return zip(required, values).map { Part(type: $0.rawValue, value: $1, unit: unit) }
        }
        guard required.isEmpty, known?.kind == .workout || known?.kind == .correlation else {
            throw OwnCommandFailure(problems: ["members: only a food and a workout can name members"])
        }
        let units = units ?? []
        guard (1...Self.maximumMembers).contains(members.count), values.count == members.count,
            units.count == members.count
        else {
            throw OwnCommandFailure(problems: [
                "members: expected 1 to \(Self.maximumMembers) types, and as many values and units"
            ])
        }
        let types = members.map { registry.resolve($0)?.id.rawValue ?? $0 }
        guard Set(types).count == types.count else { throw OwnCommandFailure(problems: ["members: each type once"]) }
        return zip(types, zip(values, units)).map { Part(type: $0, value: $1.0, unit: $1.1) }
    }

    private func metadata(note: String?) throws -> JSONObject? {
        guard let given = JSONObject(metadata ?? "{}") else {
            throw OwnCommandFailure(problems: ["metadata: expected a JSON object, as a text"])
        }
        let entered = RawJSON(trusted: Array(given.text.utf8)).setting([
            ("wasUserEntered", RawJSON(trusted: Array("true".utf8)))
        ])
        let object = (entered?.text).flatMap { JSONObject($0) } ?? given
        return try note.map { try JSONObject.noted($0, in: object) } ?? object
    }
}

extension Store {
    /// The latest sample of a type and person, by its start.
    func newest(of type: TypeID, _ person: Person) async throws -> StoredRecord? {
        var query = RecordQuery()
        (query.types, query.persons) = ([type], [.person(person.uid)])
        query.kinds = KindSelection(nil, followsChanges: false)
        (query.order, query.limit) = (.newestFirst, 1)
        while true {
            let page = try await page(query)
            if let record = page.records.first { return record }
            guard let next = page.next else { return nil }
            query.next = next
        }
    }
}
