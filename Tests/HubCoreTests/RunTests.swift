import Foundation
import HubProcess
import HubSettings
import HubWire
import Samples
import Testing

@testable import HubCore

/// Real processes that the hub starts when something waits for them, and ends when nothing does.
@Suite(.timeLimit(.minutes(3))) struct RunTests {
    /// A plugin that saves its token for the test, which opens its session.
    ///
    /// It ends after its stdin has ended and the test has signalled: the hub ends the session of a process that has ended.
    private static let program = #"""
        read token
        echo "$HUB_RUN" >> "$HUB_STATE/runs"
        printf %s "$token" > "$HUB_STATE/part"; mv "$HUB_STATE/part" "$HUB_STATE/token"
        cat > /dev/null
        for i in $(seq 500); do [ -e "$HUB_STATE/go" ] && break; sleep 0.02; done
        rm -f "$HUB_STATE/token" "$HUB_STATE/go"
        """#

    private static func setting(_ run: PluginInstance.Run, _ program: String = program) throws -> Setting {
        let folder = try Folder()
        var setting = Setting()
        setting.folder = folder
        var instance = PluginInstance(name: "target")
        (instance.run, instance.grants.read) = (run, ["weight"])
        setting.add(instance, script: try folder.script("target", program))
        setting.lifePolicy = LifecyclePolicy(
            crashLimit: 1, startLimit: 600_000, stopGrace: .seconds(120), runFloor: 50, runLook: 10, runLinger: 50)
        return setting
    }

    private func plugin(_ owner: Peer) async throws -> JSON {
        try #require(try await owner.status()["plugins"].array.first { $0["name"].string == "target" })
    }

    private func rests(_ owner: Peer) async throws -> JSON {
        try await eventually("the plugin is resting") { try await plugin(owner)["state"].string == "resting" }
        return try await plugin(owner)
    }

    /// Expects the STOP that is sent when nothing waits, and answers it.
    private func farewell(_ peer: Peer, _ hub: RunningHub) async throws {
        let stop = try await peer.next("STOP")
        #expect(stop.verb == "STOP" && stop.body["reason"].string == "nothing waits for it any more", "\(stop)")
        await peer.say("BYE")
        #expect(try await peer.next().verb == "BYE")
        await peer.close()
        try letEnd(hub)
    }

    /// Runs a hub whose plugin has run once, so that the hub knows its subscription.
    private func withRestingPlugin(
        _ setting: Setting, _ body: (RunningHub, _ owner: Peer, _ state: JSON) async throws -> Void
    ) async throws {
        try await withHub(setting) { hub, owner in
            let first = try await hub.plugin("target")
            try await first.want()
            try await farewell(first, hub)
            try await body(hub, owner, try await rests(owner))
        }
    }

    private func letEnd(_ hub: RunningHub) throws {
        try Data().write(to: URL(filePath: "\(hub.folder.data)/plugins/target/go"))
    }

    @Test
    func `R13.60 R13.61 R13.62 a sink is started when something waits, gets it, and ends without a crash`()
        async throws
    {
        try await withRestingPlugin(try Self.setting(.immediate)) { hub, owner, after in
            #expect(after["run"].string == "immediate" && after["lastRun"].string != nil)
            #expect(after["restarts"].int == 0 && after["lastError"].string == nil && after["pid"].int == nil)

            for key in ["a", "b"] {
                _ = try await owner.give([weight(key)])
                let peer = try await hub.plugin("target")
                try await peer.want()
                #expect(try await peer.accept().keys == [key])
                try await farewell(peer, hub)
                let state = try await rests(owner)
                #expect(state["restarts"].int == 0 && state["lastError"].string == nil)
            }
            try await hub.sink("target/all") { $0["delivered"].int == 2 && $0["well"].truth == true }
            #expect(try await hub.told("target", "runs") == "immediate\nimmediate\nimmediate\n")
        }
    }

    @Test func `R13.60 an hourly program is started an hour after its last start, for everything that came meanwhile`()
        async throws
    {
        var setting = try Self.setting(.hourly)
        // An hour of the simulated clock takes a second.
        setting.clock = try #require(ClockSetting("2026-01-01T00:00:00Z@3600"))
        try await withRestingPlugin(setting) { hub, owner, state in
            let before = try #require(state["lastRun"].string.flatMap { try? Timestamp(parsing: $0) })
            _ = try await owner.give([weight("a"), weight("b")])
            let peer = try await hub.plugin("target")
            try await peer.want()
            let now = try #require(
                try await plugin(owner)["lastRun"].string.flatMap { try? Timestamp(parsing: $0) })
            #expect(now.microseconds - before.microseconds >= 3_600_000_000)
            #expect(try await peer.accept().keys == ["a", "b"])
            try await farewell(peer, hub)
            _ = try await rests(owner)
        }
    }

    @Test func `R13.63 a program without a sink is started for records it may read, and is done at exit code 0`()
        async throws
    {
        let program = Self.program.replacing("cat > /dev/null\n", with: "")
        try await withHub(try Self.setting(.immediate, program)) { hub, owner in
            for run in 1...2 {
                let peer = try await hub.plugin("target")
                _ = try await peer.ask("BYE")
                await peer.close()
                try letEnd(hub)
                let state = try await rests(owner)
                #expect(state["restarts"].int == 0 && state["lastError"].string == nil)
                if run == 1 { _ = try await owner.give([weight("a")]) }
            }
        }
    }

    @Test func `R13.64 a restart of the hub does not make it run sooner`() async throws {
        let setting = try Self.setting(.weekly)
        var last: String?
        try await withRestingPlugin(setting) { last = $2["lastRun"].string }
        try await withHub(setting) { hub, owner in
            _ = try await owner.give([weight("a")])
            let state = try await rests(owner)
            #expect(state["lastRun"].string == last && last != nil)
            let sink = try await hub.sink("target/all") { $0["pending"].int == 1 }
            #expect(sink["well"].truth == true && sink["note"].string == "1 record waits for the next run of target")
            // A person may start it at any time.
            _ = try await owner.command("restart", #"{"instance":"target"}"#)
            let peer = try await hub.plugin("target")
            try await peer.want()
            try await peer.accept()
            try await farewell(peer, hub)
            _ = try await rests(owner)
        }
    }

    private static func commanded(
        _ program: String = program, _ run: PluginInstance.Run = .weekly
    ) throws -> Setting {
        var setting = try setting(run, program)
        setting.manifests["target"] = Manifest(
            name: "target", summary: "A target.", version: "1", reads: ["weight"],
            commands: [CommandDeclaration("refresh", help: "Asks again.")])
        return setting
    }

    @Test func `R13.70 a command to a resting program starts it, is delivered, and the program rests again`()
        async throws
    {
        try await withRestingPlugin(try Self.commanded()) { hub, owner, _ in

            for id in 1...2 { await owner.say("COMMAND", #"{"id":\#(id),"instance":"target","command":"refresh"}"#) }
            let peer = try await hub.plugin("target")
            for id in 1...2 { try await carryOut(id, on: peer, for: owner) }
            try await peer.want()
            try await farewell(peer, hub)
            #expect(try await rests(owner)["restarts"].int == 0)
            #expect(try await hub.told("target", "runs") == "weekly\nweekly\n")
        }
    }

    /// Carries out a command that has waited for another start.
    private func carryOut(_ hub: RunningHub, for owner: Peer) async throws -> Peer {
        try await eventually("it is started again") { try await hub.told("target", "runs") == "weekly\nweekly\n" }
        let peer = try await hub.plugin("target")
        try await carryOut(on: peer, for: owner)
        return peer
    }

    private func carryOut(_ id: Int = 1, on peer: Peer, for owner: Peer) async throws {
        let command = try await peer.next("a command")
        #expect(command.verb == "COMMAND" && command.body["command"].string == "refresh", "\(command)")
        await peer.say("OUTCOME", #"{"id":\#(command.body["id"].int ?? 0),"outcome":"done"}"#)
        let outcome = try await owner.next("the outcome").body
        #expect(outcome.fits(#"{"id":\#(id),"outcome":"done"}"#), "\(outcome)")
    }

    private static let command = #"{"id":1,"instance":"target","command":"refresh"}"#

    @Test func `R13.70 a command between the BYE of a program and its end starts it again`()
        async throws
    {
        let program = Self.program.replacing("cat > /dev/null\n", with: "")
        try await withHub(try Self.commanded(program)) { hub, owner in
            func end(_ peer: Peer) async throws {
                _ = try await peer.ask("BYE")
                await peer.close()
            }
            try await end(try await hub.plugin("target"))
            await owner.say("COMMAND", Self.command)
            // Messages are answered in order, so the command waits by now.
            _ = try await owner.status()
            try letEnd(hub)
            try await end(try await carryOut(hub, for: owner))
            try letEnd(hub)
            #expect(try await rests(owner)["restarts"].int == 0)
        }
    }

    @Test func `R13.61 R13.70 a command between STOP and BYE is delivered at the next start`()
        async throws
    {
        try await withHub(try Self.commanded()) { hub, owner in
            let first = try await hub.plugin("target")
            try await first.want()
            #expect(try await first.next("STOP").verb == "STOP")
            await owner.say("COMMAND", Self.command)
            _ = try await owner.status()
            await first.say("BYE")
            let answer = try await first.next()
            #expect(answer.verb == "BYE", "after BYE the hub sends only BYE: \(answer)")
            await first.close()
            try letEnd(hub)
            let peer = try await carryOut(hub, for: owner)
            try await peer.want()
            try await farewell(peer, hub)
            #expect(try await rests(owner)["lastError"].string == nil)
        }
    }

    @Test func `R8.12 R13.70 a command that waited for a start fails with the deadline that it was given`()
        async throws
    {
        try await withRestingPlugin(try Self.commanded()) { hub, owner, _ in
            await owner.say("COMMAND", #"{"id":1,"instance":"target","command":"refresh","deadline":1500}"#)
            let peer = try await hub.plugin("target")
            #expect(try await peer.next("a command").verb == "COMMAND")
            let late = try await owner.next("the outcome").body
            #expect(
                late["code"].string == "deadline" && late["reason"].string?.contains("within 1500 ms") == true,
                "\(late)")
            try letEnd(hub)
        }
    }

    @Test func `R8.18 a command to a starting or restarting program is delivered when it has greeted the hub`()
        async throws
    {
        try await withHub(try Self.commanded(Self.program, .always)) { hub, owner in
            try await eventually("the plugin is starting") { try await plugin(owner)["state"].string == "starting" }
            await owner.say("COMMAND", Self.command)
            // Messages are answered in order, so the command waits by now.
            _ = try await owner.status()
            let first = try await hub.plugin("target")
            try await carryOut(on: first, for: owner)

            await owner.say("COMMAND", #"{"id":9,"instance":"hub","command":"restart","args":{"instance":"target"}}"#)
            #expect(try await first.next("STOP").verb == "STOP")
            await owner.say("COMMAND", Self.command)
            await first.say("BYE")
            #expect(try await first.next().verb == "BYE", "after BYE the hub sends only BYE")
            await first.close()
            try letEnd(hub)
            var said = try await owner.next("the outcome of restart").body
            #expect(said.fits(#"{"id":9,"outcome":"done"}"#), "\(said)")
            let second = try await hub.plugin("target")
            try await carryOut(on: second, for: owner)

            // Only the session has ended.
            _ = try await second.ask("BYE")
            await second.close()
            await owner.say("COMMAND", Self.command)
            said = try await owner.next("the outcome").body
            #expect(said.fits(#"{"id":1,"outcome":"failed","code":"absent"}"#), "\(said)")
            try letEnd(hub)
        }
    }

    @Test func `R13.70 a command to a program that does not greet fails with the reason, and nothing was done`()
        async throws
    {
        // At its second start it fails before it greets.
        let program =
            "[ -e \"$HUB_STATE/runs\" ] && while [ ! -e \"$HUB_STATE/fail\" ]; do sleep 0.02; done && exit 3\n"
        try await withRestingPlugin(try Self.commanded(program + Self.program)) {
            hub, owner, _ in

            await owner.say("COMMAND", #"{"id":1,"instance":"target","command":"refresh","deadline":30}"#)
            let late = try await owner.next("the outcome").body
            #expect(late.fits(#"{"id":1,"outcome":"failed","code":"deadline"}"#), "\(late)")
            await owner.say("COMMAND", #"{"id":2,"instance":"target","command":"refresh"}"#)
            await owner.say("COMMAND", #"{"id":2,"cancel":true}"#)
            #expect(try await owner.next("the outcome").body.fits(#"{"id":2,"outcome":"cancelled"}"#))
            await owner.say("COMMAND", #"{"id":3,"instance":"target","command":"refresh"}"#)
            // Messages are answered in order, so the previous command waits by now.
            _ = try await owner.status()
            try Data().write(to: URL(filePath: "\(hub.folder.data)/plugins/target/fail"))
            let absent = try await owner.next("the outcome").body
            #expect(absent.fits(#"{"id":3,"outcome":"failed","code":"absent"}"#), "\(absent)")
            await owner.say("COMMAND", #"{"id":4,"instance":"target","command":"refresh"}"#)
            let again = try await owner.next("the outcome").body
            #expect(
                again.fits(#"{"id":4,"outcome":"failed","code":"absent"}"#),
                "a command does not restart a crashed plugin")
        }
    }

    @Test(arguments: [PluginInstance.Run.immediate, .hourly])
    func `R13.60 R13.61 a PluginKit sink gets what waits, ends, and is started again for the next record`(
        _ run: PluginInstance.Run
    ) async throws {
        let folder = try Folder()
        let files = folder.data + "/plugins/target/files"
        var setting = Setting()
        var sink = PluginInstance(name: "target", kind: "json-lines")
        sink.run = run
        sink.settings = [
            "path": .string(files), "format": .string("json-lines"), "rotate": .string("never"),
            "max_size": .string("64MiB"), "columns": .list([.string("key")]), "start": .string("beginning"),
        ]
        setting.add(sink, script: Programs.path("hub-json-lines"))
        setting.manifests["target"] = Manifest(name: "json-lines", summary: "Files.", version: "1", reads: ["*"])
        setting.lifePolicy = LifecyclePolicy(runFloor: 50, runLook: 10, runLinger: 1_000)
        // An hour of the simulated clock takes a second.
        if run == .hourly { setting.clock = try #require(ClockSetting("2026-01-01T00:00:00Z@3600")) }
        func lines() -> [String] {
            let names = (try? FileManager.default.contentsOfDirectory(atPath: files)) ?? []
            return names.filter { $0.hasSuffix(".jsonl") }.compactMap {
                try? String(contentsOfFile: "\(files)/\($0)", encoding: .utf8)
            }.flatMap { $0.split(separator: "\n").map(String.init) }
        }
        try await withHub(setting, in: folder) { hub, owner in
            try await eventually("it has run") { try await plugin(owner)["lastRun"].string != nil }
            var runs: Set<String> = [try #require(try await rests(owner)["lastRun"].string)]
            let batches = [["a", "b"], ["c"]]
            for (place, keys) in batches.enumerated() {
                _ = try await owner.give(keys.map { weight($0) })
                let count = batches.prefix(place + 1).joined().count
                try await eventually("the sink has written the waiting records") { lines().count == count }
                let state = try await rests(owner)
                #expect(state["pid"].int == nil && state["restarts"].int == 0 && state["lastError"].string == nil)
                runs.insert(try #require(state["lastRun"].string))
            }
            #expect(runs.count == 3, "the sink ran once for each batch that waited")
            for key in ["a", "b", "c"] { #expect(lines().count { $0.contains(#""key":"\#(key)""#) } == 1) }
            try await hub.sink("target/files") { $0["delivered"].int == 3 && $0["pending"].int == 0 }
        }
    }
}
