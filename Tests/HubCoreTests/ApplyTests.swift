import Foundation
import HubProcess
import HubSettings
import HubWire
import Testing

@testable import HubCore

/// A hub that applies changes of its `hub.conf` while it runs.
@Suite struct ApplyTests {
    private static let policy = LifecyclePolicy(
        firstPause: 50, longestPause: 1_000, startLimit: 60_000, stopGrace: .milliseconds(500),
        killGrace: .milliseconds(300), watchPeriod: 120_000)

    /// A plugin that saves its token for the test, which opens its session, and fails if its state has a file `sick`.
    private static let program = #"""
        if [ "$1" = --describe ]; then
          echo '{"name":"probe","summary":"s","version":"1","protocol":[1],"reads":[],"writes":["weight"],"declares":[],"settings":[{"name":"mode","type":"string","help":"h","default":"ok"}],"commands":[]}'
          exit 0
        fi
        read token
        echo $$ > "$HUB_STATE/pid"
        printf %s "$token" > "$HUB_STATE/token.part"; mv "$HUB_STATE/token.part" "$HUB_STATE/token"
        [ -e "$HUB_STATE/sick" ] && exit 3
        cat > /dev/null
        """#

    private struct Ground {
        let folder: Folder
        let script: String

        init(_ folder: Folder) throws {
            self.folder = folder
            script = try folder.script("hub-probe", ApplyTests.program)
        }

        func write(_ tables: String, hub: String = "") throws { try folder.configure(tables, hub: hub + "\n") }

        func plugin(_ name: String, _ lines: String = "") -> String {
            "[plugin.\(name)]\nexecutable = \"\(script)\"\n\(lines)\n"
        }

        func start(_ policy: LifecyclePolicy = ApplyTests.policy) async throws -> RunningHub {
            try await folder.startHub(policy)
        }
    }

    private func pid(_ hub: RunningHub, _ name: String, not old: Int64? = nil) async throws -> Int64 {
        let peer = try await hub.client("asker\(UInt32.random(in: 0 ... .max))")
        var pid: Int64?
        try await eventually("\(name) runs") {
            let plugins: [JSON] = try await peer.status()["plugins"].array
            pid = plugins.first { $0["name"].string == name }?["pid"].int
            return pid != nil && pid != old
        }
        await peer.close()
        return try #require(pid)
    }

    @Test func `changed instances restart, new ones start, removed ones stop, and a dry run does nothing`()
        async throws
    {
        let ground = try Ground(Folder())
        let person = "[person.me]\n"
        try ground.write(person + ground.plugin("same") + ground.plugin("changed") + ground.plugin("gone"))
        let hub = try await ground.start()
        let peer = try await hub.client()
        let (same, changed) = (try await pid(hub, "same"), try await pid(hub, "changed"))
        try ground.write(
            person + ground.plugin("same") + ground.plugin("changed", "mode = \"new\"") + ground.plugin("new"),
            hub: "log_level = \"debug\"\nmemory_limit = \"2GiB\"")

        let look = try await peer.command("apply", dryRun: true).body["result"]
        #expect(look["applied"].truth == true && look["dryRun"].truth == true)
        let fates = Dictionary(
            look["instances"].array.map { ($0["instance"].string ?? "", $0["action"].string ?? "") },
            uniquingKeysWith: { $1 })
        #expect(fates == ["same": "leave", "changed": "restart", "gone": "stop", "new": "start"])
        #expect(look["needsRestart"].array.map(\.string) == ["log_level"])
        #expect(try await pid(hub, "changed") == changed)

        #expect(try await peer.command("apply").body["result"]["applied"].truth == true)
        _ = try await pid(hub, "changed", not: changed)
        _ = try await pid(hub, "new")
        #expect(try await pid(hub, "same") == same)
        try await eventually("the third plugin is no longer listed") {
            try await peer.status()["plugins"].array.compactMap { $0["name"].string }.sorted()
                == ["changed", "new", "same"]
        }
        let again = try await peer.command("apply").body["result"]
        #expect(again["instances"].array.allSatisfy { $0["action"].string == "leave" })
        try await hub.stop()
    }

    @Test(.timeLimit(.minutes(1)))
    func `a hub that is stopped while it applies a changed file starts no more instances`()
        async throws
    {
        // Each round stops the hub a little later, so that the rounds cover every step of the change.
        for attempt in 0..<16 {
            let ground = try Ground(Folder())
            let names = (0..<12).map { "probe-\($0)" }
            func tables(_ mode: String) -> String {
                names.map { ground.plugin($0, "mode = \"\(mode)\"") }.joined(separator: "\n")
            }
            try ground.write(tables("other"))
            let changed = await ground.folder.loader().load()
            try ground.write(tables("ok"))
            let (reads, read) = AsyncStream<Void>.makeStream()
            let hub = try await RunningHub(
                await ground.folder.loader().load(),
                reload: { _ in
                    read.yield()
                    return changed
                }, policy: Setting().policy, lifePolicy: Self.policy, in: ground.folder)
            for name in names { _ = try await hub.token(of: name) }
            let applied = Task { await hub.hub.applyConfiguration() }
            for await _ in reads { break }
            try await Task.sleep(for: .microseconds(attempt * 500))
            await hub.beginStopping()
            _ = await applied.value
            try await hub.ended()
            #expect(OrphanProcesses(door: hub.hub.endpoints.pluginDoor).find().isEmpty)
        }
    }

    @Test func `a file with errors changes nothing, and all errors are reported`() async throws {
        let ground = try Ground(Folder())
        try ground.write("[person.me]\n" + ground.plugin("probe"))
        let hub = try await ground.start()
        let peer = try await hub.client()
        let process = try await pid(hub, "probe")
        for text in [
            "[person.me]\nheigth = 1\n" + ground.plugin("probe", "mode = \"x\""), "[person.me",
            "[person.me]\n" + ground.plugin("probe", "mod = \"x\"\nenabeld = true"),
            "[person.me]\n" + ground.plugin("probe", "mode = \"x\"") + ground.plugin("other", "mode = 5"),
        ] {
            try ground.write(text)
            let result = try await peer.command("apply").body["result"]
            #expect(result["applied"].truth == false && result["instances"].array.isEmpty)
            #expect(result["problems"].array.contains { $0["severity"].string == "error" }, "\(text)")
        }
        #expect(try await pid(hub, "probe") == process)
        #expect(try await peer.status()["plugins"].array.count == 1)
        try await hub.stop()
    }

    @Test
    func `R4.22 persons and grants apply at once, and only sessions that they affect must greet again`()
        async throws
    {
        let ground = try Ground(Folder())
        // Its process exits because of wrong settings and is not restarted, so no process holds the instance (R4.26).
        let script = try ground.folder.script("hub-idle", Self.program.replacing("read token", with: "exit 78"))
        let plugin = "[plugin.byhand]\nexecutable = \"\(script)\"\n"
        try ground.write("[person.me]\n" + plugin + "persons = [\"me\"]")
        let hub = try await ground.start()
        let (owner, byHand) = (try await hub.client("script"), try await hub.peer())
        let greeting = #"{"protocol":[1],"instance":"byhand","plugin":"probe","version":"1"}"#
        try await eventually("no process of the plugin runs") {
            try await byHand.ask("HELLO", greeting).body["persons"].array.count == 1
        }
        try ground.write(
            "[person.me]\n[person.anna]\n" + plugin
                + "persons = [\"me\", \"anna\"]\ngrants = { write = [\"stepCount\"] }")
        let applier = try await hub.peer()
        try await applier.hello("applier", mode: "once")
        #expect(try await applier.command("apply").body["result"]["persons"].array.map(\.string) == ["anna"])
        for peer in [owner, byHand] {
            let told = try await peer.next()
            #expect(told.code == "hello-first" && told.body["closed"].truth == true, "\(told)")
        }
        // The failed process is started again with the new settings and exits again.
        try await eventually("the hub accepts the plugin again") {
            try await byHand.ask("HELLO", greeting).body["persons"].array.count == 2
        }
        #expect(try await byHand.give([weight("k")]).results == ["forbidden"])
        try await hub.stop()
    }

    @Test func `R4.22 a plugin with only its types changed keeps running, and its session begins again`() async throws {
        let ground = try Ground(Folder())
        try ground.write("[person.me]\n" + ground.plugin("probe"))
        let hub = try await ground.start()
        let (process, session) = (try await pid(hub, "probe"), try await hub.plugin("probe", plugin: "probe"))
        #expect(try await session.give([weight("a")]).results == ["stored"])
        try ground.write("[person.me]\n" + ground.plugin("probe", "grants = { write = [\"!*\"] }"))
        let applier = try await hub.peer()
        try await applier.hello("applier", mode: "once")
        let report = try await applier.command("apply").body["result"]
        #expect(report["instances"].array.map { $0["action"].string } == ["greet"], "\(report)")
        #expect(try await session.next().code == "hello-first")
        let welcome = try await session.hello("probe")
        #expect(welcome["grants"]["write"]["denied"] == JSON(#"["weight"]"#))
        #expect(try await session.give([weight("b")]).results == ["forbidden"])
        #expect(try await pid(hub, "probe") == process)
        try await hub.stop()
    }

    @Test func `R8.60 R8.61 a person's units and language are in QUERY, on the feed and in WELCOME`() async throws {
        let ground = try Ground(Folder())
        try ground.write("[person.me]\nunit = \"st\"\n[person.anna]\n")
        let hub = try await ground.start()
        let (running, listener) = (try await hub.client("script"), try await hub.listener("hub/person/"))
        let asker = try await hub.peer()
        try await asker.hello("asker", mode: "once")
        func persons() async throws -> [String: JSON] {
            let answer = try await asker.query("", want: "persons").body["persons"].array
            return Dictionary(uniqueKeysWithValues: answer.map { ($0["name"].string ?? "", $0) })
        }
        var told = try await persons()
        #expect(told["me"]?.fits(#"{"units":{"weight":"st","leanBodyMass":"st","hc.boneMass":"lb"}}"#) == true)
        #expect(told["anna"]?.fits(#"{"units":{}}"#) == true && told["anna"]?["locale"].string == nil)
        try ground.write("[person.me]\nunit = \"kg\"\nunits = [\"height=ft\"]\nlocale = \"sv_SE\"\n[person.ben]\n")
        _ = try await asker.command("apply")
        told = try await persons()
        #expect(told["me"]?.fits(#"{"locale":"sv_SE","units":{"height":"ft","bloodGlucose":"mmol/L"}}"#) == true)
        #expect(told["me"]?["units"]["weight"].string == nil, "the default unit is left out")
        #expect(
            told["anna"]?["units"]["weight"].string == nil && told["anna"]?["zone"].string == nil,
            "units and a zone that are not set are left out")
        for (person, event) in [("anna", "removed"), ("ben", "added"), ("me", "changed")] {
            let news = try await listener.next().record
            #expect(news["person"].string == person && news["event"].string == event && news["time"].string != nil)
        }
        #expect(try await running.next().code == "hello-first")
        let me = try await hub.peer().hello("script")["persons"].array.first { $0["name"].string == "me" }
        #expect(me?["locale"].string == "sv_SE" && me?["units"]["height"].string == "ft")
        try await hub.stop()
    }

    @Test
    func `only a plugin that fails after a change falls back, and a corrected file is applied`()
        async throws
    {
        let ground = try Ground(Folder())
        let person = "[person.me]\n"
        try ground.write(person + ground.plugin("a") + ground.plugin("b"))
        let hub = try await ground.start()
        let listener = try await hub.listener("hub/notice/")
        let sessions = [try await hub.plugin("a", plugin: "probe"), try await hub.plugin("b", plugin: "probe")]
        let owner = try await hub.client()
        try await eventually("both plugins are running") {
            try await owner.status()["plugins"].array.allSatisfy { $0["state"].string == "running" }
        }
        let sick = "\(ground.folder.data)/plugins/a/sick"
        try Data().write(to: URL(filePath: sick))
        try ground.write(person + ground.plugin("a", "mode = \"bad\"") + ground.plugin("b", "mode = \"good\""))
        #expect(try await owner.command("apply").body["result"]["applied"].truth == true)
        let notice = try await listener.next().record
        #expect(notice["instance"].string == "a" && notice["subject"].string == "plugin")
        #expect(notice["text"].string?.contains("runs with its former settings") == true, "\(notice)")
        try FileManager.default.removeItem(atPath: sick)
        func plugin(_ name: String) async throws -> JSON? {
            try await owner.status()["plugins"].array.first { $0["name"].string == name }
        }
        #expect(try await plugin("a")?["isFallback"].truth == true)
        #expect(try await plugin("a")?["advice"].string?.contains("exited with code 3") == true)
        #expect(try await plugin("b")?["isFallback"].truth == nil)
        #expect(try await settings(owner)["a"] == "ok")
        #expect(try await settings(owner)["b"] == "good")

        // The file still has the change, so applying it again retries it.
        #expect(try await owner.command("apply").body["result"]["instances"][0]["action"].string == "restart")
        #expect(try await plugin("a")?["isFallback"].truth == nil)
        #expect(try await settings(owner)["a"] == "bad")
        _ = sessions
        try await hub.stop()
    }

    private func settings(_ peer: Peer) async throws -> [String: String] {
        let plugins = try await peer.query("", want: "plugins").body["plugins"].array
        return Dictionary(
            plugins.map { ($0["name"].string ?? "", $0["settings"]["mode"].string ?? "") }, uniquingKeysWith: { $1 })
    }

    @Test func `the last file with which all plugins worked is kept, and the next start falls back to it`() async throws
    {
        let ground = try Ground(Folder())
        let person = "[person.me]\n"
        var policy = Self.policy
        policy.watchPeriod = 100
        try ground.write(person + ground.plugin("a"))
        let good = "\(ground.folder.data)/hub.conf.good"
        let first = try await ground.start(policy)
        let session = try await first.plugin("a", plugin: "probe")
        try await eventually("hub.conf.good is written") { FileManager.default.fileExists(atPath: good) }
        #expect(try String(contentsOfFile: good, encoding: .utf8).contains("[plugin.a]"))
        #expect(try FileManager.default.attributesOfItem(atPath: good)[.posixPermissions] as? Int == 0o600)
        await session.close()
        try await first.stop()

        try ground.write(person + ground.plugin("a", "mode = \"bad\""))
        policy.watchPeriod = 120_000
        policy.firstPause = 500
        try Data().write(to: URL(filePath: "\(ground.folder.data)/plugins/a/sick"))
        let second = try await ground.start(policy)
        let owner = try await second.client()
        try await eventually("it is back") { try await settings(owner)["a"] == "ok" }
        let status = try await owner.status()["plugins"]
        #expect(status[0]["isFallback"].truth == true, "\(status)")
        try await second.stop()
    }

    @Test func `a program that was missing at the start is found later, and blocks no other change`()
        async throws
    {
        let ground = try Ground(Folder())
        var policy = Self.policy
        policy.longestPause = 500
        let late = "[plugin.late]\nexecutable = \"\(ground.folder.path)/late\"\n"
        try ground.write("[person.me]\n" + late)
        let hub = try await ground.start(policy)
        let peer = try await hub.client()
        let status = try await peer.status()["plugins"][0]
        #expect(status["state"].string == "failed" && status["advice"].string?.contains("hub apply") == true)
        try ground.write("[person.me]\n" + late + ground.plugin("other"))
        let answer = try await peer.command("apply").body
        #expect(answer["result"]["applied"].truth == true, "\(answer)")
        _ = try await pid(hub, "other")
        _ = try ground.folder.script("late", Self.program)
        _ = try await pid(hub, "late")
        try await hub.stop()
    }

    @Test func `a new section without a program changes nothing, because its name may be mistyped`() async throws {
        let ground = try Ground(Folder())
        try ground.write("[person.me]\n" + ground.plugin("other"))
        let hub = try await ground.start(Self.policy)
        let before = try await pid(hub, "other")
        let mistyped = "[plugin.othr]\nexecutable = \"\(ground.folder.path)/othr\"\n"
        try ground.write("[person.me]\n" + mistyped)
        let answer = try await hub.client().command("apply").body
        #expect(answer["result"]["applied"].truth == false, "\(answer)")
        #expect(try await pid(hub, "other") == before)
        try await hub.stop()
    }

    @Test func `release starts a waiting instance, and reports an error for others`() async throws {
        let folder = try Folder()
        var setting = Setting()
        setting.lifePolicy = LifecyclePolicy(firstPause: 20, longestPause: 40, crashLimit: 2)
        setting.add(
            PluginInstance(name: "fails"),
            script: try folder.script("fails", "echo run >> \"$HUB_STATE/runs\"; exit 3"))
        setting.plugins.append(PluginInstance(name: "off", enabled: false))
        try await withHub(setting, in: folder) { hub in
            let listener = try await hub.listener("hub/notice/")
            let peer = try await hub.client()
            func quarantined(_ runs: Int) async throws {
                try await eventually("quarantine after \(runs)") {
                    let state = try await peer.status()["plugins"][0]["state"].string
                    let lines = try await hub.told("fails", "runs").split(separator: "\n").count
                    return state == "quarantined" && lines == runs
                }
            }
            try await quarantined(2)
            let news = try await listener.next().record
            #expect(news["text"].string?.contains("until hub release fails") == true, "\(news)")
            let look = try await peer.command("release", #"{"instance":"fails"}"#, dryRun: true).body["result"]
            #expect(look.fits(#"{"state":"quarantined","released":true}"#))
            try await quarantined(2)
            let done = try await peer.command("release", #"{"instance":"fails"}"#).body["result"]
            #expect(done["released"].truth == true)
            try await quarantined(4)
            for (name, words) in [("off", "hub configure off --enable"), ("fials", "did you mean fails")] {
                let refused = try await peer.command("release", "{\"instance\":\"\(name)\"}").body
                #expect(refused["outcome"].string == "failed" && refused["reason"].string?.contains(words) == true)
            }
        }
    }
}
