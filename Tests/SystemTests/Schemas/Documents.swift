import Foundation
import JSON
import Testing

/// Reads Docs/Schemas and the documents that refer to it.
enum Documents {
    static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../Docs")
        .standardizedFileURL.path
    static let schemas = folder + "/Schemas"

    static func text(_ path: String) throws -> String {
        try String(contentsOfFile: "\(folder)/\(path)", encoding: .utf8)
    }

    static func json(_ path: String) throws -> JSONTree {
        try #require(JSONTree(Array(try text(path).utf8)), "Docs/\(path) is not JSON")
    }

    /// The paths of all schemas, below Docs/Schemas.
    static func schemaNames() throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: schemas).filter { $0.hasSuffix(".json") }.sorted()
    }

    /// A part of a document, for example `Schemas/manifest.json#/$defs/sink`, or `nil` if it does not exist.
    static func part(_ address: String) throws -> JSONTree? {
        let parts = address.split(separator: "#", maxSplits: 1).map(String.init)
        let document = try json(parts[0])
        guard parts.count == 2 else { return document }
        return parts[1].split(separator: "/").map(String.init).reduce(document as JSONTree?) { part, name in
            part?[name.replacing("~1", with: "/")]
        }
    }

    /// A part of a schema that must exist, for example `client/HELLO.json#/properties/version`.
    static func schema(_ address: String) throws -> JSONTree {
        try #require(try part("Schemas/\(address)"), "there is no \(address)")
    }

    /// Each `$ref` of a document, with the address of its target.
    static func references(of path: String) throws -> [(text: String, target: String)] {
        func found(_ value: JSONTree) -> [String] {
            switch value {
            case .list(let items): items.flatMap(found)
            case .object(let members): members.flatMap { $0.name == "$ref" ? [$0.value.text ?? ""] : found($0.value) }
            default: []
            }
        }
        let base = URL(filePath: "/\(path)").deletingLastPathComponent()
        return found(try json(path)).map { text in
            let parts = text.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            let file =
                parts[0].isEmpty ? path : String(base.appending(path: parts[0]).standardizedFileURL.path.dropFirst())
            return (text, parts.count == 2 ? "\(file)#\(parts[1])" : file)
        }
    }

    /// The members that a schema lists for its own object and its branches, without those of the schemas it refers to.
    static func members(_ address: String) throws -> [String] { members(of: try schema(address)) }

    private static func members(of schema: JSONTree) -> [String] {
        var names = schema["properties"]?.members?.map(\.name) ?? []
        for branch in ["oneOf", "anyOf", "allOf"].flatMap({ schema[$0]?.list ?? [] }) {
            names += members(of: branch).filter { !names.contains($0) }
        }
        return names
    }

    /// The lines of ProtocolVectors.jsonl.
    static func vectors() throws -> [JSONTree] {
        try text("ProtocolVectors.jsonl").split(separator: "\n").map { line in try #require(JSONTree(Array(line.utf8)))
        }
    }
}
