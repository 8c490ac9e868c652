import HubWire
import PluginKit
import PluginTesting
import Samples
import Testing

@Suite(.timeLimit(.minutes(1))) struct `Types that a plugin learns of while it runs` {
    private static let mood = TypeDeclaration(id: "x.acme.scale.mood", kind: .other)

    private static func record(_ hub: PluginContext, _ number: Int) throws -> Sample {
        try Sample(
            source: hub.source(), key: #require(RecordKey("\(number)")), type: TypeID("x.acme.scale.mood"),
            value: .other("fine"), start: Timestamp(microseconds: 1_700_000_000_000_000))
    }

    @Test func `R4.27 types are declared once, in a new HELLO, and in the first HELLO of the next run`() async throws {
        let scene = try await Scene()
        let source = ScriptedSource { hub in
            try await hub.declare([Self.mood])
            try await hub.declare([Self.mood])
            _ = try await hub.store([try Self.record(hub, 1)])
            await hub.untilStopped()
        }
        // Waits for the settings of WELCOME: types declared before a session are in the first HELLO.
        let first = PluginRun(source, at: scene.place, settings: nil)
        await scene.hub.records(1)
        first.stop()
        #expect(await first.end() == .done)
        #expect(await scene.hub.hellos.map { $0.declares.map(\.id) } == [[], ["x.acme.scale.mood"]])
        let second = PluginRun(source, at: scene.place)
        await scene.hub.hellos(3)
        await scene.hub.batches(2)
        #expect(await scene.hub.hellos.count == 3)
        #expect(await scene.hub.hellos.last?.declares == [Self.mood])
        try await scene.end(second)
    }

    @Test func `R4.27 a declaration waits for a command in progress`() async throws {
        let scene = try await Scene()
        let run = PluginRun(Asked(), at: scene.place)
        await scene.hub.hellos(1)
        #expect(await scene.hub.command("slow") == .done(result: nil))
        await scene.hub.hellos(2)
        run.stop()
        #expect(await run.end() == .done)
    }
}

/// A source that declares a type during a command.
private struct Asked: SourcePlugin {
    static let manifest = Manifest(name: "scripted", summary: "Learns.", version: "1.0", writes: ["weight"])
    static let commands: [Command<Self>] = [
        Command("slow", help: "Takes its time.") { plugin, _ in
            await plugin.isAsked.open()
            // Long enough for a HELLO that does not wait.
            try await Task.sleep(for: .milliseconds(100))
            return nil
        }
    ]

    let isAsked = Gate()

    func run(_ hub: PluginContext) async throws {
        await isAsked.wait()
        try await hub.declare([TypeDeclaration(id: "x.acme.scale.mood", kind: .other)])
        await hub.untilStopped()
    }
}
