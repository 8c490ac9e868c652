import Foundation
import HTTPTypes
import HubProcess
import JSON
import Testing

@testable import Web

/// The description of the API (`/api/v1/openapi.json`).
@Suite(.timeLimit(.minutes(10))) struct DescriptionTests {
    @Test func `each address is described with its parameters and its access rule`() throws {
        let plain = SessionCookie(isSecure: false, base: .none)
        let document = try #require(JSONTree(OpenAPIDocument.document(for: plain)))
        let ids = API.routes.compactMap { route in
            let operation = document["paths"]?[route.path]?[route.method.rawValue.lowercased()]
            #expect(operation?["summary"]?.text?.isEmpty == false, "\(route.path)")
            #expect(operation?["description"]?.text?.contains("\(route.scope)") == true, "\(route.path)")
            for parameter in route.parameters { #expect(!parameter.help.isEmpty, "\(route.path) \(parameter.name)") }
            let braced = route.path.split(separator: "/").filter { $0.hasPrefix("{") }.map { $0.dropFirst().dropLast() }
            let places = route.parameters.filter { $0.place == .path }.map(\.name)
            #expect(braced.map(String.init) == places, "\(route.path)")
            return operation?["operationId"]?.text
        }
        #expect(Set(ids).count == API.routes.count)
        for (isSecure, path, name) in [
            (false, "", "hub"), (true, "", "__Host-hub"), (false, "/a/b", "hub"), (true, "/a/b", "__Secure-hub"),
        ] {
            let cookie = SessionCookie(isSecure: isSecure, base: BasePath(path) ?? .none)
            let document = try #require(JSONTree(OpenAPIDocument.document(for: cookie)))
            #expect(document["components"]?["securitySchemes"]?["session"]?["name"]?.text == name)
            #expect(document["servers"]?.list?.first?["url"]?.text == path + "/api/v1")
        }
        // Every address that changes something needs more than the scope read.
        for route in API.routes where route.method != .get { #expect(route.scope >= .write, "\(route.path)") }
    }

    @Test(.enabled(if: Need.apiJudges.isMet, "\(Need.apiJudges.reason)"))
    func `the document is valid OpenAPI, and schemathesis finds no deviation`() async throws {
        let scene = try await Scene(owner: ["*"])
        let token = try await scene.token("m", "manage")
        _ = try await scene.command("log", "weight", "80.4kg", "--person", "me")
        _ = try await scene.command("log", "stepCount", "5000", "--person", "ben")
        let document = try scene.write(try await scene.api("/openapi.json", token).body, to: "openapi.json")
        func python(_ words: [String]) async throws -> ChildProcess.Result {
            try await ChildProcess("/usr/bin/env", ["PYTHONPATH=\(Need.apiJudgePackages)", "python3"] + words).result()
        }
        let judged = try await python(["-m", "openapi_spec_validator", document])
        #expect(judged.code == 0, "\(judged.output.suffix(2_000)) \(judged.errors.suffix(2_000))")
        let settings = try #require(Bundle.module.path(forResource: "schemathesis", ofType: "toml"))
        let tried = try await python([
            "-m", "schemathesis.cli", "--config-file", settings, "run", document, "--url",
            "http://127.0.0.1:\(scene.port)/api/v1", "--header", "Authorization: Bearer \(token)", "--checks", "all",
            // After ten wrong tokens an address must wait (429), which APITests cover.
            "--exclude-checks", "ignored_auth", "--max-examples", "12", "--phases",
            Thoroughness.isWhole ? "examples,coverage,fuzzing" : "examples", "--generation-database", "none",
            "--request-timeout", "20", "--no-color", "--warnings", "off",
        ])
        #expect(tried.code == 0, "\(tried.output.suffix(6_000)) \(tried.errors.suffix(1_000))")
        // The hub and the page still work.
        #expect(try await scene.api("/records", token).status == 200)
    }
}
