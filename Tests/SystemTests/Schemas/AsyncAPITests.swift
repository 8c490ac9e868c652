import Foundation
import HubProcess
import JSON
import Testing

/// Docs/asyncapi.json follows those rules of AsyncAPI 3 that apply to it.
@Suite struct AsyncAPITests {
    @Test func `each reference in the schemas and the AsyncAPI document has an existing target`() throws {
        var count = 0
        for path in try Documents.schemaNames().map({ "Schemas/\($0)" }) + ["asyncapi.json"] {
            for (text, target) in try Documents.references(of: path) {
                #expect(try Documents.part(target) != nil, "\(path): \(text)")
                count += 1
            }
        }
        #expect(count > 400)
    }

    @Test func `the AsyncAPI document has the members that AsyncAPI 3 requires`() throws {
        let document = try Documents.json("asyncapi.json")
        #expect(document["asyncapi"]?.text == "3.0.0")
        let info = try #require(document["info"])
        #expect(info["title"]?.text != nil && info["version"]?.text != nil)
        let allowed: Set = [
            "asyncapi", "id", "info", "servers", "defaultContentType", "channels", "operations", "components",
        ]
        let found = Set(document.members?.map(\.name) ?? [])
        #expect(found.isSubset(of: allowed))
        let schemes = Set(document["components"]?["securitySchemes"]?.members?.map(\.name) ?? [])
        for server in try #require(document["servers"]?.members) {
            #expect(server.value["host"]?.text != nil && server.value["protocol"]?.text != nil, "\(server.name)")
            let used = Set((server.value["host"]?.text ?? "").matches(of: /\{(\w+)\}/).map { String($0.1) })
            #expect(used == Set(server.value["variables"]?.members?.map(\.name) ?? []), "\(server.name)")
            #expect(
                server.value["security"]?.list?.allSatisfy { scheme in
                    schemes.contains { scheme["$ref"]?.text == "#/components/securitySchemes/\($0)" }
                } ?? true)
        }
        let channels = try #require(document["channels"]?.members)
        for channel in channels {
            let used = Set((channel.value["address"]?.text ?? "").matches(of: /\{(\w+)\}/).map { String($0.1) })
            #expect(used == Set(channel.value["parameters"]?.members?.map(\.name) ?? []), "\(channel.name)")
        }
        var used: Set<String> = []
        for operation in try #require(document["operations"]?.members) {
            #expect(["send", "receive"].contains(operation.value["action"]?.text), "\(operation.name)")
            let channel = try #require(operation.value["channel"]?["$ref"]?.text)
            for side in [operation.value, operation.value["reply"]].compactMap(\.self) {
                for message in side["messages"]?.list ?? [] {
                    let reference = try #require(message["$ref"]?.text)
                    #expect(reference.hasPrefix("\(channel)/messages/"), "\(operation.name): \(reference)")
                    used.insert(reference)
                }
            }
        }
        let offered = channels.flatMap { channel in
            channel.value["messages"]?.members?.map { "#/channels/\(channel.name)/messages/\($0.name)" } ?? []
        }
        #expect(used == Set(offered))
    }

    /// The Python package asyncapi3 models the specification and refuses other members.
    private static let judge = """
        import json, sys, warnings
        warnings.simplefilter("ignore")
        sys.path.insert(0, sys.argv[1])
        from asyncapi3 import AsyncAPI3
        from pydantic import ValidationError
        try:
            AsyncAPI3.model_validate(json.load(sys.stdin))
        except ValidationError as error:
            for fault in error.errors():
                print(".".join(map(str, fault["loc"])), fault["msg"], sep=": ")
        """

    @Test(.enabled(if: Need.asyncAPIJudge.isMet, "\(Need.asyncAPIJudge.reason)"))
    func `a third-party validator accepts the AsyncAPI document, and rejects it with a fault added`() async throws {
        let text = try Documents.text("asyncapi.json")
        let python = try Tool.python(with: "json")
        let folder = try TemporaryFolder()
        func faults(_ document: String) async throws -> String {
            let file = try folder.write(document, to: "asyncapi.json")
            let result = try await ChildProcess(
                python, ["-c", Self.judge, Need.asyncAPIPackages], input: FileHandle(forReadingAtPath: file)
            ).result()
            return result.output + result.errors
        }
        #expect(try await faults(text) == "")
        let broken = text.replacing(#""action": "send""#, with: #""action": "shout""#)
        #expect(try await faults(broken).contains("action"))
    }

    @Test func `examples that are named after a vector equal that vector`() throws {
        let messages = try #require(try Documents.part("asyncapi.json#/components/messages")?.members)
        let vectors = try Documents.vectors()
        var count = 0
        for example in messages.flatMap({ $0.value["examples"]?.list ?? [] }) {
            guard let name = example["name"]?.text else { continue }
            let parts = name.split(separator: ".").map(String.init)
            let vector = try #require(vectors.first { $0["id"]?.text == parts[0] }, "\(name)")
            let step = parts.count == 2 ? Int(parts[1]).flatMap { vector["steps"]?.list?[$0].list?.last } : nil
            let text = try #require((step ?? vector["out"] ?? vector["text"])?.text, "\(name)")
            #expect(example["payload"] == JSONTree(Array(text.utf8)), "\(name)")
            count += 1
        }
        #expect(count > 10)
    }
}
