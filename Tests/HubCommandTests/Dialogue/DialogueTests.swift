import Foundation
import HubClient
import HubProcess
import HubSettings
import Testing

@testable import HubCommand

/// `hub setup` with a person at a terminal.
@Suite(.timeLimit(.minutes(4))) struct DialogueTests {
    @Test func `setup leads from nothing to a running hub that has the weight of a scale`() async throws {
        let scene = try SetupScene()
        let scale = try ChildProcess(
            "hub-scale-sim", ["hs3", "--listen", "tcp://127.0.0.1:0", "--memory", "1", "--play", "1", "--every", "1s"],
            environment: ["TZ": "UTC"])
        let link = try #require(await scale.lines(count: 1) { $0.contains("tcp://") }.first)
        let address = try #require(link.firstMatch(of: /tcp:\/\/[0-9.:]+/)).output
        let (person, setup) = try scene.typist()
        try await person.answer("Time zone [Europe/Berlin, this machine's]:", "Europe/Belin")
        try await person.answer("did you mean \"Europe/Berlin\"?", "tokyo")
        try await person.wait(for: "taken as Asia/Tokyo")
        try await person.answer("Names with commas between [me]:", "anna, anna")
        try await person.answer("anna is there twice", "anna, !?")
        try await person.answer("!?: expected a letter", "anna and ben")
        try await person.answer("anna: language and region", "xx_YY")
        try await person.answer("there is no such language", "de_DE")
        try await person.answer("anna: unit of weights", "stone")
        try await person.answer("expected one of", "kg")
        try await person.answer("anna: time zone", "")
        try await person.answer("anna: usual weight", "heavy")
        try await person.answer("a number", "1,234")
        try await person.answer("a number", "74,5")
        for question in ["language", "unit", "time zone"] { try await person.answer("ben: \(question)", "") }
        // Far from the weight that the scale will give, so that its person is clear.
        try await person.answer("ben: usual weight", "52")
        try await person.answer("Which of them?", "ihealth-h3")
        try await person.answer("did you mean ihealth-hs3?", "HS3")
        try await person.answer("link [needed]:", "")
        try await person.answer("It is needed", "bluetooth")
        try await person.answer("expected rfcomm", String(address))
        try await person.answer("Further settings", "")
        try await person.answer("Answer again?", "y")
        try await person.answer("device_id", "020000003001")
        try await person.answer("Try it now", "y")
        // Nine hours, give or take a second: in the zone of the people, which is not in any file yet.
        try await person.answer("answers; its clock is 32", "")
        try await person.answer("Write \(scene.path)?", "y")
        #expect(await setup.result().code == 0, "\(person.screen)")
        #expect(try scene.text().contains("[person.anna]") && !scene.text().contains("[person.me]"))

        let hub = try scene.start(["run"])
        try await hub.line { $0.hasPrefix("hub: ready: ") }
        let seen = try await scene.hub(["tap", "sample/weight/", "--since", "0", "--count", "1"])
        #expect(seen.code == 0 && seen.output.contains("weight"), "\(seen)")
        hub.signal(SIGTERM)
        #expect(await hub.result().code == 0)
    }

    /// The question on the screen when Ctrl-C is pressed, and the answers before it.
    private static let questions: [(question: String, answer: String)] = [
        ("Time zone", ""), ("Who are the people?", "anna"), ("anna: language", ""), ("anna: unit", "kg"),
        ("Which of them?", "1"), ("link [needed]:", "hsl-accept://0.0.0.0:4711"), ("Further settings", "n"),
        ("Answer again?", "y"), ("token (not displayed)", "apple tree"), ("Try it now", "n"), ("Write ", "y"),
    ]

    @Test func `Ctrl-C ends setup as soon as its handler is installed`() async throws {
        let scene = try SetupScene()
        let (person, setup) = try scene.typist()
        let status = "/proc/\(setup.pid)/status"
        func catches() throws -> Bool {
            let line = try String(contentsOfFile: status, encoding: .utf8).split(separator: "\n")
                .first { $0.hasPrefix("SigCgt:") }
            let mask = line.flatMap { UInt64($0.dropFirst(7).trimmingCharacters(in: .whitespaces), radix: 16) }
            return (mask ?? 0) & 1 << (SIGINT - 1) != 0
        }
        while try !catches() { try Task.checkCancellation() }
        setup.signal(SIGINT)
        #expect(await setup.result().code == 130, "\(person.screen)")
        #expect(scene.files == [], "\(person.screen)")
    }

    // The first, one in the middle, one whose answer is hidden, and the last, when a secret waits to be written.
    @Test(arguments: [0, 4, 8, 10]) func `Ctrl-C at any question leaves no file`(_ index: Int) async throws {
        let scene = try SetupScene()
        let (person, setup) = try scene.typist()
        for (question, answer) in Self.questions[..<index] { try await person.answer(question, answer) }
        try await person.wait(for: Self.questions[index].question)
        person.type("\u{3}")
        #expect(await setup.result().code == 130, "\(person.screen)")
        #expect(scene.files == [], "\(person.screen)")
        #expect(!person.screen.contains("apple tree"))
    }

    @Test func `a second run shows the current settings, and Enter to every question changes nothing`() async throws {
        let scene = try SetupScene()
        let answers = try scene.folder.write(
            "[hub]\nzone = \"Asia/Tokyo\"\n[person.anna]\nunit = \"lb\"\n[plugin.web]\n[plugin.json-lines]\npath = \"/tmp/x\"\n",
            to: "a")
        #expect(try await scene.hub(["setup", "--answers", answers, "--yes"]).code == 0)
        let text = try scene.text()
        let (person, setup) = try scene.typist()
        for question in [
            "Time zone [Asia/Tokyo]:", "Who else?", "anna: language", "anna: unit of weights (kg, lb or st) [lb]:",
            "[web, json-lines]:", "listen [127.0.0.1:7790]:", "May it do what you may do here? [y/N]", "Try it now",
            "path [/tmp/x]:",
        ] { try await person.answer(question, "") }
        try await person.answer("Further settings", "")
        try await person.wait(for: "it is so already; nothing was changed")
        #expect(await setup.result().code == 0, "\(person.screen)")
        #expect(try scene.text() == text)
    }

    @Test(arguments: [nil, "[person.anna]\n\n[plugin.web]\nenabled = false\nlisten = \"127.0.0.1:7790\"\n"])
    func `Enter grants the page its owner's rights, also if its section was present but disabled`(_ before: String?)
        async throws
    {
        let scene = try SetupScene()
        if let before {
            let file = URL(filePath: scene.path)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try before.write(to: file, atomically: true, encoding: .utf8)
        }
        let (person, setup) = try scene.typist()
        try await person.answer("Time zone", "")
        if before == nil {
            try await person.answer("Who are the people?", "anna")
        } else {
            try await person.answer("Who else?", "")
        }
        try await person.answer("anna: language", "")
        try await person.answer("anna: unit", "kg")
        try await person.answer("Which of them?", "web")
        try await person.answer("listen [127.0.0.1:7790]:", "")
        try await person.answer("May it do what you may do here? [Y/n]", "?")
        try await person.answer("With yes it may do for you: ", "")
        try await person.answer("Try it now", "n")
        try await person.answer("Write ", "y")
        #expect(await setup.result().code == 0, "\(person.screen)")
        let text = try scene.text()
        #expect(text.contains("owner = [\"*\"]"), "\(text)")
    }

    @Test func `a setting that cannot be written is reported with the line to write, and asked for again`() async throws
    {
        let scene = try SetupScene()
        let file = try scene.folder.write("hub.data = \"\(scene.folder.path)/d\"\n[person.me]\n", to: "my.conf")
        let (person, setup) = try scene.typist("--config", file)
        try await person.answer("Time zone", "Asia/Tokyo")
        try await person.answer("write zone = \"Asia/Tokyo\" there by hand", "")
        try await person.wait(for: "Who else?")
        person.type("\u{3}")
        #expect(await setup.result().code == 130, "\(person.screen)")
    }

    @Test func `a setting that a refusal suggests is asked for, even if it was not before`() async throws {
        let scene = try SetupScene()
        let (person, setup) = try scene.typist()
        try await person.answer("Time zone", "")
        try await person.answer("Who are the people?", "anna")
        for question in ["language", "unit"] { try await person.answer("anna: \(question)", "") }
        try await person.answer("Which of them?", "http-ingest")
        try await person.answer("listen", "192.168.1.20:7780")
        try await person.answer("Further settings", "n")
        try await person.answer("or set plain_http = true", "y")
        for (question, answer) in [("listen", ""), ("certificate", ""), ("key", ""), ("plain_http", "yes")] {
            try await person.answer("  \(question) [", answer)
        }
        try await person.answer("Try it now", "n")
        try await person.answer("Write ", "y")
        #expect(await setup.result().code == 0, "\(person.screen)")
        #expect(try scene.text().contains("plain_http = true"))
    }

    @Test func `a second setup at the same time reports that another is at work`() async throws {
        let scene = try SetupScene()
        let (person, setup) = try scene.typist()
        try await person.wait(for: "Time zone")
        let other = try await scene.hub(["setup", "--yes"])
        #expect(other.code == 75 && other.errors.contains("another hub setup is at work"), "\(other)")
        person.type("\u{3}")
        #expect(await setup.result().code == 130)
        #expect(scene.files == [])
    }

    @Test func `a running hub applies the file if the person agrees`() async throws {
        let scene = try SetupScene()
        #expect(try await scene.hub(["setup", "--yes"]).code == 0)
        let hub = try scene.start(["run"])
        try await hub.line { $0.hasPrefix("hub: ready: ") }
        let (person, setup) = try scene.typist()
        try await person.answer("Time zone", "")
        try await person.answer("Who else?", "zoe")
        for name in ["me", "zoe"] {
            for question in ["language", "unit", "time zone", "usual weight"] {
                try await person.answer("\(name): \(question)", "")
            }
        }
        try await person.answer("Which of them?", "")
        try await person.answer("Write ", "")
        try await person.answer("A hub runs.", "")
        let result = await setup.result()
        #expect(result.code == 0 && result.output.contains("persons changed: zoe"), "\(result)")
        let status = try await scene.hub(["profile"])
        #expect(status.output.contains("zoe"), "\(status)")
        let undo = try await scene.hub(["setup", "--undo", "--yes"])
        #expect(undo.code == 0 && undo.output.contains("persons changed: zoe"), "\(undo)")
        hub.signal(SIGTERM)
        #expect(await hub.result().code == 0)
    }

    @Test func `a name in any script gets a section in plain letters, and both names refer to the person`() async throws
    {
        let scene = try SetupScene()
        let (person, setup) = try scene.typist()
        try await person.answer("Time zone", "")
        try await person.answer("Names with commas between [me]:", "Jürgen, JÜRGEN")
        try await person.answer("JÜRGEN is there twice", "Jürgen, Anna Maria, ben")
        try await person.wait(for: "Jürgen is juergen in hub.conf and in files; commands take both names")
        try await person.wait(for: "Anna Maria is anna-maria in hub.conf")
        for name in ["Jürgen", "Anna Maria", "ben"] {
            for question in ["language", "unit", "time zone", "usual weight"] {
                try await person.answer("\(name): \(question)", "")
            }
        }
        try await person.answer("Which of them?", "")
        try await person.answer("Write \(scene.path)?", "y")
        #expect(await setup.result().code == 0, "\(person.screen)")
        let text = try scene.text()
        #expect(text.contains("[person.juergen]\ndisplay_name = \"Jürgen\""), "\(text)")
        #expect(text.contains("[person.anna-maria]\ndisplay_name = \"Anna Maria\""), "\(text)")
        #expect(text.contains("[person.ben]\n") && !text.contains("[person.me]"), "\(text)")
        let check = try await scene.hub(["check"])
        #expect(check.code == 0, "\(check)")
    }

    @Test func `Ctrl-C after the file is written keeps it and prints the command that applies it`() async throws {
        let scene = try SetupScene()
        let file = try scene.folder.write("[person.me]\n", to: "my.conf")
        let hub = try scene.start(["run", "--config", file])
        try await hub.line { $0.hasPrefix("hub: ready: ") }
        let (person, setup) = try scene.typist("--config", file)
        try await person.answer("Time zone", "Asia/Tokyo")
        for question in ["Who else?", "language", "unit", "Which of them?"] { try await person.answer(question, "") }
        try await person.answer("Write ", "y")
        try await person.wait(for: "A hub runs.")
        person.type("\u{3}")
        #expect(await setup.result().code == 0, "\(person.screen)")
        // Its last lines may arrive after it has ended.
        try await person.wait(for: "hub apply --config \(file)")
        #expect(person.screen.contains("\(file) is written"), "\(person.screen)")
        #expect(try scene.text(file).contains("Asia/Tokyo"))
        hub.signal(SIGTERM)
        #expect(await hub.result().code == 0)
    }
}
