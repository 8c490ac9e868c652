import Foundation
import HubSettings
import Samples
import Testing

@testable import HubCore

/// Programs that the hub starts when something waits for them, and ends when nothing does: real processes.
@Suite(.timeLimit(.minutes(3))) struct RunTests {
    /// Its session is opened by the test, with the token it tells; it ends with its stdin.
    private static let program = #"""
        read token
        echo "$HUB_RUN" >> "$HUB_STATE/runs"
        printf %s "$token" > "$HUB_STATE/part"; mv "$HUB_STATE/part" "$HUB_STATE/token"
        cat > /dev/null
        rm -f "$HUB_STATE/token"
        """#

    private static func setting(_ run: PluginInstance.Run, in folder: Folder, _ program: String = program) throws
        -> Setting
    {
        var setting = Setting()
        var instance = PluginInstance(name: "target")
        (instance.run, instance.grants.read) = (run, ["weight"])
        setting.add(instance, script: try folder.script("target", program))
        setting.lifePolicy = LifePolicy(
            crashLimit: 1, startLimit: 600_000, stopGrace: .seconds(120), runFloor: 50, runLook: 10, runLinger: 50)
        return setting
    }

    private func greet(_ hub: RunningHub) async throws -> Peer {
        let peer = try await Peer.dealer(
            hub.hub.endpoints.pluginDoor, .init(user: "target", password: try await hub.token(of: "target")))
        try await peer.hello("target")
        return peer
    }

    private func plugin(_ owner: Peer) async throws -> JSON {
        try #require(try await owner.status()["plugins"].array.first { $0["name"].string == "target" })
    }

    private func rests(_ owner: Peer) async throws -> JSON {
        try await eventually("it rests") { try await plugin(owner)["state"].string == "resting" }
        return try await plugin(owner)
    }

    /// What it hears when nothing waits, and its good-bye.
    private func farewell(_ peer: Peer) async throws {
        let stop = try await peer.next("STOP")
        #expect(stop.verb == "STOP" && stop.body["reason"].string == "nothing waits for it any more", "\(stop)")
        await peer.say("BYE")
        #expect(try await peer.next().verb == "BYE")
        await peer.close()
    }

    @Test
    func `R13.60 R13.61 R13.62 a sink is started when something waits for it, is given that, ends, and is no crash`()
        async throws
    {
        let folder = try Folder()
        try await withHub(try Self.setting(.immediate, in: folder), in: folder) { hub in
            let owner = try await hub.client()
            // It runs once, or the hub would not know what it wants.
            let first = try await greet(hub)
            try await first.want()
            try await farewell(first)
            let after = try await rests(owner)
            #expect(after["run"].string == "immediate" && after["lastRun"].string != nil)
            #expect(after["restarts"].int == 0 && after["lastError"].string == nil && after["pid"].int == nil)

            for key in ["a", "b"] {
                _ = try await owner.give([weight(key)])
                let peer = try await greet(hub)
                try await peer.want()
                let delivery = try await peer.delivery()
                #expect(delivery.keys == [key])
                await peer.deliver(delivery)
                try await farewell(peer)
                let state = try await rests(owner)
                #expect(state["restarts"].int == 0 && state["lastError"].string == nil)
            }
            try await hub.sink("target/all") { $0["delivered"].int == 2 && $0["well"].truth == true }
            #expect(try await hub.told("target", "runs") == "immediate\nimmediate\nimmediate\n")
        }
    }

    @Test func `R13.60 what runs hourly is started an hour after its last start, for all that came meanwhile`()
        async throws
    {
        let folder = try Folder()
        var setting = try Self.setting(.hourly, in: folder)
        // An hour is a second.
        setting.clock = try #require(ClockSetting("2026-01-01T00:00:00Z@3600"))
        try await withHub(setting, in: folder) { hub in
            let owner = try await hub.client()
            let first = try await greet(hub)
            try await first.want()
            try await farewell(first)
            let before = try #require(try await rests(owner)["lastRun"].string.flatMap { try? Timestamp(parsing: $0) })
            _ = try await owner.give([weight("a"), weight("b")])
            let peer = try await greet(hub)
            try await peer.want()
            let now = try #require(
                try await plugin(owner)["lastRun"].string.flatMap { try? Timestamp(parsing: $0) })
            #expect(now.microseconds - before.microseconds >= 3_600_000_000)
            let delivery = try await peer.delivery()
            #expect(delivery.keys == ["a", "b"])
            await peer.deliver(delivery)
            try await farewell(peer)
            _ = try await rests(owner)
        }
    }

    @Test func `R13.63 what is no sink is started for what it may read, and is done when it ends with code 0`()
        async throws
    {
        let folder = try Folder()
        let program = Self.program.replacing(
            "cat > /dev/null", with: "while [ ! -e \"$HUB_STATE/go\" ]; do sleep 0.02; done; rm \"$HUB_STATE/go\"")
        try await withHub(try Self.setting(.immediate, in: folder, program), in: folder) { hub in
            let owner = try await hub.client()
            for run in 1...2 {
                let peer = try await greet(hub)
                _ = try await peer.ask("BYE")
                await peer.close()
                try Data().write(to: URL(filePath: "\(folder.data)/plugins/target/go"))
                let state = try await rests(owner)
                #expect(state["restarts"].int == 0 && state["lastError"].string == nil)
                if run == 1 { _ = try await owner.give([weight("a")]) }
            }
        }
    }

    @Test func `R13.64 another start of the hub does not have it run sooner`() async throws {
        let folder = try Folder()
        let setting = try Self.setting(.weekly, in: folder)
        var last: String?
        try await withHub(setting, in: folder) { hub in
            let owner = try await hub.client()
            let first = try await greet(hub)
            try await first.want()
            try await farewell(first)
            last = try await rests(owner)["lastRun"].string
        }
        try await withHub(setting, in: folder) { hub in
            let owner = try await hub.client()
            _ = try await owner.give([weight("a")])
            let state = try await plugin(owner)
            #expect(state["state"].string == "resting" && state["lastRun"].string == last && last != nil)
            let sink = try await hub.sink("target/all") { $0["pending"].int == 1 }
            #expect(sink["well"].truth == true && sink["note"].string == "1 record waits for the next run of target")
            // A person may have it run at any time.
            _ = try await owner.command("restart", #"{"instance":"target"}"#)
            let peer = try await greet(hub)
            try await peer.want()
            await peer.deliver(try await peer.delivery())
            try await farewell(peer)
            _ = try await rests(owner)
        }
    }
}
