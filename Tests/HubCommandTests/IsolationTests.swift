import Foundation
import HubProcess
import Testing

@testable import HubCommand

/// The limits that the hub sets for its plugins.
@Suite(.serialized, .timeLimit(.minutes(5)), .enabled(if: Need.python.isMet, "\(Need.python.reason)"))
struct IsolationTests {
    @Test(arguments: HostilePlugin.Ground.allCases.filter(\.canBe))
    func `R13.11 R13.14 a hostile plugin opens nothing but its own files, and its child processes end with it`(
        _ ground: HostilePlugin.Ground
    ) async throws {
        let hostile = try await HostilePlugin(on: ground)
        #expect(hostile.made == HostilePlugin.attempts, "\(hostile)")
        #expect(ground != .asItIs || geteuid() != 0 || hostile.gaps == [], "as root, this machine has every protection")
        #expect(hostile.through.isEmpty, "\(ground.rawValue): attempts that succeeded: \(hostile.through)")
        #expect(hostile.isLeftBehind.before, "the child process that tries to outlive the plugin ran")
        #expect(!hostile.isLeftBehind.after, "the child process ended with the plugin")
        #expect(hostile.code == 0)
    }

    @Test func `R13.12 without hub-confine no plugin starts, and check, status and doctor name it`()
        async throws
    {
        let folder = try TemporaryFolder()
        let bin = try TemporaryFolder()
        // A hub without the programs that are installed beside it.
        try FileManager.default.copyItem(atPath: Programs.path("hub"), toPath: bin.path + "/hub")
        let program = try folder.write("#!/bin/sh\ntouch '\(folder.path)/ran'\n", to: "plugin", isProgram: true)
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

    @Test(.enabled(if: HostilePlugin.Ground.bare.canBe, "unshare cannot make a user namespace here"))
    func `doctor names the protection that remains without user namespaces, and the one that is missing`()
        async throws
    {
        let folder = try TemporaryFolder()
        try folder.writeSettings()
        let doctor = [Programs.path("hub"), "doctor", "--config", folder.configuration]
        let output = try await ChildProcess("/usr/bin/env", HostilePlugin.Ground.bare.wrapper + doctor).result().output
        #expect(output.contains("plugins are confined: files"), "\(output)")
        #expect(output.contains("plugins can connect to sockets of other programs"), "\(output)")
    }

    @Test
    func `R13.13 check, plugins and doctor report confine = false, and such a plugin still gets a clean environment`()
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
            """, to: "plugin", isProgram: true)
        try configure("open", program, "confine = false", in: folder)
        let settings = try String(contentsOfFile: folder.configuration, encoding: .utf8)
        try folder.write(settings.replacing("[hub]\n", with: "[hub]\nzone = \"Asia/Kolkata\"\n", maxReplacements: 1))
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
        // Plugins also have the household's time zone.
        #expect(variables.contains("TZ=Asia/Kolkata\n"), "\(variables)")
        #expect(variables.contains("HOME=\(folder.path)/data/plugins/open"))
        #expect(try await hub("plugins", "--all").output.contains("confined no: it may do all that the hub's user may"))
        #expect(try await hub("doctor").output.contains("plugin open may do all that the hub's user may"))
        process.signal(SIGTERM)
        #expect(await process.waitForExit() == 0)
    }

    /// A Python plugin with these rights that writes the results of its attempts to a file and waits.
    private static func listener(reaches: String, in folder: TemporaryFolder) throws -> String {
        try folder.write(
            #"""
            #!/usr/bin/python3
            import json, os, socket, sys
            MANIFEST = {"name": "listener", "summary": "S.", "version": "1", "writes": ["weight"], "reaches": REACHES}
            if sys.argv[1:] == ["--describe"]:
                print(json.dumps(MANIFEST))
                sys.exit()

            def attempt(do):
                try:
                    do()
                    return "done"
                except OSError as error:
                    return "refused"

            def listen(family, kind, protocol=0, address=None):
                link = socket.socket(family, kind, protocol)
                if address:
                    link.bind(address)
                link.listen(1)

            def converse():
                one, other = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
                one.bind(("127.0.0.1", 0))
                other.sendto(b"x", one.getsockname())
                one.recv(1)

            V4, V6, STREAM, HERE = socket.AF_INET, socket.AF_INET6, socket.SOCK_STREAM, ("127.0.0.1", 0)
            found = {
                "bound": attempt(lambda: listen(V4, STREAM, 0, HERE)),
                "not bound": attempt(lambda: listen(V4, STREAM)), "not bound, v6": attempt(lambda: listen(V6, STREAM)),
                "MPTCP": attempt(lambda: listen(V4, STREAM, 262, HERE)),
                "MPTCP, not bound": attempt(lambda: listen(V4, STREAM, 262)),
                "SCTP": attempt(lambda: listen(V4, STREAM, 132)), "SMC": attempt(lambda: listen(V4, STREAM, 256)),
                "packets": attempt(lambda: listen(V4, socket.SOCK_SEQPACKET)),
                "UDP": attempt(converse), "a socket": attempt(lambda: socket.socket(V4, STREAM)),
            }
            part = os.environ["HUB_STATE"] + "/part"
            json.dump(found, open(part, "w"))
            os.rename(part, os.environ["HUB_STATE"] + "/found")
            # As paho-mqtt does at its start, which says no more than this.
            socket.socket(V4, STREAM).bind(HERE)
            sys.stdin.read()
            """#.replacing("REACHES", with: reaches), to: "listener", isProgram: true)
    }

    @Test(arguments: [false, true])
    func `R13.11 a plugin with network access accepts connections only if it may listen, and its log says so`(
        mayListen: Bool
    ) async throws {
        let folder = try TemporaryFolder()
        let reaches = mayListen ? #"["network", "listening"]"# : #"["network"]"#
        let program = try Self.listener(reaches: reaches, in: folder)
        try configure("listener", program, in: folder)
        let process = try ChildProcess("hub", ["run", "--config", folder.configuration])
        let place = "\(folder.path)/data/plugins/listener/found"
        for _ in 0..<300 where !FileManager.default.fileExists(atPath: place) {
            try await Task.sleep(for: .milliseconds(100))
        }
        let bytes = try #require(FileManager.default.contents(atPath: place))
        let found = try JSONDecoder().decode([String: String].self, from: bytes)
        let needed = ["UDP", "a socket"]
        #expect(needed.allSatisfy { found[$0] == "done" }, "\(found)")
        let ways = found.filter { !needed.contains($0.key) }
        if mayListen {
            #expect(ways["bound"] == "done" && ways["not bound"] == "done", "\(found)")
        } else {
            #expect(ways.count == 8 && ways.allSatisfy { $0.value == "refused" }, "\(found)")
            let log = "\(folder.path)/data/logs/listener.log"
            func said() -> String { (try? String(contentsOfFile: log, encoding: .utf8)) ?? "" }
            for _ in 0..<100 where !said().contains("listening") { try await Task.sleep(for: .milliseconds(100)) }
            #expect(said().contains(#"also on this machine as paho-mqtt does, "listening" in `reaches`"#), "\(said())")
        }
        process.signal(SIGTERM)
        #expect(await process.waitForExit() == 0)
    }

    /// An interpreter that plugins cannot see.
    ///
    /// It is not below `/tmp`, because plugins have a private `/tmp`.
    private struct OtherHome: ~Copyable {
        let path = "/var/tmp/hub-\(UUID().uuidString)"
        var bin: String { "\(path)/3.9/bin" }
        var interpreter: String { "\(bin)/python9" }
        var setting: String { "readable = [\"\(path)/3.9\"]" }

        init() throws {
            try FileManager.default.createDirectory(atPath: bin, withIntermediateDirectories: true)
            // `/bin/sh` may be a link; copy its target.
            try FileManager.default.copyItem(
                atPath: URL(filePath: "/bin/sh").resolvingSymlinksInPath().path, toPath: interpreter)
        }

        deinit { try? FileManager.default.removeItem(atPath: path) }
    }

    private static let manifest = #"{"name":"other","summary":"S.","version":"1","writes":["weight"]}"#

    /// A script that begins with this line and prints its manifest.
    private func script(_ first: String, _ more: String = "exit 3", in folder: TemporaryFolder) throws -> String {
        try folder.write(
            "\(first)\ntest \"$1\" = --describe && { echo '\(Self.manifest)'; exit; }\n\(more)\n", to: "other",
            isProgram: true)
    }

    /// The output of a hub command with one more folder in `PATH`.
    private func said(_ command: String, _ folder: TemporaryFolder, path: String) async throws -> String {
        let result = try await ChildProcess(
            "/usr/bin/env",
            ["PATH=\(path):/usr/bin:/bin", Programs.path("hub"), command, "--config", folder.configuration]
        ).result()
        return result.output + result.errors
    }

    @Test(arguments: ["shebang", "env", "link", "virtual environment"])
    func `hub check and apply name an interpreter that a plugin cannot reach, and the setting that makes it readable`(
        way: String
    ) async throws {
        let folder = try TemporaryFolder()
        let home = try OtherHome()
        var (first, unseen, setting) = ("#!\(home.interpreter)", home.interpreter, home.setting)
        let environment = try TemporaryFolder()
        switch way {
        case "env": first = "#!/usr/bin/env python9"
        case "link":
            // In the plugin's own folder, which the plugin can read.
            symlink(home.interpreter, folder.path + "/python9")
            first = "#!\(folder.path)/python9"
        case "virtual environment":
            // The plugin must be able to read both its modules and the interpreter that its link points to.
            let bin = environment.path + "/venv/bin"
            try FileManager.default.createDirectory(atPath: bin, withIntermediateDirectories: true)
            try environment.write("home = \(home.bin)\n", to: "venv/pyvenv.cfg")
            symlink(home.interpreter, bin + "/python9")
            (first, unseen) = ("#!\(bin)/python9", bin + "/python9")
            setting = "readable = [\"\(environment.path)/venv\", \"\(home.path)/3.9\"]"
        default: break
        }
        let program = try script(first, in: folder)
        try folder.writeSettings()
        let process = try ChildProcess(
            "/usr/bin/env",
            ["PATH=\(home.bin):/usr/bin:/bin", Programs.path("hub"), "run", "--config", folder.configuration])
        try await process.line { $0.contains("ready") }
        try configure("other", program, in: folder)
        for command in ["check", "apply"] {
            let said = try await said(command, folder, path: home.bin)
            #expect(said.contains("its interpreter \(unseen) is on this machine but not in its reach"), "\(said)")
            #expect(said.contains("write \(setting) into the plugin's section"), "\(said)")
            #expect(said.contains("its own /tmp") == (way == "virtual environment"), "\(said)")
        }
        try configure("other", program, setting, in: folder)
        let answer = try await said("check", folder, path: home.bin)
        #expect(answer.contains(": ok, "), "\(answer)")
        process.signal(SIGTERM)
        #expect(await process.waitForExit() == 0)
    }

    @Test(arguments: ["lib", "share"])
    func `R13.11 a program in PREFIX/bin reads its libraries in PREFIX/lib, and no other folder beside bin`(
        place: String
    ) async throws {
        let folder = try TemporaryFolder()
        for name in ["bin", place] {
            try FileManager.default.createDirectory(
                atPath: "\(folder.path)/program/\(name)", withIntermediateDirectories: true)
        }
        try folder.write("echo '\(Self.manifest)'\n", to: "program/\(place)/answer.sh")
        let program = try folder.write(
            "#!/bin/sh\n. \(folder.path)/program/\(place)/answer.sh\n", to: "program/bin/other", isProgram: true)
        try configure("other", program, in: folder)
        let answer = try await said("check", folder, path: "/usr/bin")
        #expect(answer.contains(": ok, ") == (place == "lib"), "\(answer)")
    }

    @Test func `hub check says why an interpreter is not found: no such file, no such name, Windows line ends`()
        async throws
    {
        let folder = try TemporaryFolder()
        for (first, reason) in [
            ("#!/usr/bin/python-0", "its interpreter /usr/bin/python-0 is not on this machine"),
            ("#!/usr/bin/env python-0", "its interpreter python-0 is in no folder of the hub's PATH"),
            ("#!/bin/sh\r", "ends with a carriage return"),
        ] {
            try configure("other", try script(first, in: folder), in: folder)
            let answer = try await said("check", folder, path: "/usr/bin")
            #expect(answer.contains(reason), "\(answer)")
        }
    }

    @Test func `hub check names the interpreter that env skipped if the one it found lacks a module`() async throws {
        let folder = try TemporaryFolder()
        let home = try OtherHome()
        try FileManager.default.copyItem(atPath: home.interpreter, toPath: home.bin + "/python3")
        let program = try folder.write("#!/usr/bin/env python3\nimport no_such_module\n", to: "other", isProgram: true)
        try configure("other", program, in: folder)
        let answer = try await said("check", folder, path: home.bin)
        #expect(
            answer.contains("it runs with /usr/bin/python3; its interpreter \(home.bin)/python3 is on"), "\(answer)")
        #expect(answer.contains(home.setting), "\(answer)")
    }

    @Test func `the plugin's log names a file and an interpreter beyond its reach, and hub status the interpreter`()
        async throws
    {
        let folder = try TemporaryFolder()
        let home = try OtherHome()
        let link = folder.path + "/python9"
        symlink("/bin/sh", link)
        let notes = "\(home.path)/notes"
        try #require(FileManager.default.createFile(atPath: notes, contents: Data()))
        let program = try script(
            "#!\(link)", "cat \(folder.path)/none \(notes)\nread token\necho waits >&2\nread end", in: folder)
        try configure("other", program, in: folder)
        let process = try ChildProcess("hub", ["run", "--config", folder.configuration])
        let life = await process.errorLines(count: 1) { $0.contains("hub-confine: process ") }
        try await process.line { $0.contains("\(notes) is on this machine but not in its reach: if it needs that, ") }
        let place = try #require(life.first?.firstRange(of: "hub-confine: process "))
        let pid = try #require(life.first.flatMap { pid_t($0[place.upperBound...].prefix { $0.isNumber }) })
        try await process.line { $0.contains("waits") }
        // After its restart it has an interpreter that it cannot see.
        try FileManager.default.removeItem(atPath: link)
        symlink(home.interpreter, link)
        kill(pid, SIGKILL)
        try await process.line {
            $0.contains("could not be started: ")
                && $0.contains("its interpreter \(home.interpreter) is on this machine")
                && $0.contains("into [plugin.other]")
        }
        let status = try await said("status", folder, path: "/usr/bin")
        #expect(status.contains("its interpreter \(home.interpreter) is on this machine"), "\(status)")
        process.signal(SIGTERM)
        #expect(await process.waitForExit() == 0)
        #expect(!process.errorLines.contains { $0.contains("/none is on this machine") })
    }

    /// Writes a `hub.conf` with one plugin into the folder.
    private func configure(_ plugin: String, _ program: String, _ more: String = "", in folder: TemporaryFolder) throws
    {
        try folder.writeSettings("[person.me]\n[plugin.\(plugin)]\nexecutable = \"\(program)\"\n\(more)\n")
    }
}
