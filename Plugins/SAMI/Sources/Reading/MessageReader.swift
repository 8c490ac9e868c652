import JSON
import PluginKit

/// Converts a message to records: one per field, in one group.
///
/// A record is identified by device, time and field, never by the message's id, because the service was seen to give the same
/// reading again under a new id.
struct MessageReader: Sendable {
    /// The device type's display name.
    let deviceType: String
    let manifest: ServiceManifest
    /// The hub's types for fields without a row, by id.
    var types: [String: TypeDeclaration] = [:]
    /// The source of the records.
    let source: Source
    /// The zone of the devices, for a person's days; nil if the settings give none, as the service gives none either.
    var zone: String?

    func records(of message: ServiceMessage) -> [Sample] {
        var samples: [Sample] = []
        var rest: [String: JSONTree] = [:]
        // Category 2 of Withings is a goal.
        let isGoal = deviceType == "Withings Device" && message.data["category"]?.lenientInteger == 2
        for (field, value) in leaves(of: message.data) {
            if !isGoal, let sample = sample(field, value, message) ?? own(field, value, message) {
                samples.append(sample)
            } else {
                rest[field] = value
            }
        }
        // Ids and flags of a measurement that has values are not stored as a separate record.
        if !isGoal, !samples.isEmpty { for field in Self.companions { rest[field] = nil } }
        if let sample = remainder(rest, isGoal, message) { samples.append(sample) }
        return samples.sorted { $0.key.text < $1.key.text }
    }

    /// The values of a message; members of a structure in the manifest are returned separately.
    private func leaves(of data: [String: JSONTree]) -> [(path: String, value: JSONTree)] {
        data.flatMap { name, value -> [(path: String, value: JSONTree)] in
            guard let members = value.object, manifest.fields.keys.contains(where: { $0.hasPrefix(name + ".") }) else {
                return [(name, value)]
            }
            return leaves(of: Dictionary(uniqueKeysWithValues: members.map { ("\(name).\($0)", $1) }))
        }
    }

    /// A record for a field that only the manifest declares.
    private func own(_ path: String, _ value: JSONTree, _ message: ServiceMessage) -> Sample? {
        guard let field = manifest.fields[path], let id = FieldTypes.id(path, of: deviceType),
            let declared = types[id], let type = try? TypeID(id)
        else { return nil }
        guard declared.kind == .quantity else {
            let unit = field.unit.isEmpty ? nil : JSONObject(JSONTree.object(["unit": .text(field.unit)]).json)
            return make(type, .other(value.text ?? value.sorted.json), path, metadata: unit, message)
        }
        guard let number = value.lenientDouble, let unit = JScienceUnit(field.unit),
            let given = try? HealthUnit(unit.unit),
            let own = try? HealthUnit(declared.unit ?? ""), given.isCompatible(with: own)
        else { return nil }
        return make(
            type, .quantity(unit.factor == 1 ? number : number * unit.factor, unit: unit.unit), path, metadata: nil,
            message)
    }

    static let companions = ["groupId", "category", "attrib"]

    private func sample(_ field: String, _ value: JSONTree, _ message: ServiceMessage) -> Sample? {
        guard let row = FieldMap.row(field, of: deviceType), let number = value.lenientDouble,
            let type = try? TypeID(row.type),
            let text = manifest.units[field] ?? row.undeclared, let unit = JScienceUnit(text)
        else { return nil }
        let quantity: SampleValue
        if row.isPercent {
            guard ["count", "%"].contains(unit.unit) else { return nil }
            quantity = .quantity(number * unit.factor / 100, unit: "%")
        } else {
            guard let own = try? HealthUnit(row.unit), let given = try? HealthUnit(unit.unit),
                given.isCompatible(with: own)
            else { return nil }
            quantity = .quantity(unit.factor == 1 ? number : number * unit.factor, unit: unit.unit)
        }
        return make(type, quantity, field, metadata: nil, message)
    }

    /// One record for all fields without a row, or with another unit than their row.
    private func remainder(
        _ fields: [String: JSONTree], _ isGoal: Bool, _ message: ServiceMessage
    ) -> Sample? {
        guard !fields.isEmpty, let type = try? TypeID(FieldMap.remainder) else { return nil }
        var members: [String: JSONTree] = ["deviceType": .text(deviceType), "fields": .object(fields)]
        let units = manifest.units.filter { field, unit in
            !unit.isEmpty
                && (fields[field] ?? fields[field.split(separator: ".").first.map(String.init) ?? field]) != nil
        }
        if !units.isEmpty { members["units"] = .object(units.mapValues { .text($0) }) }
        if isGoal { members["isGoal"] = .truth(true) }
        // Fields nested too deep for metadata are kept as text.
        let metadata =
            JSONObject(JSONTree.object(members).sorted.json)
            ?? JSONObject(
                JSONTree.object([
                    "deviceType": .text(deviceType), "text": .text(JSONTree.object(fields).sorted.json),
                ]).json)
        return make(type, .other(nil), "other", metadata: metadata, message)
    }

    private func make(
        _ type: TypeID, _ value: SampleValue, _ field: String, metadata: JSONObject?, _ message: ServiceMessage
    ) -> Sample? {
        guard let key = Self.key(message.time, field) else { return nil }
        return Sample(
            source: source, key: key, type: type, value: value,
            start: Timestamp(microseconds: message.time * 1_000), zone: zone,
            group: "\(message.device) \(message.time)",
            metadata: metadata)
    }

    /// Puts the time first with at least thirteen digits, so that keys sort by time.
    static func key(_ time: Int64, _ field: String) -> RecordKey? {
        let digits = String(time)
        let padded = time < 0 ? digits : String(repeating: "0", count: max(0, 13 - digits.count)) + digits
        let key = "\(padded) \(field)"
        guard key.utf8.count > RecordKey.maximumBytes else { return RecordKey(key) }
        // A field's name can have any length; keep its beginning and a hash that distinguishes it.
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in field.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return RecordKey(
            "\(padded) \(String(decoding: field.utf8.prefix(24), as: UTF8.self))~\(String(hash, radix: 16))")
    }
}
