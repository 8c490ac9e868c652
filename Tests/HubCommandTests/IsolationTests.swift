import Foundation
import HubProcess
import Testing

@testable import HubCommand

/// What the hub keeps its plugins to.
@Suite(.serialized, .timeLimit(.minutes(5)), .enabled(if: Need.python.isMet, "\(Need.python.reason)"))
struct IsolationTests {
    @Test(arguments: HostilePlugin.Ground.allCases.filter(\.canBe))
    func `R13.11 R13.14 a hostile plugin opens nothing that is not its own, and what it has started ends with it`(
        _ ground: HostilePlugin.Ground
    ) async throws {
        let hostile = try await HostilePlugin(on: ground)
        #expect(hostile.made == HostilePlugin.attempts, "\(hostile)")
        #expect(ground != .asItIs || geteuid() != 0 || hostile.gaps == [], "this machine gives all that is needed")
        #expect(hostile.through.isEmpty, "\(ground.rawValue): got through: \(hostile.through)")
        #expect(hostile.isLeftBehind.before, "the child that shall outlive it runs")
        #expect(!hostile.isLeftBehind.after, "and ends with it")
        #expect(hostile.code == 0)
    }

    @Test func `R13.12 without hub-confine no plugin starts, and check, status and doctor say what is missing`()
        async throws
    {
        let folder = try TemporaryFolder()
        let bin = try TemporaryFolder()
        // A hub without its programs beside it.
        try FileManager.default.copyItem(atPath: Programs.path("hub"), toPath: bin.path + "/hub")
        let program = try folder.write("#!/bin/sh\ntouch '\(folder.path)/ran'\n", to: "plugin")
        try mode(0o755, of: program)
        try configure("a", program, in: folder)
        func hub(_ words: String...) throws -> ChildProcess {
            try ChildProcess(
                "/usr/bin/env", ["PATH=/usr/bin:/bin", bin.path + "/hub"] + words + ["--config", folder.configuration])
        }
        func expectWord(of command: String) async throws {
            let result = try await hub(command).result()
            #expect(result.code != 0)
            #expect((result.output + result.errors).contains("hub-confine is not beside the hub"), "\(result)")
        }
        try await expectWord(of: "check")
        try await expectWord(of: "doctor")
        let running = try hub("run")
        try await running.line { $0.contains("ready") }
        try await expectWord(of: "status")
        running.signal(SIGTERM)
        #expect(await running.waitForExit() == 0)
        #expect(!FileManager.default.fileExists(atPath: folder.path + "/ran"))
    }

    @Test
    func `R13.13 confine = false is told by check, plugins and doctor, and its plugin still gets a clean environment`()
        async throws
    {
        let folder = try TemporaryFolder()
        let manifest = #"{"name":"open","summary":"S.","version":"1","writes":["weight"]}"#
        let program = try folder.write(
            """
            #!/bin/sh
            test "$1" = --describe && { echo '\(manifest)'; exit; }
            env > '\(folder.path)/environment.part' && mv '\(folder.path)/environment.part' '\(folder.path)/environment'
            cat > /dev/null
            """, to: "plugin")
        try mode(0o755, of: program)
        try configure("open", program, "confine = false", in: folder)
        func hub(_ words: String...) async throws -> ChildProcess.Result {
            try await ChildProcess("hub", words + ["--config", folder.configuration]).result()
        }
        let check = try await hub("check")
        #expect(
            check.code == 0 && (check.output + check.errors).contains("may do all that the hub's user may"), "\(check)")
        let process = try ChildProcess(
            "/usr/bin/env", ["OTHER_TOKEN=secret", Programs.path("hub"), "run", "--config", folder.configuration])
        try await process.line { $0.contains("ready") }
        for _ in 0..<300 where !FileManager.default.fileExists(atPath: folder.path + "/environment") {
            try await Task.sleep(for: .milliseconds(100))
        }
        let variables = try String(contentsOfFile: folder.path + "/environment", encoding: .utf8)
        #expect(!variables.contains("OTHER_TOKEN") && variables.contains("HUB_INSTANCE=open"))
        #expect(variables.contains("HOME=\(folder.path)/data/plugins/open"))
        #expect(try await hub("plugins", "--all").output.contains("confined no: it may do all that the hub's user may"))
        #expect(try await hub("doctor").output.contains("plugin open may do all that the hub's user may"))
        process.signal(SIGTERM)
        #expect(await process.waitForExit() == 0)
    }

    /// A hub with one plugin, in its folder.
    private func configure(_ plugin: String, _ program: String, _ more: String = "", in folder: TemporaryFolder) throws
    {
        try folder.write(
            """
            [hub]
            data = "\(folder.path)/data"
            run = "\(folder.path)/run"
            [person.me]
            [plugin.\(plugin)]
            executable = "\(program)"
            \(more)
            """)
    }

    private func mode(_ mode: Int, of path: String) throws {
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    }
}
