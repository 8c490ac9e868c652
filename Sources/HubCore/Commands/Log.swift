import FoundationEssentials
import HubSettings
import HubStore
import HubWire
import Samples

/// `log`: a person enters a record of their own.
struct Log: OwnCommand {
    static let declaration = CommandDeclaration(
        "log", help: "Enters a record by hand.",
        arguments: [SettingDeclaration("type", .string(), help: "A type, or another name of it.", required: true)]
            + ManualRecord.valueArguments + [
                SettingDeclaration(
                    "values", .list(of: .number()),
                    help: "Of a correlation: the values of its members in their order, such as systolic, diastolic."),
                SettingDeclaration("start", .string(), help: "When, RFC 3339; now if not given."),
                SettingDeclaration("end", .string(), help: "The end of an interval."),
                SettingDeclaration("zone", .timeZone, help: "Where."),
                SettingDeclaration("person", .string(), help: "Whose; needed where hub.conf has several persons."),
                SettingDeclaration("note", .string(), help: "A remark, kept in the metadata."),
                SettingDeclaration(
                    "key", .string(),
                    help: "The same key again is the same entry: at most 56 bytes, time first; made up if not given."),
            ], canDryRun: true)

    var type: String
    var value: Double?
    var unit: String?
    var name: String?
    var values: [Double]?
    var start: String?
    var end: String?
    var zone: String?
    var person: String?
    var note: String?
    var key: String?

    func run(_ call: CommandCall, on hub: isolated Commands) async throws -> RawJSON {
        let person = try person(hub.facts)
        let records = try samples(hub.outlet.knownTypes, now: hub.facts.clock.now()).map { sample, canonical in
            IntakeRecord(record: .sample(sample), assignment: .person(person), canonical: canonical)
        }
        var last: [Int: StoredRecord] = [:]
        for (place, record) in records.enumerated() {
            guard case .sample(let sample) = record.record else { continue }
            last[place] = try await hub.store.newest(of: sample.type, person)
        }
        let results = try await hub.carryOut(.log(records), isDryRun: call.isDryRun)
        return ManualReport(results, others: [:], last: last, isDryRun: call.isDryRun).json
    }

    private func person(_ facts: HubFacts) throws(CommandFailure) -> Person {
        let names = facts.persons.map(\.name)
        guard let name = person ?? (names.count == 1 ? names[0] : nil) else {
            throw CommandFailure(
                "person",
                names.isEmpty
                    ? "hub.conf has no person; add [person.NAME], and start the hub again or apply it"
                    : "person: hub.conf has \(names.joined(separator: ", ")); say whose it is")
        }
        guard let known = facts.rules.person(named: name, allowed: nil) else {
            let hint = nearestName(to: name, among: names).map { "did you mean \($0)?" }
            throw CommandFailure(
                "person",
                "person: hub.conf has no person \"\(name.prefix(64))\"; "
                    + (hint ?? "it has \(names.joined(separator: ", "))"))
        }
        return known
    }

    private func samples(
        _ registry: TypeRegistry, now: Int64
    ) throws -> [(sample: Sample, canonical: StoredRecord.CanonicalValue?)] {
        let start = start ?? Timestamp(microseconds: now).text
        // The instant comes first, so that keys sort as time does; what follows tells entries of one instant apart.
        let instant = (try? Timestamp(parsing: start)).map { Timestamp(microseconds: $0.microseconds).text } ?? start
        let key = key ?? "\(instant) \(UInt64.random(in: .min ... .max) % 1_000_000_000)"
        let known = registry.resolve(type)
        let members = known?.kind == .correlation ? known?.requiredMembers ?? [] : []
        guard key.utf8.count <= 56 else { throw CommandFailure(problems: ["key: at most 56 bytes"]) }
        guard (values == nil) == members.isEmpty, values?.count ?? 0 == members.count else {
            let problem =
                members.isEmpty
                ? "values: only a correlation has several; use value"
                : "values: expected one for each of \(members.map(\.rawValue).joined(separator: ", "))"
            throw CommandFailure(problems: [problem])
        }
        var record = ManualRecord(type: type, start: start, end: end, zone: zone, key: key)
        record.metadata = try metadata()
        guard let values else {
            try record.take(value: value, unit: unit, name: name)
            return [try record.checked(registry)]
        }
        record.join(group: key)
        return [try record.checked(registry)]
            + (try zip(members, values).enumerated().map { place, member in
                var record = ManualRecord(
                    type: member.0.rawValue, start: start, end: end, zone: zone, key: "\(key) \(place + 1)")
                try record.take(value: member.1, unit: unit, name: nil)
                record.join(group: key)
                return try record.checked(registry)
            })
    }

    private func metadata() throws -> JSONObject? {
        let entered = JSONObject(#"{"wasUserEntered":true}"#)
        return try note.map { try JSONObject.noted($0, in: entered) } ?? entered
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
