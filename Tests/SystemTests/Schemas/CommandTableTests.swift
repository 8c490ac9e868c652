import Foundation
import JSON
import Testing

@testable import HubWire

/// Compares the schemas and the protocol with the table of the hub's commands.
@Suite struct CommandTableTests {
    /// Set by `make generated`.
    private let writes = ProcessInfo.processInfo.environment["WRITE_GENERATED"] != nil

    @Test func `R8.8 each command of the hub has a schema, made from its declaration and its result`() throws {
        let files = try Documents.schemaNames().filter { $0.hasPrefix("commands/") }
        for command in OwnCommands.all {
            let path = "commands/\(command.name).json"
            let old = files.contains(path) ? try Documents.text("Schemas/\(path)") : nil
            let wanted = try CommandSchema(command).text(over: old.flatMap { JSONTree(Array($0.utf8)) })
            if writes { try Data(wanted.utf8).write(to: URL(filePath: "\(Documents.schemas)/\(path)")) }
            #expect(writes || old == wanted, "\(path) differs from the table; make generated writes it")
        }
        #expect(writes || Set(files) == Set(OwnCommands.all.map { "commands/\($0.name).json" }))
    }

    @Test func `R12.10 the manifest schema lists each right of the owner that a plugin can be granted`() throws {
        let path = "Schemas/manifest.json"
        let words = JSONTree.list(OwnerRight.grantable.map { .text($0.rawValue) })
        let old = try Documents.json(path)
        _ = try #require(old["properties"]?["owner"]?["items"]?["enum"]?.list)
        let wanted = Self.replacing(["properties", "owner", "items", "enum"], in: old, with: words).pretty() + "\n"
        if writes { try Data(wanted.utf8).write(to: URL(filePath: "\(Documents.folder)/\(path)")) }
        #expect(try Documents.text(path) == wanted, "\(path) differs from OwnerRight; make generated writes it")
    }

    private static func replacing(_ path: ArraySlice<String>, in tree: JSONTree, with value: JSONTree) -> JSONTree {
        guard let name = path.first else { return value }
        return .object(
            (tree.members ?? []).map { member in
                .init(
                    member.name,
                    member.name == name ? replacing(path.dropFirst(), in: member.value, with: value) : member.value)
            })
    }

    @Test func `R8.8 R12.10 the protocol lists each command of the hub with its arguments, and its right`() throws {
        let text = try Documents.text("Protocol.md")
        func section(_ from: String, _ to: String) throws -> Substring {
            let start = try #require(text.range(of: "\n\(from) ")).upperBound
            return text[start..<(try #require(text.range(of: "\n\(to) ", range: start..<text.endIndex)).lowerBound)]
        }
        var rows: [String: String] = [:]
        for line in try section("### 8.2", "### 8.4").split(separator: "\n") {
            let cells = line.split(separator: "|", omittingEmptySubsequences: false)
            guard cells.count == 5, let name = cells[1].wholeMatch(of: #/ `([a-z\-]+)` /#)?.1 else { continue }
            rows[String(name)] = cells[2].trimmingCharacters(in: .whitespaces)
        }
        let rights = try section("### 12.3", "## 13.")
        for command in OwnCommands.all.map({ $0.declaration }) {
            let row = try #require(rows[command.name], "§8.2 and §8.3 do not list \(command.name)")
            // A row may refer to a rule instead.
            for argument in command.arguments where row.isEmpty || row.contains("`") {
                #expect(row.contains("`\(argument.name)`"), "Protocol.md: \(command.name) \(argument.name)")
            }
            #expect(rights.contains("`\(command.name)`"), "§12.3 does not list \(command.name)")
        }
    }
}
