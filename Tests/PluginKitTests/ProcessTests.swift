import Foundation
import HubWire
import PluginKit
import PluginTesting
import Samples
import Testing
import ZeroMQ

/// The example source in its own process.
struct ExampleProcess {
    let process = Process()
    let input = Pipe()
    let output = Pipe()
    let errors = Pipe()

    init(_ arguments: [String], environment: [String: String] = [:]) throws {
        let tests = URL(filePath: try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"))
        let folder = tests.deletingLastPathComponent()
        process.executableURL = folder.appending(path: "example-source")
        process.arguments = arguments
        process.environment = ["PATH": "/usr/bin:/bin", "HOME": "/nonexistent"].merging(environment) { $1 }
        (process.standardInput, process.standardOutput, process.standardError) = (input, output, errors)
        try process.run()
    }

    /// Waits for the end of the process without blocking concurrent tests.
    func end() async -> Int32 {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                process.waitUntilExit()
                continuation.resume(returning: process.terminationStatus)
            }
        }
    }

    /// The exit status, stdout and stderr.
    func result() async throws -> (status: Int32, output: String, errors: String) {
        let status = await end()
        func text(_ pipe: Pipe) throws -> String {
            String(decoding: try pipe.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        }
        return (status, try text(output), try text(errors))
    }
}

@Suite(.timeLimit(.minutes(1))) struct `A plugin's program` {
    @Test func `without arguments the program prints its usage and exits with 64`() async throws {
        let (status, output, errors) = try await ExampleProcess([]).result()
        #expect(status == 64 && output.isEmpty)
        #expect(errors.hasPrefix("hub-example-source is started by the hub; by hand it needs one of the verbs below."))
        #expect(errors.contains("--check") && errors.contains("Exit status: 0 done"))
    }

    @Test func `describe prints the manifest, which decodes to the same value`() async throws {
        let (status, output, errors) = try await ExampleProcess(["--describe"]).result()
        #expect(status == 0 && errors.isEmpty)
        let manifest = try JSONDecoder().decode(Manifest.self, from: Data(output.utf8))
        #expect(manifest.name == "example-source" && manifest.settings.count == 7)
        #expect(try manifest.json + "\n" == output)
    }

    @Test func `a manifest is this JSON`() throws {
        let manifest = Manifest(
            name: "kitchen-scale", summary: "Weights.", version: "1.0", writes: ["weight"],
            settings: [.init("address", .string(), help: "Host and port.", required: true)])
        #expect(
            try manifest.json == #"{"checksSettings":false,"commands":[],"declares":[],"#
                + #""name":"kitchen-scale","owner":[],"profiles":false,"#
                + #""protocol":[1],"reaches":[],"reads":[],"settings":[{"help":"Host and port.","name":"address","required":true,"type":"string"}],"#
                + #""summary":"Weights.","version":"1.0","writes":["weight"]}"#)
        #expect(manifest.faults.isEmpty)
    }

    @Test
    func `every problem of a settings file is reported with its line, and the plugin does not start`() async throws {
        let place = try TestPlace()
        let file = "\(place.directory)/my.conf"
        try "count = \"many\"\nraet = 5\ngiven = \"given.jsonl\"\n".write(
            toFile: file, atomically: false, encoding: .utf8)
        let (status, _, errors) = try await ExampleProcess(
            ["--run", "--door", place.door, "--settings", file, "--state", place.state]
        ).result()
        #expect(status == 78)
        #expect(errors.contains("\(file):1: count = \"many\": expected a whole number"))
        #expect(errors.contains("\(file):2: raet: ") && errors.contains("did you mean rate?"))
        #expect(!FileManager.default.fileExists(atPath: place.state))
    }

    @Test func `check requires settings or a hub, and says so`() async throws {
        let (status, _, errors) = try await ExampleProcess(["--check"]).result()
        #expect(status == 64)
        #expect(errors.contains("add --settings FILE, or --door URL or --key FILE of a hub"))
    }

    @Test func `check takes its settings from a file, or from the hub without replacing its session`() async throws {
        let scene = try await Scene { $0.settings = RawJSON(#"{"given":"/tmp/never-written"}"#) ?? .emptyObject }
        let asked = try await ExampleProcess(["--check", "--door", scene.place.door]).result()
        #expect(asked.status == 0 && asked.output.hasPrefix("The settings are complete"))
        #expect(await scene.hub.hellos.map(\.mode) == [.check])
        await scene.hub.vanish()
        let file = "\(scene.place.directory)/my.conf"
        try "given = \"given.jsonl\"\n".write(toFile: file, atomically: false, encoding: .utf8)
        let alone = try await ExampleProcess(["--check", "--settings", file]).result()
        #expect(alone.status == 0)
    }

    @Test func `after eval of hub status --env, --check and --once use the hub of that shell`() async throws {
        let scene = try await Scene { $0.settings = RawJSON(#"{"given":"/tmp/never-written"}"#) ?? .emptyObject }
        let shell = ["HUB_DOOR": scene.place.door, "HUB_FEED": scene.place.door]
        let asked = try await ExampleProcess(["--check"], environment: shell).result()
        #expect(asked.status == 0 && asked.output.hasPrefix("The settings are complete"), "\(asked)")
        #expect(await scene.hub.hellos.map(\.mode) == [.check])
        let file = "\(scene.place.directory)/my.conf"
        try "given = \"given.jsonl\"\ncount = 3\n".write(toFile: file, atomically: false, encoding: .utf8)
        let once = try await ExampleProcess(
            ["--once", "--settings", file, "--state", scene.place.state], environment: shell
        ).result()
        #expect(once.status == 0, "\(once)")
        #expect(await scene.hub.records(3).count == 3)
        await scene.hub.vanish()
        // With its own settings a check needs no hub.
        #expect(try await ExampleProcess(["--check", "--settings", file], environment: shell).result().status == 0)
        let half = try await ExampleProcess(["--check"], environment: ["HUB_INSTANCE": "kitchen"]).result()
        #expect(half.status == 64 && half.errors.contains("HUB_INSTANCE is set, but HUB_DOOR or HUB_STATE is not"))
    }

    @Test func `records confirmed before kill -9 are delivered by the next process`() async throws {
        let scene = try await Scene(starting: false)
        let directory = scene.place.directory
        // A named pipe, so that the test sees each key as soon as it is confirmed.
        try #require(mkfifo("\(directory)/given", 0o600) == 0)
        try "count = 1000000\nbatch = 7\ngiven = \"given\"\n".write(
            toFile: "\(directory)/my.conf", atomically: false, encoding: .utf8)
        try "given = \"rest.jsonl\"\ncount = 7\n".write(
            toFile: "\(directory)/rest.conf", atomically: false, encoding: .utf8)
        let arguments = ["--door", scene.place.door, "--state", scene.place.state]
        var confirmed: Set<String> = []
        for _ in 1...3 {
            let killed = try ExampleProcess(["--run", "--settings", "\(directory)/my.conf"] + arguments)
            let pipe = try #require(FileHandle(forReadingAtPath: "\(directory)/given"))
            var text = Data()
            while text.count < 4_000 { text += pipe.availableData }
            kill(killed.process.processIdentifier, SIGKILL)
            text += try pipe.readToEnd() ?? Data()
            _ = await killed.end()
            confirmed.formUnion(text.split(separator: UInt8(ascii: "\n")).map { String(decoding: $0, as: UTF8.self) })
        }
        try await scene.hub.start()
        let rest = try ExampleProcess(["--once", "--settings", "\(directory)/rest.conf"] + arguments)
        #expect(await rest.end() == 0)
        let keys = Set(await scene.keys().map { "{\"key\":\"\($0)\"}" })
        #expect(confirmed.count > 300 && confirmed.isSubset(of: keys))
        #expect(await scene.hub.violations == [])
    }

    @Test func `a launched plugin logs in with the token on stdin and ends when stdin does`() async throws {
        let place = try TestPlace()
        var behaviour = FakeHub.Behaviour()
        behaviour.settings =
            RawJSON(
                #"{"given":"\#(place.directory)/given.jsonl","count":10,"batch":5,"rate":0,"seed":1,"type":"weight","direct":false}"#
            ) ?? .emptyObject
        let hub = try FakeHub(
            door: place.door, context: place.context, behaviour: behaviour,
            logIn: .init(instance: "kitchen", token: "secret-token"))
        try await hub.start()
        let environment = [
            "HUB_DOOR": place.door, "HUB_FEED": place.door, "HUB_INSTANCE": "kitchen", "HUB_STATE": place.state,
        ]
        let launched = try ExampleProcess(["--run"], environment: environment)
        try launched.input.fileHandleForWriting.write(contentsOf: Data("secret-token\n".utf8))
        #expect(await hub.records(10).count == 10)
        #expect(await hub.hellos.first?.instance == "kitchen")
        await hub.vanish()
        let idle = try ExampleProcess(
            ["--run"], environment: environment.merging(["HUB_STATE": place.state + "2"]) { $1 })
        try idle.input.fileHandleForWriting.write(contentsOf: Data("secret-token\n".utf8))
        try idle.input.fileHandleForWriting.close()
        #expect(await idle.end() == 0)
        try launched.input.fileHandleForWriting.close()
        let (status, _, errors) = try await launched.result()
        // Stopped as requested, whether or not the last STORED came before the hub vanished: the spool keeps those records.
        #expect(status == 0, "\(errors)")
    }

    @Test func `a launched plugin with a wrong token reports the refusal`() async throws {
        let place = try TestPlace()
        let hub = try FakeHub(
            door: place.door, context: place.context, logIn: .init(instance: "kitchen", token: "right"))
        try await hub.start()
        let launched = try ExampleProcess(
            ["--run"], environment: ["HUB_DOOR": place.door, "HUB_INSTANCE": "kitchen", "HUB_STATE": place.state])
        try launched.input.fileHandleForWriting.write(contentsOf: Data("wrong\n".utf8))
        let (status, _, errors) = try await launched.result()
        #expect(status == 77)
        #expect(errors.contains("the log-in with the launch token was refused") && !errors.contains("wrong\n"))
        #expect(await hub.hellos.isEmpty)
        await hub.vanish()
    }

    @Test(arguments: ["--run", "--check"])
    func `a plugin without a log-in fails at once at the door of launched plugins`(_ verb: String) async throws {
        let place = try TestPlace()
        let hub = try FakeHub(
            door: place.door, context: place.context, logIn: .init(instance: "kitchen", token: "right"))
        try await hub.start()
        let file = "\(place.directory)/my.conf"
        try "given = \"given.jsonl\"\ncount = 1\n".write(toFile: file, atomically: false, encoding: .utf8)
        let (status, _, errors) = try await ExampleProcess(
            [verb, "--settings", file, "--door", place.door] + (verb == "--run" ? ["--state", place.state] : [])
        ).result()
        #expect(status == (verb == "--run" ? 77 : 69))
        #expect(errors.contains("asks for a log-in: name the owner's door with --door"), "\(errors)")
        #expect(await hub.hellos.isEmpty)
        await hub.vanish()
    }

    @Test func `it also fails if the hub closes the connection before it has named its log-in`() async throws {
        let (place, context) = (try TestPlace(), try Context())
        defer { context.shutdown() }
        Thread.detachNewThread { try? Self.closeEarly(at: place.door, in: context) }
        let file = "\(place.directory)/my.conf"
        try "given = \"given.jsonl\"\ncount = 1\n".write(toFile: file, atomically: false, encoding: .utf8)
        let (status, _, errors) = try await ExampleProcess(
            ["--run", "--settings", file, "--door", place.door, "--state", place.state]
        ).result()
        #expect(status == 77 && errors.contains("asks for a log-in"), "\(errors)")
    }

    /// The door of launched plugins, as timed on a busy machine.
    ///
    /// The connection ends after the first bytes of a greeting, unless these are all that a client sends before it knows the requested
    /// mechanism.
    private static func closeEarly(at door: String, in context: Context) throws {
        let socket = try Socket(.stream, in: context)
        try socket.bind(door)
        var frames = Multipart()
        while true {
            _ = try socket.wait(for: .readable, upTo: nil)
            guard case .complete = try socket.receiveMultipart(into: &frames), frames.count == 2 else { continue }
            let (connection, bytes) = (frames.bytes(of: 0), frames.bytes(of: 1))
            guard !bytes.isEmpty else { continue }
            var answer = Multipart()
            answer.append(connection)
            let greeting =
                [0xFF, 0, 0, 0, 0, 0, 0, 0, 1, 0x7F, 3, 1] + Array("PLAIN".utf8) + Array(repeating: 0, count: 47)
            answer.append(bytes.count == 11 ? greeting : [])
            _ = try socket.sendMultipart(answer)
        }
    }

    @Test func `text from a device, a service or a file cannot control the terminal`() async throws {
        let place = try TestPlace()
        let file = "\(place.directory)/my\u{1B}[31m.conf"
        let (status, _, errors) = try await ExampleProcess(["--check", "--settings", file]).result()
        #expect(status == 78 && errors.contains(#"my\u001b[31m.conf: the settings cannot be read"#), "\(errors)")
        #expect(!errors.contains("\u{1B}"))
        let (hub, state) = (try await Scene(), place.state)
        await hub.hub.change { $0.refusal = WireError(.instance, "no\u{1B}[2J\nway", closed: true) }
        let good = "\(place.directory)/my.conf"
        try "given = \"given.jsonl\"\ncount = 1\n".write(toFile: good, atomically: false, encoding: .utf8)
        let told = try await ExampleProcess(["--run", "--settings", good, "--door", hub.place.door, "--state", state])
            .result()
        #expect(told.status == 77 && told.errors.contains(#"no\u001b[2J\nway"#), "\(told.errors)")
        #expect(!told.errors.contains("\u{1B}"))
        await hub.hub.vanish()
    }

    @Test func `SIGTERM ends the plugin after the hub has its records`() async throws {
        let scene = try await Scene()
        let file = "\(scene.place.directory)/my.conf"
        try "given = \"given.jsonl\"\ncount = 1000000\nbatch = 1\nrate = 200\n".write(
            toFile: file, atomically: false, encoding: .utf8)
        let running = try ExampleProcess(
            ["--run", "--settings", file, "--door", scene.place.door, "--state", scene.place.state])
        await scene.hub.records(5)
        kill(running.process.processIdentifier, SIGTERM)
        #expect(await running.end() == 0)
        #expect(await scene.hub.byes == 1)
        await scene.hub.vanish()
        let state = try PluginState(directory: scene.place.state)
        #expect(try await state.counters().pending == 0)
        try state.close()
    }
}
