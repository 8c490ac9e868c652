import Foundation
import HubProcess
import HubSettings
import HubWire
import Logging
import Testing

@testable import HubCore

/// Programs of plugins that the hub runs.
@Suite struct PluginTests {
    private static let manifest =
        #"{"name":"NAME","summary":"s","version":"1","protocol":[1],"reads":[],"writes":["weight"],"declares":[],"settings":[],"commands":[]}"#

    private func load(
        _ text: String, in folder: Folder, patience: Duration = .seconds(60)
    ) async throws -> CheckedConfiguration {
        try folder.configure("[person.me]\n" + text)
        return await folder.loader(patience: patience).load()
    }

    @Test func `R13.5 a plugin without a valid manifest has a problem, and the others start`() async throws {
        let folder = try Folder()
        var text = ""
        func add(_ name: String, _ lines: String) throws {
            text += "[plugin.\(name)]\nexecutable = \"\(try folder.script("hub-\(name)", lines))\"\n"
        }
        try add("good", "echo '\(Self.manifest.replacing("NAME", with: "good"))'")
        try add("garbage", "echo '{\"name\":'; echo oops >&2")
        try add("nothing", "exit 0")
        try add("fails", "echo Traceback >&2; echo '  No module named zmq' >&2; exit 3")
        try add("killed", "kill -9 $$")
        try add("lacking", #"echo '{"name":"a","summary":"s","version":"1","settings":[{"name":"b","type":"path"}]}'"#)
        try add("typo", #"echo '{"name":"a","summary":"s","version":"1","writes":["wieght"]}'"#)
        try add("future", #"echo '{"name":"a","summary":"s","version":"1","protocol":[2]}'"#)
        try add("plain", "exit 0")
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: folder.path + "/hub-plain")
        try add("floods", "while :; do echo yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy; done")
        try add("wrong", "echo '\(Self.manifest.replacing("NAME", with: "not a name"))'")
        text += "[plugin.missing]\nexecutable = \"hub-that-nobody-has\"\n"
        let checked = try await load(text, in: folder)
        let configuration = try #require(checked.loaded.configuration)
        #expect(checked.manifests.keys.sorted() == ["good"])
        #expect(configuration.plugins.contains { $0.name == "good" })
        #expect(checked.faults["good"] == nil)
        let expected = [
            "garbage": #"it printed no JSON ("{"name":"): at byte 9"#, "nothing": "it printed nothing",
            "fails": #"it ended with exit code 3 instead of 0, saying "No module named zmq""#,
            "killed": "it was ended by signal 9",
            "floods": "it printed more than the limit of 1048576 bytes", "wrong": "name: expected 1 to 64 letters",
            "lacking": "settings[0].help: missing", "typo": #"writes[0]: there is no type "wieght""#,
            "future": "protocol: expected a version that this hub speaks, which is 1, found [2]",
            "missing": "is not beside the hub, installed or in PATH",
            "plain": "hub-plain is not executable; chmod +x it",
        ]
        // `hub check` reports each problem once, at its line.
        #expect(checked.loaded.problems.count == expected.count)
        for (name, words) in expected {
            let fault = try #require(checked.faults[name], "\(name)")
            #expect(fault.contains(words), "\(name): \(fault)")
            #expect(
                checked.loaded.problems.contains {
                    $0.table == "plugin.\(name)" && $0.key == "executable" && $0.message == fault
                })
        }
        // A hub starts with the valid plugins.
        let hub = try Hub(checked, logger: .init(label: "hub"))
        let run = Task { try await hub.run() }
        await hub.waitUntilReady()
        let peer = try await Peer.dealer(hub.endpoints.door)
        try await peer.hello()
        let plugins = try await peer.status()["plugins"].array
        #expect(plugins.count == 12)
        for plugin in plugins {
            let name = try #require(plugin["name"].string)
            // The status also reports a script that ends at once, after it has ended.
            if name == "good" {
                #expect(plugin["state"].string != "failed", "\(plugin)")
            } else {
                #expect(plugin["lastError"].string != nil, "\(plugin)")
            }
        }
        _ = try await peer.command("stop")
        try await run.value
    }

    @Test func `R13.1 a plugin that hangs is ended with all its child processes`() async throws {
        let folder = try Folder()
        var text = ""
        for (name, lines) in [
            ("hangs", "sleep 600"), ("hangs-with-children", "trap '' TERM INT; sleep 600 & sleep 600; sleep 600"),
        ] {
            text += "[plugin.\(name)]\nexecutable = \"\(try folder.script("hub-\(name)", lines))\"\n"
        }
        let checked = try await load(text, in: folder, patience: .milliseconds(500))
        #expect(checked.loaded.configuration != nil && checked.manifests.isEmpty)
        #expect(checked.faults.keys.sorted() == ["hangs", "hangs-with-children"])
        #expect(checked.faults.values.allSatisfy { $0.contains("no answer within 0.5 seconds") }, "\(checked.faults)")
        // No process of the manifest query is left.
        try await eventually("no child process is left") {
            let list = try FileManager.default.contentsOfDirectory(atPath: "/proc").compactMap { Int($0) }
            return !list.contains { pid in
                let line = (try? String(contentsOfFile: "/proc/\(pid)/cmdline", encoding: .utf8)) ?? ""
                return line.contains(folder.path + "/hub-")
            }
        }
    }

    @Test func `a missing file or invalid TOML is a problem with its place, and no crash`() async throws {
        let folder = try Folder()
        let missing = await ConfigurationLoader(path: folder.path + "/none.conf", programPath: "hub").load()
        #expect(missing.loaded.configuration == nil && missing.loaded.problems.count == 1)
        #expect(throws: HubError.self) { try Hub(missing, logger: .init(label: "hub")) }
        let broken = try await load("[plugin.", in: folder)
        #expect(broken.loaded.configuration == nil && !broken.loaded.problems.isEmpty)
    }

    @Test
    func `R13.1 R13.3 a process gets its token as first line, its paths as variables, and an end of stdin to stop`()
        async throws
    {
        let folder = try Folder()
        var setting = Setting()
        let script = try folder.script(
            "plugin",
            """
            read token
            echo "$1 $HUB_DOOR $HUB_FEED $HUB_INSTANCE $token" > "$HUB_STATE/start.part"
            mv "$HUB_STATE/start.part" "$HUB_STATE/start"
            cat > /dev/null
            echo eof > "$HUB_STATE/end"
            """)
        setting.add(PluginInstance(name: "scale"), script: script)
        try await withHub(setting, in: folder) { hub in
            let start = try await hub.told("scale", "start").split(separator: " ").map(String.init)
            #expect(start.prefix(4) == ["--run", hub.hub.endpoints.pluginDoor, "ipc://\(folder.run)/feed-1", "scale"])
            #expect(start[4].trimmingCharacters(in: .newlines).count == 32)
            let peer = try await hub.client()
            #expect(try await peer.status()["plugins"][0].fits(#"{"name":"scale","alive":false,"restarts":0}"#))
            #expect(try await peer.status()["plugins"][0]["pid"].int ?? 0 > 0)
            let mode =
                try FileManager.default.attributesOfItem(atPath: "\(folder.data)/plugins/scale")[.posixPermissions]
                as? Int
            #expect(mode == 0o700)
        }
        #expect(try String(contentsOfFile: "\(folder.data)/plugins/scale/end", encoding: .utf8) == "eof\n")
    }

    @Test func `a process that ignores the end of stdin gets SIGTERM`() async throws {
        let folder = try Folder()
        var setting = Setting()
        setting.lifePolicy.stopGrace = .milliseconds(200)
        let script = try folder.script(
            "plugin",
            """
            trap 'echo term > "$HUB_STATE/end"; exit 0' TERM
            read token
            touch "$HUB_STATE/up"
            while :; do sleep 0.02; done
            """)
        setting.add(PluginInstance(name: "scale"), script: script)
        try await withHub(setting, in: folder) { hub in _ = try await hub.told("scale", "up") }
        #expect(try String(contentsOfFile: "\(folder.data)/plugins/scale/end", encoding: .utf8) == "term\n")
    }

    @Test func `a process that ignores the end of stdin and SIGTERM is killed with all its children`() async throws {
        let folder = try Folder()
        var setting = Setting()
        setting.lifePolicy.stopGrace = .milliseconds(200)
        // A number that identifies its child among all processes.
        let seconds = "\(1_000_000 + UInt32.random(in: 0..<1_000_000))"
        let script = try folder.script(
            "plugin",
            "trap '' TERM; read token; sleep \(seconds) & touch \"$HUB_STATE/up\"; while :; do sleep 600; done"
        )
        setting.add(PluginInstance(name: "deaf"), script: script)
        func children() throws -> [String] {
            try FileManager.default.contentsOfDirectory(atPath: "/proc").filter { name in
                (FileManager.default.contents(atPath: "/proc/\(name)/cmdline") ?? Data()).elementsEqual(
                    "sleep\0\(seconds)\0".utf8)
            }
        }
        try await withHub(setting, in: folder) { hub in
            _ = try await hub.told("deaf", "up")
            try await eventually("the child process runs") { try !children().isEmpty }
        }
        // The parent is gone, and the process that inherits the child may reap it later.
        try await eventually("the child process ends") { try children().isEmpty }
    }

    @Test func `a plugin that closes its outputs continues, and is stopped like the others`() async throws {
        let folder = try Folder()
        var setting = Setting()
        let script = try folder.script(
            "plugin", "exec > /dev/null 2>&1; read token; touch \"$HUB_STATE/up\"; cat; touch \"$HUB_STATE/down\"")
        setting.add(PluginInstance(name: "quiet"), script: script)
        try await withHub(setting, in: folder) { hub, peer in
            _ = try await hub.told("quiet", "up")
            // Its stdin stays open, so it does not end.
            try await Task.sleep(for: .milliseconds(200))
            #expect(try await peer.status()["plugins"][0]["pid"].int ?? 0 > 0)
            #expect(!FileManager.default.fileExists(atPath: "\(folder.data)/plugins/quiet/down"))
        }
    }

    @Test func `R13.10 a plugin that floods its outputs does not block, and its lines are truncated`() async throws {
        let folder = try Folder()
        var setting = Setting()
        let script = try folder.script(
            "plugin",
            """
            read token
            head -c 3000000 /dev/zero | tr '\\\\0' 'x' >&2
            i=0; while [ $i -lt 3000 ]; do echo "line $i"; i=$((i+1)); done
            touch "$HUB_STATE/done"
            cat > /dev/null
            """)
        setting.add(PluginInstance(name: "loud"), script: script)
        try await withHub(setting, in: folder) { hub in
            _ = try await hub.told("loud", "done")
            try await eventually("the plugin's thousand lines are logged") {
                hub.log.lines.contains { $0.contains("line 999") }
            }
            #expect(hub.log.lines.count { $0.contains("line ") } < 2_000)
            #expect(hub.log.lines.allSatisfy { $0.utf8.count < 5_000 })
            let peer = try await hub.client()
            #expect(try await peer.ask("PING").verb == "PONG")
        }
    }

    @Test func `a plugin's exit is in the status, its token becomes invalid, and the hub continues`()
        async throws
    {
        let folder = try Folder()
        var setting = Setting()
        for (name, lines) in [
            ("fails", "exit 3"), ("killed", "kill -9 $$"), ("ends", "exit 0"),
            ("teller", "read t; printf %s \"$t\" > \"$HUB_STATE/token\"; exit 7"),
        ] {
            setting.add(PluginInstance(name: name), script: try folder.script(name, lines))
        }
        setting.add(PluginInstance(name: "gone"), script: folder.path + "/nothing-here")
        try await withHub(setting, in: folder) { hub, peer in
            let expected: [(String, String?)] = [
                ("fails", "exited with code 3"), ("killed", "was ended by signal 9"), ("ends", nil),
                ("teller", "exited with code 7"), ("gone", "could not be started"),
            ]
            for (index, (name, fault)) in expected.enumerated() {
                try await eventually("\(name) has ended") {
                    let plugin = try await peer.status()["plugins"][index]
                    guard plugin["pid"].int == nil else { return false }
                    return fault.map { plugin["lastError"].string?.contains($0) == true } ?? true
                }
            }
            let token = try await hub.told("teller", "token")
            let late = try await Peer.dealer(
                hub.hub.endpoints.pluginDoor, Peer.Options(user: "teller", password: token))
            await late.send(
                [Array("HELLO".utf8), Array(#"{"protocol":[1],"instance":"teller","plugin":"t","version":"1"}"#.utf8)],
                isCertain: false)
            #expect(await late.nextIfAny(within: .milliseconds(100)) == nil)
            #expect(try await peer.give([weight("a")]).results == ["stored"])
        }
    }

    @Test func `an instance whose folder cannot be created does not affect others`() async throws {
        let folder = try Folder()
        let setting = try Setting.withTokens(["blocked", "fine"], in: folder)
        try FileManager.default.createDirectory(atPath: folder.data + "/plugins", withIntermediateDirectories: true)
        try Data().write(to: URL(filePath: folder.data + "/plugins/blocked"))
        try await withHub(setting, in: folder) { hub, peer async throws in
            #expect(try await hub.token(of: "fine").count == 32)
            #expect(try await peer.ask("PING").verb == "PONG")
            #expect(hub.log.lines.contains { $0.contains("plugin cannot start") && $0.contains("blocked") })
        }
    }
}
