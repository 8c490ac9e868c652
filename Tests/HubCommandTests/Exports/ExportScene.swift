import Foundation
import HubClient
import HubProcess
import Testing

@testable import HubCommand

/// A hub with records of every kind from two sources, and one record that a person entered.
struct ExportScene {
    static let persons = "[person.anna]\nzone = \"Europe/Berlin\"\n[person.ben]\n"
    let hub: TestHub
    let folder: TemporaryFolder

    /// - Parameter isFilled: Whether the hub has these records; otherwise it is empty.
    init(isFilled: Bool = true) async throws {
        hub = try await TestHub(ExportScene.persons)
        folder = try TemporaryFolder()
        guard isFilled else { return }
        let url = try #require(Bundle.module.url(forResource: "records", withExtension: "jsonl"))
        for source in ["watch", "phone"] {
            let given = try await hub.run(["bridge", "publish", "--as", source, "--", "/bin/cat", url.path])
            try #require(given.code == 0, "\(given.output)\(given.errors)")
        }
        try #require(try await hub.run(["assign", "--inbox", "--to", "anna", "--yes"]).code == 0)
        let logged = try await hub.run(
            ["log", "weight", "80kg", "--person", "ben", "--at", "2026-02-01T07:30:00+01:00"])
        try #require(logged.code == 0, "\(logged.errors)")
    }

    func path(_ name: String) -> String { "\(folder.path)/\(name)" }

    /// Runs `hub export` and returns the content of its file.
    func export(_ name: String, _ options: [String] = []) async throws -> String {
        let result = try await hub.run(["export", path(name)] + options)
        try #require(result.code == 0, "\(result.errors)")
        return try String(contentsOfFile: path(name), encoding: .utf8)
    }
}
