import Foundation
import HubProcess
import Testing

/// Runs the commands of Docs/Backups.md with restic as they stand there.
@Suite(.enabled(if: Need.restic.isMet, "\(Need.restic.reason)")) struct BackupDocumentTests {
    private let host: HubHost
    private let environment: [String: String]

    init() throws {
        host = try HubHost()
        environment = host.environment.merging(
            [
                "PATH": "\(Programs.folder):/usr/bin:/bin", "HOME": host.folder.path,
                "RESTIC_REPOSITORY": host.folder.path + "/repository",
                "RESTIC_PASSWORD_FILE": try host.folder.write("quite long words", to: "password"),
            ], uniquingKeysWith: { $1 })
    }

    private func run(_ script: String) async throws -> String {
        let file = try host.folder.write(script, to: "script.sh")
        let child = try ChildProcess("/bin/sh", ["-eu", file], environment: environment)
        let result = await child.result()
        try #require(result.code == 0, "\(script)\(result.output)\(result.errors)")
        return result.output
    }

    private func give(_ numbers: Range<Int>) async throws {
        let lines = numbers.map { number in
            let day = Date(timeIntervalSince1970: 1_700_000_000 + Double(number) * 300).formatted(.iso8601)
            return
                "{\"type\":\"heartRate\",\"value\":\(50 + number % 70),\"unit\":\"count/min\",\"start\":\"\(day)\",\"key\":\"k\(number)\"}\n"
        }
        let file = try host.folder.write(lines.joined(), to: "records.jsonl")
        _ = try await run("hub bridge publish < \(file) > /dev/null\n")
    }

    /// The bytes of all files of the repository.
    private func size() throws -> Int {
        let root = URL(filePath: host.folder.path + "/repository")
        let files = try #require(FileManager.default.enumerator(at: root, includingPropertiesForKeys: [.fileSizeKey]))
        return try files.reduce(0) { sum, file in
            sum + (try (file as? URL)?.resourceValues(forKeys: [.fileSizeKey]).fileSize ?? 0)
        }
    }

    @Test func `restic keeps each piece of a whole backup once and gives the newest back, which restores the store`()
        async throws
    {
        let document = try ReadmePrograms("Docs/Backups.md")
        #expect(document.names == ["restic-back.sh", "restic-daily.sh", "restic-init.sh"])
        let hub = try await host.start()
        try await give(0..<40_000)
        _ = try await run(document.text("restic-init.sh"))
        let empty = try size()
        _ = try await run(document.text("restic-daily.sh"))
        let first = try size()
        try await give(40_000..<40_010)
        // The names of backups have a resolution of one second.
        try await Task.sleep(for: .milliseconds(1_050))
        _ = try await run(document.text("restic-daily.sh"))
        let second = try size()
        #expect((second - first) * 4 < (first - empty) * 3, "\(empty) \(first) \(second)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: host.folder.path + "/hub-copies").count == 1)
        _ = try await run("restic check --read-data\n")

        // The machine with the hub is lost.
        #expect(await hub.stop() == 0)
        for lost in ["data", "hub-copies"] { try FileManager.default.removeItem(atPath: "\(host.folder.path)/\(lost)") }
        let shown = try await run(document.text("restic-back.sh"))
        #expect(shown.contains("40,010 records"), "\(shown)")
        let again = try await host.start()
        #expect(
            try await host.command("samples", "heartRate", "--last", "1", "--json").lines.first?.contains("\"k40009\"")
                == true)
        #expect(await again.stop() == 0)
    }
}
