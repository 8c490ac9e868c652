import Foundation
import HubProcess
import HubSettings
import HubWire
import Testing

@testable import HubCore

/// Settings that the hub writes into `hub.conf` (Protocol §8.2.1).
@Suite struct ConfigureTests {
    private static let settings = #"""
        {"name":"mode","type":"string","help":"h","default":"ok"},{"name":"count","type":"integer","minimum":1,"maximum":9,"help":"h"},{"name":"many","type":"list","items":{"type":"string"},"help":"h"},{"name":"token","type":"string","secret":true,"help":"h"},{"name":"folder","type":"path","help":"h"},{"name":"word","type":"path","access":"none","help":"h"},{"name":"link","type":"string","access":"link","help":"h"}
        """#

    /// A plugin that objects to one value, and whose session the test opens.
    private static let program = """
        if [ "$1" = --describe ]; then
          echo '{"name":"page","summary":"s","version":"1","reads":[],"writes":[],"settings":[\(settings)],"commands":[],"checksSettings":true,"owner":["configure","plugins","apply"]}'
          exit 0
        fi
        if [ "$1" = --check-settings ]; then
          grep -q '"mode":"bad"' && echo '{"objections":[{"setting":"mode","reason":"it is bad"}]}' || echo '{"objections":[]}'
          exit 0
        fi
        read token
        printf %s "$token" > "$HUB_STATE/token.part"; mv "$HUB_STATE/token.part" "$HUB_STATE/token"
        cat > /dev/null
        """

    /// A hub with the instances `probe`, `free`, which is not confined, and `web`, which may be granted `configure`.
    private struct Ground {
        let folder: Folder
        let path: String
        let text: String
        var loader: ConfigurationLoader { folder.loader() }
        let hub: RunningHub
        let owner: Peer

        /// - Parameters:
        ///   - web: Additional lines of the section of `web`.
        ///   - hasDotted: Whether there is an instance `dotted`, whose section cannot be edited.
        init(
            granted: String = #"["configure", "plugins"]"#, web: String = "", hasDotted: Bool = false
        ) async throws {
            folder = try Folder()
            path = folder.path + "/hub.conf"
            let script = try folder.script("hub-page", ConfigureTests.program)
            text = """
                # mine: "${NOT}" [plugin.no]
                \(hasDotted ? "plugin.dotted.executable = \"\(script)\"" : "")
                [hub]
                data = "\(folder.data)"
                run = "\(folder.run)"
                [person.me]

                # of the probe
                [plugin.probe]   # here
                executable = "\(script)"
                ## How it is.
                # mode = "ok"
                count = 3   # three
                token = 'geheim'
                folder = "/tmp"
                grants = { read = [] }   # nothing

                [plugin.free]
                executable = "\(script)"
                confine = false
                mode = "free"

                [plugin.web]
                executable = "\(script)"
                mode = "web"
                \(web)
                grants = { owner = \(granted) }
                # the end

                """
            try text.write(toFile: path, atomically: true, encoding: .utf8)
            chmod(path, 0o640)
            hub = try await folder.startHub()
            // Mode once, as the command uses: a session in mode run would end when persons change (R4.22).
            owner = try await Peer.dealer(hub.hub.endpoints.door)
            try await owner.hello("phone", mode: "once")
        }

        var now: String { (try? String(contentsOfFile: path, encoding: .utf8)) ?? "" }
    }

    private static func configure(
        _ peer: Peer, _ args: String, of instance: String = "probe", dryRun: Bool = false
    ) async throws -> JSON {
        try await peer.command("configure", #"{"instance":"\#(instance)",\#(args)}"#, dryRun: dryRun).body
    }

    @Test func `R8.182 R8.33 a setting is changed and reset, and all other bytes are unchanged`() async throws {
        let ground = try await Ground()
        let args = #""set":["mode=\"new\"","count=5","many=[\"a\",\"b\"]"]"#
        let dry = try await Self.configure(ground.owner, args, dryRun: true)["result"]
        #expect(dry["applied"].truth == true && dry["dryRun"].truth == true && dry["plan"]["dryRun"].truth == true)
        #expect(ground.now == ground.text)
        let done = try await Self.configure(
            ground.owner, args + #","revision":"\#(dry["revision"].string ?? "")""#)["result"]
        #expect(done["changes"] == dry["changes"] && done["changes"].array.count == 3, "\(done)")
        #expect(done["changes"][1]["name"].string == "count" && done["changes"][1]["before"].int == 3)
        let steps = done["plan"]["instances"].array.filter { $0["action"].string != "leave" }
        #expect(steps.count == 1 && steps.first?["instance"].string == "probe", "\(steps)")
        #expect(
            ground.now
                == ground.text.replacing("count = 3", with: "count = 5")
                .replacing("# mode = \"ok\"\n", with: "# mode = \"ok\"\nmode = \"new\"\n")
                .replacing("# nothing\n", with: "# nothing\nmany = [\"a\", \"b\"]\n"))
        let mode = try FileManager.default.attributesOfItem(atPath: ground.path)[.posixPermissions] as? Int
        #expect(mode == 0o640)
        let again = try await Self.configure(ground.owner, args)["result"]
        #expect(again["changes"].array.isEmpty && again["plan"]["instances"].array.isEmpty, "\(again)")
        let back = try await Self.configure(ground.owner, #""set":["count=3"],"unset":["mode","many"]"#)["result"]
        #expect(back["applied"].truth == true && ground.now == ground.text, "\(ground.now)")
        let off = try await Self.configure(ground.owner, #""enabled":false"#)["result"]
        #expect(off["changes"][0]["before"].truth == true && ground.now.contains("enabled = false"), "\(off)")
        try await eventually("it is ended") {
            try await ground.owner.status()["plugins"].array.contains { $0["state"].string == "disabled" }
        }
        try await ground.hub.stop()
    }

    @Test func `R8.181 R8.183 errors are reported at their settings without secrets, and nothing is written`()
        async throws
    {
        let ground = try await Ground(hasDotted: true)
        for (args, key, reason) in [
            (#""set":["count=10"]"#, "count", "from 1 to 9"), (#""set":["count=\"x\""]"#, "count", "whole number"),
            (#""set":["mode=\"bad\""]"#, "mode", "it is bad"), (#""set":["token=[\"new-secret\"]"]"#, "token", "text"),
        ] {
            for isDry in [true, false] {
                let result = try await Self.configure(ground.owner, args, dryRun: isDry)["result"]
                #expect(result["applied"].truth == false, "\(args): \(result)")
                let problem = result["plan"]["problems"].array.first { $0["key"].string == key }
                #expect(problem?["message"].string?.contains(reason) == true, "\(args): \(result)")
                #expect(!result.description.contains("new-secret"))
                #expect(ground.now == ground.text)
            }
        }
        let dotted = try await Self.configure(ground.owner, #""set":["token=\"new-secret\""]"#, of: "dotted")
        #expect(dotted["code"].string == "file" && ground.now == ground.text, "\(dotted)")
        #expect(dotted["reason"].string?.contains("write token there by hand") == true)
        #expect(!dotted.description.contains("new-secret"))
        let secret = try await Self.configure(ground.owner, #""set":["token=\"new-secret\""]"#)
        #expect(secret["result"]["applied"].truth == true && ground.now.contains("token = \"new-secret\""))
        #expect(secret["result"]["changes"][0]["secret"].truth == true)
        #expect(!secret.description.contains("new-secret") && !secret.description.contains("geheim"), "\(secret)")
        let out = try await Self.configure(ground.owner, #""unset":["token"]"#)
        #expect(!out.description.contains("new-secret") && !ground.now.contains("token ="))
        #expect(!ground.hub.log.lines.contains { $0.contains("new-secret") || $0.contains("geheim") })
        try await ground.hub.stop()
    }

    @Test func `R8.180 keys that are not settings of the program are refused, above all those that give rights`()
        async throws
    {
        let ground = try await Ground()
        let web = try await ground.hub.plugin("web", plugin: "page")
        for peer in [ground.owner, web] {
            for name in [
                "executable", "kind", "grants", "persons", "confine", "readable", "run", "remote", "keep_raw",
                "memory_limit", "feed_port", "limit_factor", "enabled", "mod", "grants.owner", "mode]\n[plugin.x",
                "\"mode\"", "", " mode", "hub.data",
            ] {
                let encoded = name.replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
                for args in [#""set":["\#(encoded)=\"/bin/sh\""]"#, #""unset":["\#(encoded)"]"#] {
                    let refused = try await Self.configure(peer, args)
                    #expect(refused["code"].string == "command", "\(args): \(refused)")
                    #expect(refused["reason"].string?.contains("/bin/sh") == false)
                }
            }
            for args in [
                #""set":["mode"]"#, #""set":["mode={}"]"#, #""set":["mode=null"]"#, #""set":["mode=\"a\",\"b\""]"#,
                #""set":["mode=\"a\"","mode=\"b\""]"#, #""set":["mode=\"a\""],"unset":["mode"]"#, #""set":[]"#,
                #""fly":true"#,
            ] {
                #expect(try await Self.configure(peer, args)["code"].string == "command", "\(args)")
            }
            let unknown = try await Self.configure(peer, #""enabled":true"#, of: "prob")
            #expect(unknown["reason"].string?.contains("did you mean probe?") == true, "\(unknown)")
        }
        #expect(ground.now == ground.text)
        try await ground.hub.stop()
    }

    @Test func `a plugin can be tested although another section is wrong, and gets only its own errors`()
        async throws
    {
        let ground = try await Ground()
        let checked = await ground.loader.load(ground.text.replacing("mode = \"web\"", with: "mode = 3"))
        #expect(try PluginProbe(checked, "probe").instance.name == "probe")
        #expect(throws: HubError.self) { try PluginProbe(checked, "web") }
        let both = await ground.loader.load(
            ground.text.replacing("mode = \"web\"", with: "mode = 3").replacing("count = 3", with: "count = 10"))
        let error = #expect(throws: HubError.self) { try PluginProbe(both, "probe") }
        #expect(error?.message.contains("count") == true && error?.message.contains("mode") == false, "\(error as Any)")
        let common = await ground.loader.load(ground.text.replacing("[person.me]", with: "[person.me]\nzone = \"x\""))
        #expect(throws: HubError.self) { try PluginProbe(common, "probe") }
        try await ground.hub.stop()
    }

    @Test func `R8.184 a plugin cannot change its own or an unconfined section, paths, or references`()
        async throws
    {
        let ground = try await Ground()
        let web = try await ground.hub.plugin("web", plugin: "page")
        for (args, instance) in [
            (#""set":["mode=\"x\""]"#, "web"), (#""enabled":false"#, "web"), (#""enabled":false"#, "free"),
            (#""set":["mode=\"x\""]"#, "free"), (#""set":["folder=\"/etc\""]"#, "probe"),
            (#""unset":["folder"]"#, "probe"), (#""set":["mode=\"${file:/etc/passwd}\""]"#, "probe"),
            (#""set":["many=[\"a\",\"${HOME}\"]"]"#, "probe"), (#""set":["token=\"${HOME}\""]"#, "probe"),
            (#""set":["link=\"hid:///dev/hidraw0\""]"#, "probe"),
        ] {
            let refused = try await Self.configure(web, args, of: instance)
            #expect(refused["code"].string == "forbidden", "\(instance) \(args): \(refused)")
            #expect(refused["reason"].string?.contains("hub configure") == true, "\(refused)")
        }
        #expect(ground.now == ground.text)
        let own = try await Self.configure(ground.owner, #""set":["mode=\"${HOME}\"","folder=\"/etc\""]"#)
        #expect(own["result"]["applied"].truth == true && ground.now.contains("mode = \"${HOME}\""), "\(own)")
        let elsewhere = try await Self.configure(web, #""unset":["mode"]"#)
        #expect(elsewhere["code"].string == "forbidden", "\(elsewhere)")
        let may = try await Self.configure(
            web, #""enabled":false,"set":["word=\"/etc\"","link=\"tcp://127.0.0.1:1\"","token=\"t\""]"#)
        #expect(may["result"]["applied"].truth == true, "\(may)")
        #expect(ground.hub.log.lines.contains { $0.contains("hub.conf was changed") && $0.contains("by=web") })
        try await ground.hub.stop()
    }

    // MARK: - Persons and [hub]

    private static func describe(_ peer: Peer, _ args: String, dryRun: Bool = false) async throws -> JSON {
        try await peer.command("configure", "{\(args)}", dryRun: dryRun).body
    }

    @Test func `R8.182 a person and the hub's zone are configured, and all other bytes are unchanged`()
        async throws
    {
        let ground = try await Ground()
        let anna = #""person":"anna","set":["locale=\"de_DE\"","expected_weight=61"]"#
        let dry = try await Self.describe(ground.owner, anna, dryRun: true)["result"]
        #expect(dry["added"].truth == true && dry["plan"]["persons"][0].string == "anna", "\(dry)")
        #expect(ground.now == ground.text)
        let done = try await Self.describe(ground.owner, anna)["result"]
        #expect(done["applied"].truth == true && done["person"].string == "anna" && done["changes"].array.count == 2)
        let added = ground.text.replacing(
            "[person.me]\n", with: "[person.me]\n\n[person.anna]\nlocale = \"de_DE\"\nexpected_weight = 61\n")
        #expect(ground.now == added, "\(ground.now)")
        let look = try await Self.describe(ground.owner, #""person":"anna""#)["result"]
        #expect(
            look["changes"].array.isEmpty && look["added"].truth == nil && look["settings"]["locale"].string == "de_DE")
        let house = try await Self.describe(ground.owner, #""hub":true,"set":["zone=\"Asia/Tokyo\""]"#)["result"]
        #expect(house["applied"].truth == true && house["settings"]["zone"].string == "Asia/Tokyo", "\(house)")
        #expect(ground.now.contains("run = \"\(ground.folder.run)\"\nzone = \"Asia/Tokyo\"\n[person.me]"))
        let back = try await Self.describe(ground.owner, #""hub":true,"unset":["zone"]"#)["result"]
        #expect(back["changes"][0]["before"].string == "Asia/Tokyo" && ground.now == added, "\(back)")
        try await ground.hub.stop()
    }

    @Test func `R8.180 R8.184 only the owner may assign a device slot to a person, and no two persons share one`()
        async throws
    {
        let ground = try await Ground()
        let slot = #""person":"me","set":["slots.probe=3"]"#
        let web = try await ground.hub.plugin("web", plugin: "page")
        #expect(try await Self.describe(web, slot)["code"].string == "command")
        for args in [
            #""person":"nobody","set":["slots.probe=3"]"#, #""person":"me","set":["slots.=3"]"#,
            #""person":"me","set":["slots=3"]"#, #""hub":true,"set":["slots.probe=3"]"#,
        ] {
            #expect(try await Self.describe(ground.owner, args)["code"].string == "command", "\(args)")
        }
        for args in [#""person":"me","set":["slots.probe=20"]"#, #""person":"me","set":["slots.missing=1"]"#] {
            #expect(try await Self.describe(ground.owner, args)["result"]["applied"].truth == false, "\(args)")
        }
        #expect(ground.now == ground.text)
        let done = try await Self.describe(ground.owner, slot)["result"]
        #expect(done["applied"].truth == true && done["changes"][0]["after"].int == 3, "\(done)")
        let written = ground.text.replacing("[person.me]\n", with: "[person.me]\nslots = { probe = 3 }\n")
        #expect(ground.now == written)
        _ = try await Self.describe(ground.owner, #""person":"anna""#)
        let clash = try await Self.describe(ground.owner, #""person":"anna","set":["slots.probe=3"]"#)["result"]
        #expect(clash["applied"].truth == false && "\(clash)".contains("has this position already"), "\(clash)")
        let back = try await Self.describe(ground.owner, #""person":"me","unset":["slots.probe"]"#)["result"]
        #expect(back["changes"][0]["before"].int == 3 && !ground.now.contains("slots"), "\(back)")
        try await ground.hub.stop()
    }

    @Test func `R8.180 R8.181 invalid names, other settings and wrong values are not written`()
        async throws
    {
        let ground = try await Ground()
        let web = try await ground.hub.plugin("web", plugin: "page")
        for peer in [ground.owner, web] {
            for args in [
                #""person":"a b""#, #""person":"x]\n[plugin.y""#, #""person":"""#,
                #""person":"me","set":["height=180"]"#, #""person":"me","unset":["slots"]"#,
                #""person":"me","enabled":true"#, #""person":"me","instance":"probe","enabled":true"#,
                #""hub":true,"set":["data=\"/tmp\""]"#, #""hub":true,"person":"me""#, #""hub":false"#, "",
            ] {
                let refused = try await Self.describe(peer, args)
                #expect(refused["code"].string == "command", "\(args): \(refused)")
            }
            for args in [
                #""person":"me","set":["zone=\"Mars/Base\""]"#, #""person":"new","set":["zone=\"Mars/Base\""]"#,
                #""hub":true,"set":["zone=\"Mars/Base\""]"#,
            ] {
                let wrong = try await Self.describe(peer, args)["result"]
                #expect(wrong["applied"].truth == false && wrong["plan"]["problems"][0]["key"].string == "zone")
            }
        }
        #expect(ground.now == ground.text)
        try await ground.hub.stop()
    }

    @Test func `R8.184 R8.185 a plugin for all persons may describe one, and a plugin for some persons may not`()
        async throws
    {
        let ground = try await Ground()
        let zone = #""person":"me","set":["zone=\"Asia/Tokyo\""]"#
        let elsewhere = #""person":"me","set":["zone=\"${TZ}\""]"#
        let web = try await ground.hub.plugin("web", plugin: "page")
        #expect(try await Self.describe(web, elsewhere)["code"].string == "forbidden")
        #expect(try await web.command("configure", "{\(zone)}").code == "hello-first")
        #expect(ground.now == ground.text.replacing("[person.me]\n", with: "[person.me]\nzone = \"Asia/Tokyo\"\n"))
        try await eventually("the hub has finished the command") {
            let again = try await Self.describe(ground.owner, zone, dryRun: true)
            return again["result"]["applied"].truth == true && again["result"]["changes"].array.isEmpty
        }
        try await ground.hub.stop()

        let narrow = try await Ground(web: #"persons = ["me"]"#)
        let some = try await narrow.hub.plugin("web", plugin: "page")
        for args in [zone, #""person":"anna""#, #""hub":true,"set":["zone=\"Asia/Tokyo\""]"#] {
            let refused = try await Self.describe(some, args)
            #expect(refused["code"].string == "forbidden", "\(args): \(refused)")
            #expect(refused["reason"].string?.contains("hub configure --") == true, "\(refused)")
        }
        #expect(narrow.now == narrow.text)
        try await narrow.hub.stop()
    }

    @Test func `R12.10 a plugin without the grant is refused with the line that grants it`()
        async throws
    {
        let ground = try await Ground(granted: #"["plugins", "apply"]"#)
        let web = try await ground.hub.plugin("web", plugin: "page")
        let refused = try await web.command("configure", #"{"instance":"probe","enabled":false}"#)
        #expect(refused.code == "forbidden", "\(refused)")
        #expect(refused.body["reason"].string?.contains("configure") == true, "\(refused)")
        #expect(ground.now == ground.text)
        try await ground.hub.stop()
    }

    @Test func `R8.182 a file that was changed by someone else is not written`() async throws {
        let ground = try await Ground()
        let args = #""set":["mode=\"x\""]"#
        let revision = try await Self.configure(ground.owner, args, dryRun: true)["result"]["revision"].string ?? ""
        _ = try await Self.configure(ground.owner, #""set":["count=4"]"#)
        let late = try await Self.configure(ground.owner, args + #","revision":"\#(revision)""#)
        #expect(late["code"].string == "changed", "\(late)")
        let other = ground.now.replacing("# the end", with: "# the very end")
        try other.write(toFile: ground.path, atomically: true, encoding: .utf8)
        let refused = try await Self.configure(ground.owner, args)
        #expect(refused["code"].string == "changed" && refused["reason"].string?.contains("hub apply") == true)
        #expect(ground.now == other)
        _ = try await ground.owner.command("apply")
        #expect(try await Self.configure(ground.owner, args)["result"]["applied"].truth == true)
        try FileManager.default.removeItem(atPath: ground.path)
        #expect(try await Self.configure(ground.owner, args)["code"].string == "changed")
        try await ground.hub.stop()
    }

    @Test func `a value with any characters is read back unchanged, and no other setting changes`()
        async throws
    {
        let ground = try await Ground()
        for text in [
            #"\""#, #"\"\"\""#, #"a\nb\r\nc"#, #"x\"\n[plugin.web.grants]\nowner = [\"*\"]\n"#, #"\\"#, #"# no"#,
            #"'''"#,
            #"\u007f\u0001\u2028"#,
        ] {
            let done = try await Self.configure(
                ground.owner,
                #""set":["mode=\#("\"\(text)\"".replacing("\\", with: "\\\\").replacing("\"", with: "\\\""))"]"#)
            #expect(done["result"]["applied"].truth == true, "\(text): \(done)")
            let known = try await ground.owner.query("", want: "plugins").body["plugins"].array
            let probe = known.first { $0["name"].string == "probe" }
            #expect(probe?["settings"]["mode"].description == done["result"]["changes"][0]["after"].description)
            #expect(known.count == 3 && !ground.now.contains("\n[plugin.web.grants]"))
        }
        _ = try await Self.configure(ground.owner, #""unset":["mode"]"#)
        #expect(ground.now == ground.text)
        try await ground.hub.stop()
    }
}
