import HubSettings
import HubWire
import Samples
import Testing

@Suite struct ConfigurationTests {
    @Test(arguments: ["data", "run"]) func `a directory of the hub is refused if a file is in its place`(key: String) {
        var environment = SettingsEnvironment.sample
        environment.isDirectory = { path in ["/": true, "/etc": true, "/etc/passwd": false][path] }
        func problems(_ path: String) -> [String] {
            let text = "[hub]\n\(key == "data" ? "" : "data = \"/d\"\n")\(key) = \"\(path)\"\n"
            return load(text, environment: environment).problems.map(\.description)
        }
        let line = key == "data" ? 2 : 3
        for path in ["/etc/passwd", "/etc/passwd/hub/data"] {
            #expect(
                problems(path) == [
                    "hub.conf:\(line): [hub] \(key) = \"\(path)\": expected a directory, or a place for one; /etc/passwd is a file"
                ])
        }
        #expect(problems("/etc/hub/data") == [] && problems("/nowhere") == [])
    }

    @Test func `a program's objections are reported at their settings, without secrets`() {
        let objections: [String: [SettingObjection]] = [
            "exist": [
                .init(setting: "client_secret", reason: "too short"),
                .init(setting: "client_id", reason: "needs a secret"),
                .init(.warning, reason: "said nothing"),
            ]
        ]
        let loaded = HubConfiguration.load(
            text: "[hub]\ndata = \"/d\"\n[plugin.exist]\nclient_id = \"x\"\nclient_secret = \"${EXIST_SECRET}\"\n",
            file: "hub.conf", environment: .sample, objections: objections, manifests: sampleManifest)
        #expect(
            loaded.lines == [
                "hub.conf:3: warning: [plugin.exist]: said nothing",
                "hub.conf:4: [plugin.exist] client_id = \"x\": needs a secret",
                "hub.conf:5: [plugin.exist] client_secret = <secret>: too short",
            ])
        #expect(loaded.refusedInstances == ["exist"] && loaded.configuration?.plugins.isEmpty == true)
    }

    @Test func `grants accept a star for all types, and a vendor's prefix with a star for types not known yet`() {
        func granting(_ grants: String) -> LoadedConfiguration {
            load(goodFile.replacing("{ write = [\"weight\"] }", with: grants))
        }
        let good = granting(#"{ read = ["*"], write = ["x.acme.*", "weight"] }"#)
        #expect(good.lines == [])
        #expect(good.configuration?.plugins.first?.grants == .init(read: ["*"], write: ["x.acme.*", "weight"]))
        let bad = granting(#"{ read = ["wei*"] }"#)
        #expect(bad.lines.count == 1)
        #expect(
            bad.lines.first?.hasSuffix(
                #"[plugin.ihealth-hs3.grants] read = ["wei*"]: element 1: expected "*" for all that it asks for, "x.VENDOR.*", a type, or "!TYPE" for one that is denied, such as "weight""#
            ) == true, "\(bad.lines)")
    }

    @Test func `day_start of a person warns that it has no effect and names the setting to use`() {
        let loaded = load("[person.anna]\nday_start = \"04:00\"\n")
        #expect(
            loaded.lines == [
                "hub.conf:2: warning: [person.anna] day_start = \"04:00\": has no effect; the gap-filler has this setting: day_starts = [\"anna=04:00\"] in [plugin.gap-filler]"
            ])
        #expect(loaded.configuration?.persons == [PersonSection(name: "anna")])
    }

    @Test func `a good file is read into typed values with every default filled in`() throws {
        let loaded = load(goodFile)
        #expect(loaded.lines == [])
        #expect(loaded.refusedInstances == [])
        let configuration = try #require(loaded.configuration)
        #expect(
            configuration.hub
                == HubSection(
                    data: "/home/anna/hub", run: "/run/user/1000/health-hub",
                    clock: .simulated(start: Timestamp(microseconds: 1_767_225_600_000_000), rate: 1440),
                    memoryLimit: ByteSize(bytes: 268_435_456),
                    zone: "Europe/Berlin"))
        var anna = PersonSection(name: "anna")
        anna.height = 171.5
        anna.birthDate = LocalDate("1980-04-12")
        anna.sex = .female
        anna.unit = .kilograms
        anna.slots = ["ihealth-hs3": 3]
        var ben = PersonSection(name: "ben")
        ben.expectedWeight = 82
        #expect(configuration.persons == [anna, ben])
        #expect(
            configuration.plugins == [
                PluginInstance(
                    name: "ihealth-hs3", persons: .only(["anna"]), grants: .init(write: ["weight"]),
                    settings: [
                        "address": .string("00:4D:32:1A:2B:3C"), "retry_after": .string("2min"), "channel": .integer(1),
                        "link": .string("rfcomm"),
                    ]),
                PluginInstance(
                    name: "exist",
                    settings: [
                        "client_secret": .secret(Secret("s3cret-of-exist")),
                        "base_url": .string("https://exist.io/api/2/"),
                        "attributes": .list([.string("weight"), .string("steps")]),
                    ]),
                PluginInstance(name: "later", enabled: false),
            ])
        #expect(configuration.plugins[0].settings["retry_after"]?.duration?.microseconds == 120_000_000)
    }

    @Test func `every mistake of a bad file is reported at once, with its line`() {
        let text = """
            zone = "Europe/Berlin"
            [hub]
            keep_raw = "yes"
            log_level = "inof"
            memory_limit = "5"
            zone = "Europe/Belrin"
            cloak = "system"
            clock = "2026-02-30T00:00:00Z@2"
            [person.anna]
            height = 1.71
            slots = { ihealth-hs3 = 3, ihealth-hs9 = 1 }
            birth_date = "1980-02-30"
            [person.ben]
            slots.ihealth-hs3 = 3
            [person."b c"]
            [persn.carl]
            [plugin.ihealth-hs3]
            address = "00:4D:32"
            retry_after = "2h"
            channel = 31
            link = "tpc"
            persons = ["anna", "bne"]
            [plugin.exist]
            client_id = ["a"]
            client_secrt = "topsecret"
            base_url = "exist.io"
            attributes = ["weight", 5]
            factor = nan
            [plugin.unknown]
            [plugin.ihealth-hs4]
            adress = "x"
            """
        let loaded = load(text)
        #expect(loaded.configuration == nil)
        #expect(loaded.refusedInstances == ["ihealth-hs3", "exist", "unknown", "ihealth-hs4"])
        let expected = """
            hub.conf:1: zone: belongs below [hub]
            hub.conf:3: [hub] keep_raw = "yes": expected true or false
            hub.conf:4: [hub] log_level = "inof": expected one of "trace", "debug", "info", "notice", "warning", "error" or "critical"; did you mean "info"?
            hub.conf:5: [hub] memory_limit = "5": expected a size of at least 64MiB, such as "256MiB"
            hub.conf:6: [hub] zone = "Europe/Belrin": expected an IANA time zone, such as "Europe/Berlin"; did you mean "Europe/Berlin"?
            hub.conf:7: [hub] cloak: unknown key; did you mean clock?
            hub.conf:8: [hub] clock = "2026-02-30T00:00:00Z@2": expected "system" or START@RATE: a time with offset and a rate of 0.001 to 10000000, such as "2026-01-01T00:00:00Z@1440"
            hub.conf:10: [person.anna] height = 1.71: expected a number from 30.0 to 280.0
            hub.conf:11: [person.anna] slots.ihealth-hs9: there is no [plugin.ihealth-hs9]; did you mean ihealth-hs3?
            hub.conf:12: [person.anna] birth_date = "1980-02-30": expected a date, such as 1980-04-12
            hub.conf:14: [person.ben] slots.ihealth-hs3 = 3: [person.anna] has this position already; give each person their own
            hub.conf:15: [person."b c"]: a name is 1 to 64 letters A–Z a–z, digits and _ . -, the first a letter or digit; write [person.b-c], and display_name = "b c" below it
            hub.conf:16: [persn]: unknown table; did you mean [person.<name>]?
            hub.conf:18: [plugin.ihealth-hs3] address = "00:4D:32": expected six pairs of hex digits, such as "00:4D:32:1A:2B:3C"
            hub.conf:19: [plugin.ihealth-hs3] retry_after = "2h": expected a duration from 1s to 1h, such as "30s", "5min" or "2h"
            hub.conf:20: [plugin.ihealth-hs3] channel = 31: expected a whole number from 1 to 30
            hub.conf:21: [plugin.ihealth-hs3] link = "tpc": expected one of "rfcomm", "tcp" or "serial"; did you mean "tcp"?
            hub.conf:22: [plugin.ihealth-hs3] persons = "bne": there is no [person.bne]; did you mean "ben"?
            hub.conf:24: [plugin.exist] client_id = ["a"]: expected text
            hub.conf:25: [plugin.exist] client_secrt: unknown key; did you mean client_secret?
            hub.conf:26: [plugin.exist] base_url = "exist.io": expected a URL that begins with https:// or http://
            hub.conf:27: [plugin.exist] attributes = ["weight", 5]: element 2: expected text
            hub.conf:28: [plugin.exist] factor = nan: expected a number from 0.0 to 1.0
            hub.conf:29: [plugin.unknown] executable = "hub-unknown": no such plugin, or it does not answer --describe; install it, correct executable, or set enabled = false
            hub.conf:30: [plugin.ihealth-hs4] address: missing, and needed; expected six pairs of hex digits, such as "00:4D:32:1A:2B:3C"
            hub.conf:31: [plugin.ihealth-hs4] adress: unknown key; did you mean address?
            """
        #expect(loaded.lines.joined(separator: "\n") == expected)
    }

    @Test func `instances and kinds cannot have the hub's own names, and a program's fault is the given reason`() {
        let loaded = HubConfiguration.load(
            text: """
                [plugin.hub]
                [plugin.hand]
                enabled = false
                [plugin.mine]
                kind = "hand"
                [plugin.other]
                """, file: "hub.conf", environment: .sample, faults: ["other": "it printed nothing"]
        ) { name, _ in name == "other" ? nil : [] }
        #expect(
            loaded.lines == [
                "hub.conf:1: [plugin.hub]: hub is a name of the hub's own; take another",
                "hub.conf:2: [plugin.hand]: hand is a name of the hub's own; take another",
                "hub.conf:5: [plugin.mine] kind = \"hand\": that is a name of the hub's own; expected the name that the program says with --describe",
                "hub.conf:6: [plugin.other] executable = \"hub-other\": it printed nothing",
            ])
        #expect(loaded.refusedInstances == ["hub", "hand", "mine", "other"])
    }

    @Test func `run is refused for a remote instance, because the hub does not start it`() {
        let text = """
            [hub]
            tcp = "tcp://127.0.0.1:7788"
            [plugin.exist]
            remote = true
            run = "hourly"
            grants = { write = ["weight"] }
            """
        #expect(
            load(text).lines == [
                "hub.conf:5: [plugin.exist] run = \"hourly\": the hub starts and ends nothing on another machine; remove run, and start the program there (cron, a systemd timer), or remove remote"
            ])
        #expect(load(text.replacing("run = \"hourly\"\n", with: "")).lines.isEmpty)
        #expect(load(text.replacing("remote = true\n", with: "")).lines.isEmpty)
    }

    @Test func `an instance with a mistake does not prevent other instances from loading`() throws {
        let loaded = load("[plugin.ihealth-hs3]\naddress = 5\n[plugin.exist]\n[plugin.nowhere]\n")
        #expect(loaded.refusedInstances == ["ihealth-hs3", "nowhere"])
        #expect(try #require(loaded.configuration).plugins.map(\.name) == ["exist"])
    }

    @Test func `names that differ only in case and instances that duplicate another are reported`() {
        let text = """
            [plugin.exist]
            [plugin.Exist]
            executable = "hub-exist"
            """
        #expect(
            load(text).lines == [
                "hub.conf:2: [plugin.Exist]: differs from [plugin.exist] only in case; rename one",
                "hub.conf:2: warning: [plugin.Exist]: does the same as [plugin.exist]: the same executable with the same settings and persons; disable one",
            ])
    }

    @Test func `instances with one executable for different persons are not duplicates`() {
        func text(_ second: String) -> String {
            """
            [person.anna]
            [person.ben]
            [plugin.exist]
            persons = ["anna"]
            [plugin.exist-ben]
            executable = "hub-exist"
            persons = ["\(second)"]
            """
        }
        #expect(load(text("ben")).lines == [])
        #expect(load(text("anna")).lines.count == 1)
    }

    @Test(arguments: [(95, 0), (96, 1)])
    func `a run directory is refused if its longest socket path has 108 bytes or more`(length: Int, problems: Int) {
        let directory = "/" + String(repeating: "r", count: length - 1)
        let loaded = load("[hub]\n\nrun = \"\(directory)\"\n")
        #expect(
            loaded.lines
                == Array(
                    repeating:
                        "hub.conf:3: [hub] run = \"\(directory)\": the socket path \(directory)/plugin-door has 108 bytes and the system allows 107; set run to a directory of at most 95 bytes",
                    count: problems))
    }

    @Test func `without HOME the data directory must be set`() {
        let environment = SettingsEnvironment(variables: [:], currentDirectory: "/") { _ in
            throw UnreadableFile(reason: "none")
        }
        #expect(
            load("", environment: environment).lines == [
                "hub.conf:1: [hub] data: missing, and HOME is not set; write a directory"
            ])
        #expect(load("[hub]\ndata = 'd'", environment: environment).configuration?.hub.run == "/d/run")
    }

    @Test func `a contradictory manifest is reported as the plugin's fault`() {
        let loaded = HubConfiguration.load(
            text: "[plugin.odd]\n", file: "hub.conf", environment: .sample,
            manifests: { _, _ in [SettingDeclaration("rate", .integer(Bounds(5, 1)), help: "A rate.")] })
        #expect(
            loaded.lines == [
                "hub.conf:1: [plugin.odd] executable = \"hub-odd\": its manifest is wrong: setting \"rate\": minimum 5 is above maximum 1"
            ])
    }

    @Test func `only zones of the time zone database are accepted, not offsets`() {
        for zone in ["Europe/Berlin", "UTC", "America/Argentina/Buenos_Aires", "Etc/GMT+3"] {
            #expect(load("[hub]\nzone = \"\(zone)\"").lines == [], "\(zone)")
        }
        for zone in ["GMT+3", "Europe", "Europe/Nowhere", "../etc/passwd", "europe berlin"] {
            #expect(load("[hub]\nzone = \"\(zone)\"").problems.count == 1, "\(zone)")
        }
    }

    @Test func `a settings file of one plugin is checked like its table`() {
        let bad = SettingsFile.load(
            text: "addres = 1\nchannel = 99", file: "scale.toml", environment: .sample, declarations: scaleSettings)
        #expect(bad.settings == nil)
        #expect(
            bad.problems.map(\.description) == [
                "scale.toml:1: address: missing, and needed; expected six pairs of hex digits, such as \"00:4D:32:1A:2B:3C\"",
                "scale.toml:1: addres: unknown key; did you mean address?",
                "scale.toml:2: channel = 99: expected a whole number from 1 to 30",
            ])
        let good = SettingsFile.load(
            text: "address = '00:4D:32:1A:2B:3C'", file: "scale.toml", environment: .sample, declarations: scaleSettings
        )
        #expect(good.problems.isEmpty)
        #expect(good.settings?["retry_after"]?.duration == SettingDuration("30s"))
    }
}
