import Foundation
import JSON
import Testing

@testable import HubWire

/// The schema of a command, made from its entry in ``OwnCommands``.
///
/// The file may say more: descriptions of members without a documentation comment, and rules that neither a declaration nor a type expresses.
struct CommandSchema {
    private let name, file: String
    private let declaration: CommandDeclaration
    private let result: JSONTree

    init(_ command: any OwnCommand.Type) throws {
        declaration = command.declaration
        name = declaration.name
        file = "Schemas/commands/\(name).json"
        result = try Self.result(of: command)
    }

    /// The text that the file should have.
    ///
    /// - Parameter old: the file's present text; `nil` if there is none.
    func text(over old: JSONTree?) throws -> String {
        let arguments = ShapeDecoder.object(
            declaration.arguments.map { ($0.name, Self.schema(of: $0)) },
            optional: Set(declaration.arguments.filter { !$0.isRequired }.map(\.name)))
        let closed = JSONTree.object(
            [JSONTree.Member("description", "args of COMMAND.")] + (arguments.members ?? [])
                + [.init("additionalProperties", false)])
        let described = JSONTree.object(
            [JSONTree.Member("description", "result of OUTCOME done.")] + (result.members ?? []))
        let before = old?["$defs"]
        let more = before?.members?.filter { !["args", "result"].contains($0.name) } ?? []
        let document = JSONTree.object([
            .init("$schema", "https://json-schema.org/draft/2020-12/schema"),
            .init("title", .text("The command \(name)")), .init("description", .text(declaration.help)),
            .init(
                "$defs",
                .object(
                    [
                        .init("args", try merged(closed, over: before?["args"], in: file, keepsDescription: true)),
                        .init(
                            "result", try merged(described, over: before?["result"], in: file, keepsDescription: true)),
                    ] + more)),
        ])
        return document.pretty() + "\n"
    }

    // MARK: - From the code

    private static func schema(of argument: SettingDeclaration) -> JSONTree {
        var members = [JSONTree.Member("description", .text(argument.help))] + members(of: argument.type)
        if let value = argument.defaultValue, let tree = JSONTree(RawJSON(encoding: value).bytes) {
            members.append(.init("default", tree))
        }
        return .object(members)
    }

    private static func members(of type: SettingType) -> [JSONTree.Member] {
        switch type {
        case .integer(let bounds): limits("integer", bounds.minimum.map { "\($0)" }, bounds.maximum.map { "\($0)" })
        case .number(let bounds):
            limits("number", bounds.minimum.map { "\(Int64($0))" }, bounds.maximum.map { "\(Int64($0))" })
        case .boolean: [.init("type", "boolean")]
        case .choice(let words): [.init("enum", .list(words.map(JSONTree.text)))]
        case .list(let items): [.init("type", "array"), .init("items", .object(members(of: items)))]
        case .string(let rule):
            [JSONTree.Member("type", "string")]
                + (rule.example.map { [JSONTree.Member("examples", [.text($0)])] } ?? [])
        case .duration, .size, .path, .url, .timeZone, .date, .timeOfDay: [.init("type", "string")]
        }
    }

    private static func limits(_ type: String, _ least: String?, _ most: String?) -> [JSONTree.Member] {
        [JSONTree.Member("type", .text(type))] + (least.map { [JSONTree.Member("minimum", .number($0))] } ?? [])
            + (most.map { [JSONTree.Member("maximum", .number($0))] } ?? [])
    }

    private static func result<Command: OwnCommand>(of command: Command.Type) throws -> JSONTree {
        try schema(of: Command.Result.self)
    }

    fileprivate static func schema(of result: any CommandResult.Type) throws -> JSONTree {
        switch result {
        case is ManualAnswer.Type:
            let members = try ShapeDecoder.schema(of: ManualAnswer.Entry.Members.self)
            let record: JSONTree = ["$ref": "../record.json"]
            var all: [(name: String, schema: JSONTree)] = (members["properties"]?.members ?? []).map {
                ($0.name, $0.value)
            }
            for name in ["record", "last"] { all.append((name, record)) }
            let needed = members["required"]?.list?.compactMap(\.text) ?? []
            let entry = ShapeDecoder.object(all, optional: Set(all.map(\.name)).subtracting(needed))
            return ShapeDecoder.object([
                ("dryRun", ["type": "boolean"]), ("records", ["type": "array", "items": entry]),
            ])
        case let either as any Alternative.Type:
            return ["anyOf": [try schema(of: ManualAnswer.self), try schema(of: either.alternative)]]
        case let type as any Decodable.Type: return try ShapeDecoder.schema(of: type)
        default: throw ShapeDecoder.Unknown(type: "\(result)")
        }
    }

    // MARK: - Together with the file

    /// The members that a file may add to the code.
    private static let additions = [
        "description", "minItems", "maxItems", "maxLength", "minimum", "maximum", "examples", "oneOf",
    ]

    /// - Parameter keepsDescription: whether the file's description takes precedence.
    private func merged(
        _ new: JSONTree, over old: JSONTree?, in file: String, keepsDescription: Bool = false
    ) throws -> JSONTree {
        guard let old, let members = new.members, let before = old.members else { return new }
        if let reference = old["$ref"]?.text, new["$ref"] == nil {
            try judge(reference, in: file, new)
            let description = new["description"] ?? old["description"]
            let text = description.map { [JSONTree.Member("description", $0)] } ?? []
            return .object(text + [JSONTree.Member("$ref", .text(reference))])
        }
        var all = members.map { member in
            keepsDescription && member.name == "description"
                ? JSONTree.Member("description", old["description"] ?? member.value) : member
        }
        for (place, member) in all.enumerated() {
            switch member.name {
            case "properties":
                all[place].value = .object(
                    try (member.value.members ?? []).map {
                        .init($0.name, try merged($0.value, over: old["properties"]?[$0.name], in: file))
                    })
            case "items", "additionalProperties":
                all[place].value = try merged(member.value, over: old[member.name], in: file)
            case "anyOf":
                let parts = old["anyOf"]?.list ?? []
                all[place].value = .list(
                    try (member.value.list ?? []).enumerated().map {
                        try merged($1, over: parts.indices.contains($0) ? parts[$0] : nil, in: file)
                    })
            default: break
            }
        }
        let more = before.filter { member in
            Self.additions.contains(member.name) && !all.contains { $0.name == member.name }
        }
        return .object(more.filter { $0.name == "description" } + all + more.filter { $0.name != "description" })
    }

    /// Checks that the schema that a file refers to fits the code.
    private func judge(_ reference: String, in file: String, _ new: JSONTree) throws {
        let parts = reference.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let folder = URL(filePath: "/\(file)").deletingLastPathComponent()
        let other =
            parts[0].isEmpty ? file : String(folder.appending(path: parts[0]).standardizedFileURL.path.dropFirst())
        let place = parts.count == 2 ? "\(other)#\(parts[1])" : other
        let target = try #require(try Documents.part(place), "\(name): there is no \(place)")
        if new["properties"] != nil {
            let wanted = try merged(new, over: target, in: other)
            for key in ["properties", "required"] {
                #expect(wanted[key].map(Self.sorted) == target[key].map(Self.sorted), "\(name): \(reference)")
            }
        } else if let type = target["type"] {
            #expect(type == new["type"], "\(name): \(reference)")
        }
    }

    /// The same without descriptions, and without the order of members and words.
    private static func sorted(_ tree: JSONTree) -> JSONTree {
        switch tree {
        case .object(let members):
            .object(
                members.filter { $0.name != "description" || $0.value.text == nil }
                    .map { .init($0.name, sorted($0.value)) }.sorted { $0.name < $1.name })
        case .list(let items): .list(items.map(sorted).sorted { $0.json < $1.json })
        default: tree
        }
    }
}

private protocol Alternative {
    static var alternative: any CommandResult.Type { get }
}
extension RecordsOr: Alternative {
    fileprivate static var alternative: any CommandResult.Type { Other.self }
}

extension JSONTree {
    /// The JSON as the files of Docs/Schemas have it: in lines of at most 120 characters.
    func pretty(indent: Int = 0, before: Int = 0) -> String {
        let flat = spaced
        if indent > 0, indent + before + flat.count < 120 { return flat }
        let (inner, end) = (String(repeating: " ", count: indent + 2), String(repeating: " ", count: indent))
        switch self {
        case .object(let members) where !members.isEmpty:
            let lines = members.map { member in
                let name = "\(JSONTree.text(member.name).json): "
                return inner + name + member.value.pretty(indent: indent + 2, before: name.count)
            }
            return "{\n\(lines.joined(separator: ",\n"))\n\(end)}"
        case .list(let items) where !items.isEmpty:
            let isPlain = items.allSatisfy { $0.members == nil && $0.list == nil }
            guard isPlain else {
                let lines = items.map { inner + $0.pretty(indent: indent + 2) }
                return "[\n\(lines.joined(separator: ",\n"))\n\(end)]"
            }
            var lines = [""]
            for (place, item) in items.enumerated() {
                let word = item.json + (place < items.count - 1 ? "," : "")
                let last = lines[lines.count - 1]
                if !last.isEmpty, inner.count + last.count + 1 + word.count > 120 {
                    lines.append(word)
                } else {
                    lines[lines.count - 1] = last.isEmpty ? word : "\(last) \(word)"
                }
            }
            return "[\n\(lines.map { inner + $0 }.joined(separator: "\n"))\n\(end)]"
        default: return flat
        }
    }

    private var spaced: String {
        switch self {
        case .object(let members):
            "{\(members.map { "\(JSONTree.text($0.name).json): \($0.value.spaced)" }.joined(separator: ", "))}"
        case .list(let items): "[\(items.map(\.spaced).joined(separator: ", "))]"
        default: json
        }
    }
}
