import Foundation
import HubProcess
import Testing

/// The plugin, started and sandboxed by a real hub.
@Suite(.timeLimit(.minutes(3))) struct FolderTests {
    /// Waits for the next event of the plugin.
    private func event(_ scene: Scene) throws -> ChildProcess {
        try ChildProcess(
            "hub", ["tap", "device/apple-health/imported/", "--count", "1", "--json"],
            environment: ["HUB_CONF": scene.host.configuration])
    }

    @Test func `An export in the folder is read once, and an event reports the result`() async throws {
        let scene = try Scene(plugin: "zone = \"Europe/Berlin\"")
        try await scene.start()
        let tap = try event(scene)
        // It is read only after some seconds without a write, because it might still be copied.
        try scene.write(steps(0..<1_000), as: "export.xml", isNew: true)
        let lines = await tap.result().output
        #expect(lines.contains("1001 of 1001 records were new"), "\(lines)")
        #expect(try await scene.count() == 1_001)
        let again = try await scene.json(["do", "apple-health", "import"])
        let file = try #require((again["files"] as? [[String: Any]])?.first)
        #expect(file["new"] as? Int == 0 && file["known"] as? Int == 1_001)
        // In the zone of the person, wherever the command runs.
        let shown = try await ChildProcess(
            "hub", ["do", "apple-health", "import"],
            environment: ["HUB_CONF": scene.host.configuration, "TZ": "America/Lima"]
        ).result().output
        #expect(shown.contains("2026-01-01 00:00:00 +01:00") && !shown.contains("-05:00"), "\(shown)")
    }

    @Test func `An unpacked export that was read during its copy is read again when the rest has arrived`() async throws
    {
        let scene = try Scene(plugin: "")
        let folder = scene.exports + "/unpacked"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        try scene.write(steps(0..<100, end: ""), as: "unpacked/export.xml")
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSinceNow: -60)], ofItemAtPath: folder)
        try await scene.start()
        try await eventually { try await scene.count() >= 101 }
        let tap = try event(scene)
        // Write in place, which does not change the folder.
        let file = try #require(FileHandle(forWritingAtPath: folder + "/export.xml"))
        try file.seekToEnd()
        let rest = try #require(steps(100..<200).range(of: "<Record type=\"HKQuantityTypeIdentifierStepCount\""))
        try file.write(contentsOf: Data(steps(100..<200)[rest.lowerBound...].utf8))
        try file.close()
        let lines = await tap.result().output
        #expect(lines.contains("100 of 201 records were new"), "\(lines)")
        #expect(try await scene.count() == 201)
    }

    @Test(.enabled(if: Need.mount.isMet, "\(Need.mount.reason)"))
    func `An import into a hub with a full disk ends and reports which records are stored`() async throws {
        let scene = try Scene(plugin: "")
        let disk = try SmallDisk(at: scene.host.folder.path + "/data", bytes: 1_200_000)
        try await scene.start()
        try await scene.untilPluginIsThere()
        try scene.write(steps(0..<15_000), as: "a.xml")
        try scene.write(steps(0..<10), as: "b.xml")
        let full = try await scene.host.command("do", "apple-health", "import")
        let said = full.errors.joined()
        let parts = try #require(said.firstMatch(of: /a.xml: (\d+) of \d+ records were new/), "\(said)")
        #expect(
            full.status == 75 && said.contains("the rest of it is not stored") && said.contains("not read: b.xml"),
            "\(said)")
        disk.resize(bytes: 200_000_000)
        // All records that were reported as new are stored.
        #expect(try await scene.count() >= Int(parts.1) ?? .max)
        // The hub notices without help that there is room.
        var again = try await scene.host.command("do", "apple-health", "import")
        while again.errors.joined().contains("cannot store") {
            again = try await scene.host.command("do", "apple-health", "import")
        }
        #expect(again.status == 0, "\(again.errors)")
        #expect(try await scene.count() == 15_001)
    }

    @Test func `A dry run reports the records and stores nothing`() async throws {
        let scene = try Scene(plugin: "types = [\"weight\"]")
        try await scene.start()
        try await scene.untilPluginIsThere()
        try scene.write(steps(0..<10), as: "export.xml")
        let look = try await scene.json(["do", "apple-health", "import", "--dry-run"])
        let file = try #require((look["files"] as? [[String: Any]])?.first)
        #expect(file["records"] as? Int == 1 && file["filtered"] as? Int == 10)
        let missing = try await scene.host.command("do", "apple-health", "import", "file=none.zip")
        #expect(missing.status == 1 && missing.errors.contains { $0.contains("it has export.xml") })
    }

    @Test func `A bad file does not hide others: each has its result in the command and in the status`() async throws {
        let scene = try Scene(plugin: "")
        try scene.write("Date,\"Weight (kg)\",x", as: "bad.zip")
        try scene.write("PK\u{3}\u{4} cut", as: "broken.zip")
        try scene.write(steps(0..<10), as: "good.xml")
        try await scene.start()
        try await scene.untilPluginIsThere()
        try await eventually { try await scene.count() >= 11 }
        let result = try await scene.host.command("do", "apple-health", "import")
        #expect(result.status == 1)
        let text = result.errors.joined()
        #expect(
            text.contains("2 of 3 exports cannot be read") && text.contains("bad.zip") && text.contains("broken.zip"))
        #expect(text.contains("good.xml: 0 of 11 records were new"), "\(text)")
        try await eventually {
            let status = try await scene.json(["status"], expecting: nil)
            let error = (status["plugins"] as? [[String: Any]])?.first?["lastError"] as? String ?? ""
            return error.contains("bad.zip") && error.contains("broken.zip")
        }
    }

    @Test(arguments: [("until = \"2025-12-31\"", 1), ("since = \"2026-01-01\"", 0)])
    func `since and until are days in the person's zone`(setting: String, count: Int) async throws {
        // The weighing of 1 January at 07:00 in Berlin was on 31 December in Los Angeles.
        let scene = try Scene(plugin: "types = [\"weight\"]\nzone = \"America/Los_Angeles\"\n\(setting)")
        try await scene.start()
        try await scene.untilPluginIsThere()
        try scene.write(steps(0..<10), as: "export.xml")
        let look = try await scene.json(["do", "apple-health", "import", "--dry-run"])
        let file = try #require((look["files"] as? [[String: Any]])?.first)
        #expect(file["records"] as? Int == count, "\(file)")
    }

    @Test func `After kills with its hub at any point the plugin resumes, and everything is stored once`() async throws
    {
        let scene = try Scene(plugin: "zone = \"Europe/Berlin\"")
        try scene.write(steps(0..<8_000), as: "export.xml")
        for _ in 0..<3 {
            try await scene.start()
            let before = try await scene.head()
            // The third time everything may be stored already.
            for _ in 0..<20 where try await scene.head() == before { try await Task.sleep(for: .milliseconds(50)) }
            await scene.kill()
        }
        try await scene.start()
        try await scene.untilPluginIsThere()
        let report = try await scene.json(["do", "apple-health", "import"])
        let file = try #require((report["files"] as? [[String: Any]])?.first)
        #expect(file["finished"] as? Bool == true && file["refused"] as? Int == 0)
        #expect(try await scene.count() == 8_001)
    }

    @Test func `A missing folder is reported, does not count as empty, and is read again when it is back`() async throws
    {
        let scene = try Scene(plugin: "")
        try scene.write(steps(0..<10), as: "first.xml")
        try await scene.start()
        try await eventually { try await scene.count() >= 11 }
        let tap = try ChildProcess(
            "hub", ["tap", "device/apple-health/import-failed/", "--json"],
            environment: ["HUB_CONF": scene.host.configuration])
        let files = FileManager.default
        try files.moveItem(atPath: scene.exports, toPath: scene.exports + "-away")
        try await tap.line { $0.contains("there is no such folder") }
        // An empty folder, as at the mount point of a disk that is not mounted.
        try files.createDirectory(atPath: scene.exports, withIntermediateDirectories: false)
        try await tap.line { $0.contains("is empty, and not the folder") }
        try files.removeItem(atPath: scene.exports)
        try files.moveItem(atPath: scene.exports + "-away", toPath: scene.exports)
        try scene.write(steps(10..<20), as: "second.xml")
        try await eventually { try await scene.count() >= 21 }
        try await tap.line { $0.contains(#""resolved":true"#) }
        await tap.killAndWait()
    }

    @Test func `Two people's exports need a section for each, and the log says so`() async throws {
        let scene = try Scene(plugin: "", persons: "[person.anna]")
        try scene.write(steps(0..<10), as: "export.xml")
        try await scene.start()
        try await eventually { try await log(scene).contains("persons = [") }
        #expect(try await scene.count() == 0)
    }

    private func log(_ scene: Scene) async throws -> String {
        try await scene.host.command("logs", "apple-health").lines.joined(separator: "\n")
    }
}
