import Foundation
import HubProcess
import HubSettings
import HubWire
import Testing

@testable import HubCore

/// Restarts of processes, by command or because `hub.conf` or their program changed.
@Suite(.timeLimit(.minutes(3))) struct RestartTests {
    /// A plugin that saves its token for the test, which opens its session.
    ///
    /// It ends at the test's signal, not with stdin.
    private static let program = #"""
        if [ "$1" = --describe ]; then
          echo '{"name":"probe","summary":"s","version":"1","writes":["weight"]}'
          exit 0
        fi
        read token
        rm -f "$HUB_STATE/go"
        printf %s "$token" > "$HUB_STATE/token.part"; mv "$HUB_STATE/token.part" "$HUB_STATE/token"
        while [ ! -e "$HUB_STATE/go" ]; do sleep 0.02; done
        """#

    private struct Ground {
        let folder = try! Folder()
        let script: String

        init() throws { script = try folder.script("hub-probe", RestartTests.program) }

        func write(_ lines: String) throws {
            try folder.configure("[person.me]\n\(lines)\n")
        }

        func plugin(_ name: String, _ lines: String = "") -> String {
            "[plugin.\(name)]\nexecutable = \"\(script)\"\n\(lines)\n"
        }

        func start() async throws -> RunningHub {
            try await folder.startHub(
                LifecyclePolicy(
                    firstPause: 20, longestPause: 40, crashLimit: 2, startLimit: 600_000, stopGrace: .seconds(120),
                    killGrace: .milliseconds(300)))
        }

        /// Lets the running process end.
        func letGo(_ name: String) throws {
            try FileManager.default.removeItem(atPath: "\(folder.data)/plugins/\(name)/token")
            try Data().write(to: URL(filePath: "\(folder.data)/plugins/\(name)/go"))
        }
    }

    private func plugin(_ owner: Peer, _ name: String) async throws -> JSON {
        try #require(try await owner.status()["plugins"].array.first { $0["name"].string == name })
    }

    /// Answers STOP with BYE, and returns the verbs that the hub sends.
    private func farewell(_ peer: Peer) async throws -> [String] {
        let stop = try await peer.next()
        await peer.say("BYE")
        return [stop.verb, try await peer.next().verb]
    }

    @Test(arguments: ["edited", "replaced", "relinked"])
    func `apply restarts an instance whose program on disk has changed, and a dry run says why`(
        _ how: String
    ) async throws {
        let ground = try Ground()
        let link = ground.folder.path + "/hub-link"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: ground.script)
        try ground.write("[plugin.a]\nexecutable = \"\(link)\"")
        let hub = try await ground.start()
        let (owner, peer) = (try await hub.client(), try await hub.plugin("a", plugin: "probe"))
        #expect(try await owner.command("apply").body["result"]["instances"][0]["action"].string == "leave")
        let pid = try #require(try await plugin(owner, "a")["pid"].int)
        switch how {
        case "edited":
            let file = try FileHandle(forWritingTo: URL(filePath: ground.script))
            try file.seekToEnd()
            try file.write(contentsOf: Data("# edited\n".utf8))
            try file.close()
        case "replaced":
            // A file with the same bytes and size is still a different file.
            let other = try ground.folder.script("other", Self.program)
            try FileManager.default.removeItem(atPath: ground.script)
            try FileManager.default.moveItem(atPath: other, toPath: ground.script)
        default:
            let other = try ground.folder.script("other", Self.program)
            try FileManager.default.removeItem(atPath: link)
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: other)
        }
        let look = try await owner.command("apply", dryRun: true).body["result"]["instances"][0]
        #expect(look["action"].string == "restart" && look["instance"].string == "a")
        #expect(look["why"].string == "its program \(link) is another file now than when it was started")
        #expect(try await plugin(owner, "a")["pid"].int == pid)

        #expect(try await owner.command("apply").body["result"]["instances"][0]["action"].string == "restart")
        #expect(try await farewell(peer) == ["STOP", "BYE"])
        try ground.letGo("a")
        let again = try await hub.plugin("a", plugin: "probe")
        #expect(try await plugin(owner, "a")["pid"].int != pid)
        #expect(try await owner.command("apply").body["result"]["instances"][0]["action"].string == "leave")
        try Data().write(to: URL(filePath: "\(ground.folder.data)/plugins/a/go"))
        await again.close()
        try await hub.stop()
    }

    @Test(arguments: ["apply", "restart"])
    func
        `R13.11 a program that has taken the place of another while that ran is the one that runs next, with the same rights`(
            _ command: String
        ) async throws
    {
        let ground = try Ground()
        let granted = ground.folder.path + "/granted"
        try "granted\n".write(toFile: granted, atomically: true, encoding: .utf8)
        func program(_ version: Int) -> String {
            #"""
            if [ "$1" = --describe ]; then
              echo '{"name":"probe","summary":"s","version":"\#(version)","writes":["weight"],"settings":[
                {"name":"file","type":"path","help":"h","required":true}]}'
              exit 0
            fi
            {
              echo "version \#(version)"; cat "\#(granted)"; grep -E '^(NoNewPrivs|Seccomp|CapEff):' /proc/self/status
              cat "\#(ground.folder.data)/hub.sqlite" >/dev/null && echo "reads the store"
              echo other >"\#(granted)" && echo "writes a file that it may only read"
            } >"$HUB_STATE/reach.part" 2>/dev/null
            mv "$HUB_STATE/reach.part" "$HUB_STATE/reach"

            """# + Self.program
        }
        func reach() throws -> [Substring] {
            try String(contentsOfFile: ground.folder.data + "/plugins/a/reach", encoding: .utf8).split(separator: "\n")
        }
        let first = try ground.folder.script("first", program(1))
        try FileManager.default.removeItem(atPath: ground.script)
        try FileManager.default.moveItem(atPath: first, toPath: ground.script)
        try ground.write(ground.plugin("a", "file = \"\(granted)\""))
        let hub = try await ground.start()
        let (owner, peer) = (try await hub.client(), try await hub.plugin("a", plugin: "probe"))
        let before = try reach()
        #expect(before.first == "version 1" && before.contains("granted") && before.contains("NoNewPrivs:\t1"))
        #expect(
            !before.contains("reads the store") && !before.contains("writes a file that it may only read"), "\(before)")

        // Replaced in one step, as a package manager does. The running process keeps the former file.
        let second = try ground.folder.script("second", program(2))
        #expect(rename(second, ground.script) == 0)
        _ = try await owner.command(command, command == "apply" ? "{}" : #"{"instance":"a"}"#)
        #expect(try await farewell(peer) == ["STOP", "BYE"])
        try ground.letGo("a")
        let again = try await hub.plugin("a", plugin: "probe")
        let after = try reach()
        #expect(after.first == "version 2" && after.dropFirst() == before.dropFirst(), "\(after)")
        try Data().write(to: URL(filePath: "\(ground.folder.data)/plugins/a/go"))
        await again.close()
        try await hub.stop()
    }

    @Test(arguments: ["enabled = false", "gone"])
    func `R13.4 a plugin that hub.conf no longer enables gets only STOP before its BYE`(
        _ how: String
    ) async throws {
        let ground = try Ground()
        try ground.write(ground.plugin("a"))
        let hub = try await ground.start()
        let (owner, peer) = (try await hub.client(), try await hub.plugin("a", plugin: "probe"))
        try ground.write(how == "gone" ? "" : ground.plugin("a", how))
        #expect(try await owner.command("apply").body["result"]["instances"][0]["action"].string == "stop")
        let stop = try await peer.next()
        #expect(stop.verb == "STOP" && stop.body["deadline"].int == 120_000, "\(stop)")
        #expect(stop.body["reason"].string == "hub.conf does not enable it any more")
        // It still has time to finish its work.
        #expect(try await peer.ask("PING").verb == "PONG")
        await peer.say("BYE")
        #expect(try await peer.next().verb == "BYE")
        try ground.letGo("a")
        try await eventually("its process has ended") {
            let plugins = try await owner.status()["plugins"].array
            return how == "gone" ? plugins.isEmpty : plugins[0]["state"].string == "disabled"
        }
        try await hub.stop()
    }

    @Test
    func `R13.2 restart sends STOP, starts the process again once it has ended, and affects no others`()
        async throws
    {
        let ground = try Ground()
        try ground.write(ground.plugin("a") + ground.plugin("b", "persons = [\"me\"]"))
        let hub = try await ground.start()
        let (owner, peer, other) = (
            try await hub.client(), try await hub.plugin("a", plugin: "probe"),
            try await hub.plugin("b", plugin: "probe")
        )
        try await eventually("both plugins run") {
            try await owner.status()["plugins"].array.allSatisfy { $0["state"].string == "running" }
        }
        let (pid, otherPID) = (try await plugin(owner, "a")["pid"].int, try await plugin(owner, "b")["pid"].int)
        let look = try await owner.command("restart", #"{"instance":"a"}"#, dryRun: true).body["result"]
        #expect(look.fits(#"{"instance":"a","state":"running","ended":true}"#))
        let done = try await owner.command("restart", #"{"instance":"a"}"#).body["result"]
        #expect(done.fits(#"{"instance":"a","state":"running","ended":true}"#))
        #expect(try await farewell(peer) == ["STOP", "BYE"])
        // Until it has ended there is no second process.
        #expect(try await plugin(owner, "a").fits("{\"state\":\"ending\",\"pid\":\(try #require(pid)),\"restarts\":0}"))
        try ground.letGo("a")
        let again = try await hub.plugin("a", plugin: "probe")
        #expect(try await plugin(owner, "a")["pid"].int != pid)
        #expect(try await plugin(owner, "a")["restarts"].int == 1)
        #expect(try await plugin(owner, "b")["pid"].int == otherPID)
        #expect(try await other.ask("PING").verb == "PONG")
        for name in ["a", "b"] {
            try Data().write(to: URL(filePath: "\(ground.folder.data)/plugins/\(name)/go"))
        }
        await again.close()
        try await hub.stop()
    }

    @Test func `restart starts a waiting instance at once, and reports an error for others`() async throws {
        let ground = try Ground()
        let fails = try ground.folder.script("fails", "echo run >> \"$HUB_STATE/runs\"; exit 3")
        var setting = Setting()
        setting.lifePolicy = LifecyclePolicy(firstPause: 20, longestPause: 40, crashLimit: 2)
        setting.add(PluginInstance(name: "fails"), script: fails)
        setting.plugins.append(PluginInstance(name: "off", enabled: false))
        var away = PluginInstance(name: "away")
        away.isRemote = true
        setting.plugins.append(away)
        try await withHub(setting, in: ground.folder) { hub, peer in
            for runs in [2, 4] {
                try await eventually("quarantine after \(runs)") {
                    let state = try await plugin(peer, "fails")["state"].string
                    let lines = try await hub.told("fails", "runs").split(separator: "\n").count
                    return state == "quarantined" && lines == runs
                }
                let done = try await peer.command("restart", #"{"instance":"fails"}"#, dryRun: runs == 4).body["result"]
                #expect(done.fits(#"{"instance":"fails","state":"quarantined","ended":false}"#))
            }
            for (name, words) in [
                ("off", "has enabled = false in hub.conf; hub configure off --enable"), ("away", "on another machine"),
                ("fials", "did you mean fails?"),
            ] {
                let refused = try await peer.command("restart", "{\"instance\":\"\(name)\"}").body
                #expect(refused["outcome"].string == "failed" && refused["code"].string == "plugin")
                #expect(refused["reason"].string?.contains(words) == true, "\(refused)")
            }
        }
    }
}
