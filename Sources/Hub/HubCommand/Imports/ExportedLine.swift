import JSON
import Samples

/// A line of JSON Lines that the hub or a sink wrote, and its record in the form of its source.
struct ExportedLine {
    /// The reason why a line is not such a line.
    struct LineError: Error { let reason: String }

    let kind: String
    let type: String
    /// The unit of the type, for a quantity.
    let unit: String?
    var isDay: Bool { kind == "day" }
    var isRetraction: Bool { kind == "retraction" }
    /// The plugin that gives it.
    let plugin: String
    /// `nil` if it has no person.
    let person: String?
    /// Whether a person had marked it as a guest's in the other hub.
    let isGuest: Bool
    let key: String?
    /// The bytes that identify the record; a later line of the same record has the same, also one that retracts it.
    let identity: [UInt8]
    /// Records of one plugin with the same group belong together.
    let group: String?
    /// The start of a sample, as written.
    let start: String?
    /// Its number in the other hub, if the line has it.
    let number: Int64?
    /// Whether a person had edited it there, so that its value differs from its source's.
    let wasEdited: Bool
    /// The number of record numbers of the other hub that were removed from its basis.
    let strangeNumbers: Int
    /// The record to give to the hub.
    let record: [UInt8]

    /// Members that a source does not send; the hub adds them again.
    private static let hubs: Set<String> = [
        "person", "personId", "unassigned", "original", "edited", "implausible", "mirrors", "by", "number", "seq",
    ]

    /// - Parameter name: maps a person's name in the line to the name in the receiving hub.
    init(_ bytes: ArraySlice<UInt8>, named name: (String) -> String = { $0 }) throws(LineError) {
        let members = try ExportedLine.members(bytes)
        func raw(_ name: String) -> ArraySlice<UInt8>? { members.first { $0.name == name }?.value }
        func text(_ name: String) -> String? { raw(name).flatMap { JSONTree(Array($0)) }?.text }
        guard let type = text("type") else {
            throw LineError(reason: "type: missing; a record of a hub has one (Docs/Samples.md)")
        }
        // For a type of the registry, the kind follows from the type.
        guard let kind = text("kind") ?? TypeRegistry.standard.resolve(type)?.kind.rawValue else {
            throw LineError(
                reason: "kind: missing; only a type of the registry can do without, and \(type.prefix(64)) is none")
        }
        guard let plugin = raw("source").flatMap({ JSONTree(Array($0)) })?["plugin"]?.text else {
            throw LineError(reason: "source.plugin: missing; a record of a hub says who gave it")
        }
        let whose = text("person").map(name)
        (self.kind, self.type, self.plugin, person) = (kind, type, plugin, whose)
        isGuest = whose == nil && text("unassigned").map(Assignment.nobody(reason:)) == .guest
        unit = text("unit")
        (key, group, start) = (text("key"), text("group"), text("start"))
        // The source that retracts a day need not be the one that gave it.
        let own = key == nil ? ["person", "type", "series", "date"] : ["source", "key"]
        identity = own.flatMap { Array(raw($0) ?? []) + [0] }
        number = raw("number").flatMap { Int64(String(decoding: $0, as: UTF8.self)) }
        wasEdited = raw("edited") != nil
        let original = raw("original").flatMap { JSONTree(Array($0)) }
        var output: [UInt8] = [UInt8(ascii: "{")]
        var strange = 0
        func append(_ name: String, _ value: some Sequence<UInt8>) {
            if output.count > 1 { output.append(UInt8(ascii: ",")) }
            output.append(quoted: name)
            output.append(UInt8(ascii: ":"))
            output.append(contentsOf: value)
        }
        for member in members {
            switch member.name {
            case "value", "unit":
                // Use the value of the source, not the one converted by the hub.
                append(member.name, original?[member.name]?.bytes ?? Array(member.value))
            case "person" where kind == "day":
                append("person", whose.map { JSONTree.text($0).bytes } ?? Array(member.value))
            case "basis": append("basis", ExportedLine.withoutNumbers(member.value, &strange))
            case "provenance": append("provenance", ExportedLine.provenance(member.value, &strange))
            case let name where ExportedLine.hubs.contains(name): continue
            default: append(member.name, member.value)
            }
        }
        output.append(UInt8(ascii: "}"))
        (record, strangeNumbers) = (output, strange)
    }

    private static func members(
        _ line: ArraySlice<UInt8>
    ) throws(LineError) -> [(name: String, value: ArraySlice<UInt8>)] {
        let bytes = Array(line)
        let found: Result<[(name: String, value: ArraySlice<UInt8>)], LineError> = bytes.withUnsafeBytes { raw in
            do throws(JSONSyntaxError) {
                var scanner = try JSONScanner(raw)
                scanner.skipSpace()
                guard scanner.take(UInt8(ascii: "{")) else { return .failure(LineError(reason: "no JSON object")) }
                var members: [(name: String, value: ArraySlice<UInt8>)] = []
                repeat {
                    scanner.skipSpace()
                    let name = try scanner.name()
                    let value = try scanner.value()
                    members.append((JSONText.string(name, in: raw) ?? "", bytes[value.start..<value.end]))
                    scanner.skipSpace()
                } while scanner.take(UInt8(ascii: ","))
                try scanner.expect(UInt8(ascii: "}"))
                try scanner.finish()
                return .success(members)
            } catch { return .failure(LineError(reason: "\(error)")) }
        }
        return try found.get()
    }

    /// Only the keys of a basis: numbers belong to another hub, and would mean other records here.
    private static func withoutNumbers(_ basis: ArraySlice<UInt8>, _ strange: inout Int) -> [UInt8] {
        guard let all = JSONTree(Array(basis))?.list else { return Array(basis) }
        let keys = all.filter { $0.text != nil }
        strange += all.count - keys.count
        return JSONTree.list(keys).bytes
    }

    private static func provenance(_ value: ArraySlice<UInt8>, _ strange: inout Int) -> [UInt8] {
        guard let members = JSONTree(Array(value))?.members else { return Array(value) }
        let changed = members.map { member in
            guard member.name == "basis", let all = member.value.list else { return member }
            let keys = all.filter { $0.text != nil }
            strange += all.count - keys.count
            return JSONTree.Member("basis", .list(keys))
        }
        return JSONTree.object(changed).bytes
    }
}
