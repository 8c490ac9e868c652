import Foundation
import HubProcess
import Testing

/// The parts of the documents about `hub setup`.
@Suite struct DocumentTests {
    @Test func `the script of Operating.md runs as printed there`() async throws {
        let scene = try SetupScene()
        let script = try scene.folder.write(ReadmePrograms("Docs/Operating.md").text("setup.sh"), to: "setup.sh")
        let path = Programs.folder + ":" + (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin")
        let result = try await ChildProcess(
            "/usr/bin/env", ["-C", scene.folder.path, "sh", script],
            environment: scene.environment.merging(["PATH": path]) { $1 }
        ).result()
        #expect(result.code == 0, "\(result)")
        #expect(result.output.contains("ok, 1 person, 1 plugin\n"), "\(result.output)")
        #expect(try !scene.text().contains("ben") && scene.text(scene.path + ".before").contains("[person.ben]"))
    }
}
