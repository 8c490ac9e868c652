import Foundation
import HubProcess
import Testing

/// Plugins, listeners and strangers on a machine that reaches the hub only by the network.
@Suite(.serialized, .timeLimit(.minutes(3)), .enabled(if: Need.otherMachine.isMet, "\(Need.otherMachine.reason)"))
struct OtherMachineTests {
    private struct Place {
        let machine: OtherMachine
        let host: HubHost
        let hub: ChildProcess
        let door, feed: Int

        init() async throws {
            machine = try OtherMachine()
            (door, feed) = (Int.random(in: 20_000..<30_000), Int.random(in: 30_000..<32_000))
            host = try HubHost(
                hub: "tcp = \"tcp://\(machine.here):\(door)\"",
                plugins: """
                    [plugin.bedroom]
                    remote = true
                    kind = "example-source"
                    grants = { write = ["weight"] }
                    [plugin.laptop]
                    remote = true
                    grants = { read = ["weight"] }
                    feed_port = \(feed)
                    """)
            hub = try await host.start()
        }

        func key(_ instance: String) async throws -> String {
            let made = try await host.command("keys", "new", instance)
            #expect(made.status == 0, "\(made.errors)")
            let path = try host.folder.write(made.lines.joined(separator: "\n"), to: "\(instance).key")
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
            return path
        }

        /// Starts a source made with PluginKit on the other machine; it gives `count` records.
        func give(_ count: Int, seed: Int, key: String, rate: Int = 0) throws -> ChildProcess {
            let settings = try host.folder.write(
                "count = \(count)\nseed = \(seed)\nrate = \(rate)\ngiven = \"\(host.folder.path)/given-\(seed)\"\n",
                to: "source-\(seed).conf")
            return try machine.start([
                Programs.path("example-source"), "--once", "--settings", settings, "--key", key, "--state",
                "\(host.folder.path)/state-\(seed)",
            ])
        }

        func stranger(_ what: String, key: String) throws -> ChildProcess {
            let program = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Programs/stranger.py")
                .path
            return try machine.start(
                [try Tool.python(with: "zmq"), program, what, machine.here, "\(door)", "\(feed)"], ["KEY": key])
        }

        func samples() async throws -> [String] { try await host.command("samples", "weight", "--json").lines }

        func end() async { #expect(await hub.stop() == 0, "\(hub.errorLines)") }
    }

    @Test
    func `a plugin gives and the README's program listens with their keys, until a key is revoked, which it reports`()
        async throws
    {
        let place = try await Place()
        let (bedroom, laptop) = (try await place.key("bedroom"), try await place.key("laptop"))
        let program = try ReadmePrograms().write("remote.py", in: place.host)
        let listener = try place.machine.start([try Tool.python(with: "zmq"), program], ["HUB_KEY": laptop])
        // A listener only receives messages published after it has subscribed, so the source gives until then.
        let source = try place.give(100_000, seed: 1, key: bedroom, rate: 100)
        let heard = await listener.lines(count: 1)
        #expect(heard.first?.hasPrefix("sample/weight/me/example-source/ ") == true, "\(listener.errorLines)")
        _ = await source.stop()
        #expect(try await place.host.command("keys", "revoke", "laptop").status == 0)
        let later = try place.give(50, seed: 2, key: bedroom)
        #expect(await later.waitForExit() == 0, "\(later.errorLines)")
        #expect(try await place.samples().count { $0.contains("-2\"") } == 50)
        #expect(!listener.lines.contains { $0.contains("-2\"") })
        #expect(await listener.waitForExit() == 1)
        #expect(listener.errorLines == ["the hub refuses the key: it was revoked; hub keys new makes another"])
        await place.end()
    }

    @Test func `R2.6 without a key a program can learn and write nothing, whatever and however often it sends`()
        async throws
    {
        let place = try await Place()
        let bedroom = try await place.key("bedroom")
        let source = try place.give(5, seed: 1, key: bedroom)
        #expect(await source.waitForExit() == 0, "\(source.errorLines)")
        for what in ["try", "replay"] {
            let stranger = try place.stranger(what, key: bedroom)
            #expect(await stranger.allLines() == ["done"], "\(what): \(stranger.errorLines)")
        }
        #expect(try await place.samples().count == 5)
        let status = try await place.host.command("status", "--json").lines.joined()
        #expect(!status.contains(#""instance":"laptop","endpoint":"remote""#))
        await place.end()
    }

    @Test func `two hundred silent connections keep no plugin away, and are ended`() async throws {
        let place = try await Place()
        let bedroom = try await place.key("bedroom")
        let idle = try place.stranger("idle", key: bedroom)
        #expect(await idle.lines(count: 1) == ["holding"], "\(idle.errorLines)")
        let source = try place.give(500, seed: 1, key: bedroom)
        #expect(await source.waitForExit() == 0, "\(source.errorLines)")
        #expect(try await place.samples().count == 500)
        #expect(await idle.allLines() == ["holding", "closed 200", "done"])
        await place.end()
    }
}
