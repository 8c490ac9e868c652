import JSON
import Samples

/// A line of JSON Lines as the hub or one of its sinks wrote it, and the record as its source gives it.
struct ExportedLine {
    /// Why a line is not one of them.
    struct Fault: Error { let reason: String }

    let kind: String
    let type: String
    /// The type's one unit, of a quantity.
    let unit: String?
    var isDay: Bool { kind == "day" }
    var isRetraction: Bool { kind == "retraction" }
    /// Who gives it.
    let plugin: String
    /// `nil` where it has no person.
    let person: String?
    /// Whether a person had said there that it is a guest's.
    let isGuest: Bool
    let key: String?
    /// What a later line of the same record has, too: also the one that takes it back.
    let identity: [UInt8]
    /// Records of one plugin with the same group belong together.
    let group: String?
    /// The start of a sample, as it is written.
    let start: String?
    /// The number that it had in the other hub, where the line has it.
    let number: Int64?
    /// Whether a person had changed it there: its source had said something else.
    let wasEdited: Bool
    /// How many numbers of records of the other hub were taken out of what it is made from.
    let strangeNumbers: Int
    /// The record, for the hub.
    let record: [UInt8]

    /// What a source does not say: the hub says it again of what it is given.
    private static let hubs: Set<String> = [
        "person", "personId", "unassigned", "original", "edited", "implausible", "mirrors", "by", "number", "seq",
    ]

    /// - Parameter name: gives the name that the receiving hub has for a person of the line.
    init(_ bytes: ArraySlice<UInt8>, named name: (String) -> String = { $0 }) throws(Fault) {
        let members = try ExportedLine.members(bytes)
        func raw(_ name: String) -> ArraySlice<UInt8>? { members.first { $0.name == name }?.value }
        func text(_ name: String) -> String? {
            raw(name).flatMap { JSONTree(Array($0)) }?.text
        }
        guard let type = text("type") else {
            throw Fault(reason: "type: missing; a record of a hub has one (Docs/Samples.md)")
        }
        // A type that the registry has says its kind itself.
        guard let kind = text("kind") ?? TypeRegistry.standard.resolve(type)?.kind.rawValue else {
            throw Fault(
                reason: "kind: missing; only a type of the registry can do without, and \(type.prefix(64)) is none")
        }
        guard let plugin = raw("source").flatMap({ JSONTree(Array($0)) })?["plugin"]?.text else {
            throw Fault(reason: "source.plugin: missing; a record of a hub says who gave it")
        }
        let whose = text("person").map(name)
        (self.kind, self.type, self.plugin, person) = (kind, type, plugin, whose)
        isGuest = whose == nil && text("unassigned").map(Assignment.nobody(reason:)) == .guest
        unit = text("unit")
        (key, group, start) = (text("key"), text("group"), text("start"))
        // A day is retracted by a source that need not be the one that gave it.
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
                // As the source wrote it, and not as the hub has converted it.
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
    ) throws(Fault) -> [(name: String, value: ArraySlice<UInt8>)] {
        let bytes = Array(line)
        let found: Result<[(name: String, value: ArraySlice<UInt8>)], Fault> = bytes.withUnsafeBytes { raw in
            do throws(JSONSyntaxError) {
                var scanner = try JSONScanner(raw)
                scanner.skipSpace()
                guard scanner.take(UInt8(ascii: "{")) else { return .failure(Fault(reason: "no JSON object")) }
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
            } catch {
                return .failure(Fault(reason: "\(error)"))
            }
        }
        return try found.get()
    }

    /// The keys of what something is made from: numbers are those of another hub, and would be other records here.
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
