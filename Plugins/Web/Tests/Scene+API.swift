import Foundation
import HubProcess
import Testing

/// A program that uses the API.
extension Scene {
    /// Makes a new token.
    func token(_ name: String, _ scope: String = "read", person: String? = nil) async throws -> String {
        let lines = try await command(
            ["web", "token", "new", name, "--scope", scope] + (person.map { ["--person", $0] } ?? []))
        return try #require(lines.first)
    }

    func api(_ path: String, _ token: String?) async throws -> Answer {
        try await get("/api/v1" + path, fields: Self.bearer(token))
    }

    func send(_ path: String, _ body: String, _ token: String?) async throws -> Answer {
        try await post("/api/v1" + path, body, fields: Self.bearer(token) + ["Content-Type: application/json"])
    }

    static func bearer(_ token: String?) -> [String] { token.map { ["Authorization: Bearer \($0)"] } ?? [] }

    /// Starts the listener `events.py`.
    func listen(_ words: [String], tokens: [String]) throws -> ChildProcess {
        let script = try #require(Bundle.module.path(forResource: "events", ofType: "py"))
        let files = try tokens.enumerated().map { try write($1, to: "token\($0)") }
        return try ChildProcess("/usr/bin/env", ["python3", script, words[0], "\(port)"] + files + words.dropFirst())
    }
}

/// An answer or an event as JSON.
struct Told {
    let object: [String: Any]

    init(_ text: String) throws {
        object = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any], "\(text)")
    }

    subscript(_ name: String) -> Any? { object[name] }
    func text(_ name: String) -> String? { object[name] as? String }
    func number(_ name: String) -> Int? { object[name] as? Int }
    func list(_ name: String) -> [[String: Any]] { object[name] as? [[String: Any]] ?? [] }
}
