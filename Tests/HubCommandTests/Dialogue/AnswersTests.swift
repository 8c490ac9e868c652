import Foundation
import HubClient
import HubProcess
import HubSettings
import HubWire
import Testing

@testable import HubCommand

/// `hub setup` with its answers in a file, as a script uses it.
@Suite struct AnswersTests {
    private static let answers = """
        [person.anna]
        unit = "lb"
        [person.ben]
        expected_weight = 82.5
        [plugin.json-lines]
        path = "~/records"
        """

    @Test func `a new file is the project's hub.conf with the answers in place, and hub check accepts it`() async throws
    {
        let scene = try SetupScene()
        let answers = try scene.folder.write(Self.answers, to: "answers.conf")
        let result = try await scene.hub(["setup", "--answers", answers, "--yes"])
        #expect(result.code == 0, "\(result)")
        let text = try scene.text()
        let project = HubTemplate.text
        #expect(text.contains("[person.anna]\n"))
        #expect(text.contains("\nunit = \"lb\"                                # of weights: kg, lb, st\n"), "\(text)")
        #expect(text.contains("\n\n[person.ben]\nexpected_weight = 82.5\n\n# How long"), "\(text)")
        #expect(text.contains("[plugin.json-lines]\nenabled = true\npath = \"~/records\""), "\(text)")
        // All comments of the project's file are kept, except the sample of the setting that was answered.
        let missing = project.split(separator: "\n").filter { $0.hasPrefix("#") && !text.contains($0) }
        #expect(missing.map(String.init).filter { !$0.hasPrefix("# unit = ") && !$0.contains("[\"me\"]") } == [])
        let check = try await scene.hub(["check"])
        #expect(check.code == 0 && check.output.contains("ok, 2 persons, 1 plugin"), "\(check)")
        let mode = try FileManager.default.attributesOfItem(atPath: scene.path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        #expect(result.errors.contains("  hub run\n") && result.errors.contains("hub service install"), "\(result)")

        let again = try await scene.hub(["setup", "--answers", answers, "--yes"])
        #expect(again.code == 0 && again.errors.contains("it is so already"), "\(again)")
        #expect(try scene.text() == text)
    }

    private static let odd = """
        # ours

        [hub]
          zone   =   "Europe/Berlin"   # here

        [person."a.b"]
        [person.me]  # who else
        # a thought
        height = 170
        [person.me.slots]

        [plugin.json-lines]
        enabled = false # not now
        path = 'files'
        # the end
        """

    @Test(arguments: ["\n", "\r\n"])
    func `in a file with unusual formatting only the answers change, and undo restores every byte`(
        _ ending: String
    ) async throws {
        let scene = try SetupScene()
        let old = (Self.odd + "\n").replacing("\n", with: ending)
        let file = try scene.folder.write(old, to: "my.conf")
        let answers = try scene.folder.write(
            "[person.me]\nunit = \"kg\"\n[person.zoe]\n[plugin.json-lines]\npath = \"other\"\n", to: "answers.conf")
        let words = ["setup", "--config", file, "--answers", answers]
        let dry = try await scene.hub(words + ["--dry-run", "--json"])
        #expect(dry.code == 0, "\(dry)")
        #expect(try scene.text(file) == old)
        struct Report: Decodable {
            struct Change: Decodable { var table: String?, line: String }
            var changes: [Change]
            var written, created: Bool
        }
        let report = try JSONDecoder().decode(Report.self, from: Data(dry.output.utf8))
        #expect(!report.written && !report.created)
        #expect(report.changes.map(\.line).contains("+ unit = \"kg\""), "\(dry.output)")

        let result = try await scene.hub(words + ["--yes"])
        #expect(result.code == 0, "\(result)")
        let expected = old.replacing("height = 170" + ending, with: "height = 170\(ending)unit = \"kg\"\(ending)")
            .replacing("[person.me.slots]" + ending, with: "[person.me.slots]\(ending)\(ending)[person.zoe]\(ending)")
            .replacing("enabled = false", with: "enabled = true").replacing("'files'", with: "\"other\"")
        #expect(try scene.text(file) == expected)
        #expect(try scene.text(file + ".before") == old)
        #expect(try await scene.hub(["check", "--config", file]).code == 0)

        let undo = try await scene.hub(["setup", "--undo", "--yes", "--config", file])
        #expect(undo.code == 0, "\(undo)")
        #expect(undo.errors.contains("This also undoes changes of hub.conf"), "\(undo)")
        #expect(try scene.text(file) == old)
        #expect(try scene.text(file + ".before") == expected)
    }

    @Test(arguments: [
        ("[person.anna]\nzone = \"Europe/Belin\"\n", 65, "did you mean \"Europe/Berlin\"?"),
        ("[person.anna]\nunit = \"x\"\n", 65, "answers.conf: [person.anna] unit = \"x\": expected"),
        ("[person.anna]\n[person.ben]\n[plugin.exist]\n", 64, "[plugin.exist] needs persons: which of anna, ben"),
        ("[person.'a b']\n", 64, "a name is 1 to 64 letters"), ("[person.anna\n", 64, "not TOML"),
        ("[retention.a]\n", 64, "write others by hand"),
        ("[plugin.json-lines]\nformat = \"xml\"\n", 65, "expected one of"),
        ("[plugin.nothing]\n", 65, "hub-nothing is not beside the hub"),
        ("[plugin.ihealth-hs3]\nlink = \"rfcomm://nowhere\"\n", 65, "[plugin.ihealth-hs3] link"),
        ("[plugin.json-lines]\ngrants = { read = [] }\n", 64, "hub permissions writes read"),
    ]) func `a wrong answer is refused with the right form, and no file is written`(
        _ text: String, _ code: Int32, _ reason: String
    ) async throws {
        let scene = try SetupScene()
        let answers = try scene.folder.write(text, to: "answers.conf")
        let result = try await scene.hub(["setup", "--answers", answers, "--yes"])
        #expect(result.code == code && result.errors.contains(reason), "\(result)")
        #expect(scene.files == ["answers.conf"])
    }

    @Test(arguments: ["ihealth-hs3", "kitchen"])
    func `a secret goes into a file of mode 0600, is never printed, and stays if it is answered again`(
        _ name: String
    ) async throws {
        let scene = try SetupScene()
        let answers = try scene.folder.write(
            "[plugin.\(name)]\nkind = \"ihealth-hs3\"\nlink = \"hsl-accept://0.0.0.0:4711\"\ntoken = \"apple tree\"\ndevice_id = \"020000003001\"\n",
            to: "answers.conf")
        let result = try await scene.hub(["setup", "--answers", answers, "--yes"])
        #expect(result.code == 0, "\(result)")
        #expect(!result.output.contains("apple tree") && !result.errors.contains("apple tree"))
        #expect(try !scene.text().contains("apple tree"))
        #expect(try scene.text().contains("token = \"${file:\(name)-token.secret}\""))
        let secret = scene.folder.path + "/.config/health-hub/\(name)-token.secret"
        #expect(try scene.text(secret) == "apple tree\n")
        let mode = try FileManager.default.attributesOfItem(atPath: secret)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        #expect(try await scene.hub(["check"]).code == 0)
        let files = scene.files
        let again = try await scene.hub(["setup", "--answers", answers, "--yes"])
        #expect(again.code == 0 && again.errors.contains("it is so already"), "\(again)")
        #expect(scene.files == files)
    }

    @Test(.enabled(if: geteuid() == 0, "needs root"), arguments: [false, true])
    func `files that root writes belong to the owner of hub.conf, or of its folder if hub.conf is new`(
        isNew: Bool
    ) async throws {
        let scene = try SetupScene()
        let folder = scene.folder.path + "/etc"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        let file = folder + "/hub.conf"
        if !isNew { try scene.folder.write("[person.me]\n", to: "etc/hub.conf") }
        for path in isNew ? [folder] : [folder, file] { #expect(chown(path, 65534, 65534) == 0) }
        let answers = try scene.folder.write(
            "[plugin.ihealth-hs3]\nlink = \"hsl-accept://0.0.0.0:4711\"\ntoken = \"apple tree\"\ndevice_id = \"020000003001\"\n",
            to: "answers.conf")
        let result = try await scene.hub(["setup", "--config", file, "--answers", answers, "--yes"])
        #expect(result.code == 0, "\(result)")
        for path in [file, folder + "/ihealth-hs3-token.secret"] {
            let owner = try FileManager.default.attributesOfItem(atPath: path)[.ownerAccountID] as? Int
            #expect(owner == 65534, "\(path)")
        }
    }

    @Test func `printed changes never contain secrets, in any TOML form, nor values that may be secrets`()
        async throws
    {
        let scene = try SetupScene()
        let file = try scene.folder.write(
            "plugin = { ihealth-hs3 = { enabled = false, link = \"udp://a\", token = \"geheim 1\" } }\n", to: "my.conf")
        try scene.folder.write(
            """
            [plugin.ihealth-hs3]
            enabled = false
            link = "udp://b"
            "token" = \"\"\"
            geheim 2
            geheim 3\"\"\"
            # token = "geheim 4"
            [plugin.far]
            remote = true
            password = "geheim 5"

            """, to: "my.conf.before")
        for words in [["--dry-run"], ["--dry-run", "--json"], ["--yes"]] {
            let undo = try await scene.hub(["setup", "--undo", "--config", file] + words)
            #expect(undo.code == 0 && undo.output.contains("udp://b") && undo.output.contains("udp://a"), "\(undo)")
            #expect(!undo.output.contains("geheim") && !undo.errors.contains("geheim"), "\(undo)")
        }
        #expect(try scene.text(file).contains("geheim 5") && scene.text(file + ".before").contains("geheim 1"))
    }

    @Test func `a section answered as disabled is written if it has settings, and left out otherwise`()
        async throws
    {
        let scene = try SetupScene()
        let file = try scene.folder.write("[person.me]\n", to: "my.conf")
        let answers = try scene.folder.write(
            "[hub]\nzone = \"Asia/Tokyo\"\n[plugin.json-lines]\nenabled = false\npath = \"~/r\"\n[plugin.web]\nenabled = false\n",
            to: "answers.conf")
        let result = try await scene.hub(["setup", "--config", file, "--answers", answers, "--yes"])
        #expect(result.code == 0, "\(result)")
        let text = try scene.text(file)
        // A hub.conf needs no [hub] section and gets one if a setting of it is answered.
        #expect(text.hasPrefix("[person.me]\n\n[hub]\nzone = \"Asia/Tokyo\"\n"), "\(text)")
        #expect(text.contains("[plugin.json-lines]\nenabled = false\npath = \"~/r\""), "\(text)")
        #expect(!text.contains("plugin.web"), "\(text)")
    }

    @Test func `a file that another program has changed meanwhile is not overwritten, nor is the backup for undo`()
        throws
    {
        let scene = try SetupScene()
        let path = try scene.folder.write("[person.me]\n", to: "my.conf")
        try scene.folder.write("# the one before\n", to: "my.conf.before")
        let file = try SetupFile(named: path)
        var draft = SetupDraft(path: file.path, old: file.text)
        try draft.addPerson("anna")
        try draft.set(["plugin", "x"], "token", secret: "apple tree")
        try scene.folder.write("[person.ben]\n", to: "my.conf")
        let failure = #expect(throws: Failure.self) { try file.write(draft) }
        #expect(failure?.exit == .tryAgain)
        #expect(try scene.text(path) == "[person.ben]\n" && scene.text(path + ".before") == "# the one before\n")
        #expect(scene.files == ["my.conf", "my.conf.before"])
    }

    @Test func `a removed line is listed under its former section`() {
        let old = "[hub]\n[plugin.a]\nenabled = true\n[person.b]\nunit = \"kg\"\n"
        let draft = SetupDraft(path: "/x/hub.conf", old: old, text: "[hub]\n[person.b]\nunit = \"lb\"\n")
        #expect(
            SetupReport(draft).changes.map { "\($0.table ?? "") \($0.line)" } == [
                "[plugin.a] - [plugin.a]", "[plugin.a] - enabled = true", "[person.b] - unit = \"kg\"",
                "[person.b] + unit = \"lb\"",
            ])
    }

    @Test func `without a terminal and without answers, setup names the options to give`() async throws {
        let scene = try SetupScene()
        for words in [[], ["--dry-run"], ["--undo"], ["--answers", "-"]] {
            let result = try await scene.hub(["setup"] + words)
            let remedy = words == ["--undo"] ? "say --yes" : "--answers FILE and --yes"
            #expect(result.code == 64 && result.errors.contains(remedy), "\(result)")
        }
        #expect(scene.files == [])
        let undo = try await scene.hub(["setup", "--undo", "--yes"])
        #expect(undo.code == 1 && undo.errors.contains("has replaced none"), "\(undo)")
    }

    @Test func `a new file begins as the project's hub.conf, which lists all rights that the web page asks for`()
        async throws
    {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../hub.conf")
        #expect(try String(contentsOf: file, encoding: .utf8) == HubTemplate.text)
        #expect(
            HubTemplate.plugins.contains("ihealth-hs3") && HubTemplate.shown("exist").commented.contains("client_id"))
        #expect(HubTemplate.owner("web") == ["*"])
        struct Manifest: Decodable { var owner: [String] }
        let described = try await ChildProcess("hub-web", ["--describe"]).result().output
        let asked = try JSONDecoder().decode(Manifest.self, from: Data(described.utf8)).owner
        let shown = HubTemplate.section("web") ?? ""
        #expect(asked.count > 10 && asked.filter { !shown.contains("\"\($0)\"") } == [])
    }

    @Test func `setup refuses a file with errors, which its author must correct first`() async throws {
        let scene = try SetupScene()
        for text in ["[hub\n", "[person.me]\nheigth = 1\n", "[hubb]\n"] {
            let file = try scene.folder.write(text, to: "my.conf")
            let result = try await scene.hub(["setup", "--config", file, "--yes"])
            #expect(result.code == 65 && result.errors.contains("hub check lists everything"), "\(result)")
            #expect(try scene.text(file) == text)
        }
    }

    @Test func `a folder that cannot be written is reported before the first question`() async throws {
        let scene = try SetupScene()
        let result = try await scene.hub(["setup", "--config", "/proc/hub.conf", "--yes"])
        #expect(result.code == 71 && result.errors.contains("/proc"), "\(result)")
    }
}
