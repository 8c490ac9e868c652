import Foundation
import HubProcess
import Testing

/// The commands in Docs/Plugins.md, run as printed there.
@Suite(.timeLimit(.minutes(5))) struct WalkTests {
    private struct Walk: Sendable, CustomTestStringConvertible {
        let language, program, type: String
        /// The file of the plugin of which the document shows a part.
        let made: String
        let need: Need?
        var testDescription: String { language }
    }

    private static let walks = [
        Walk(language: "python", program: "in-python.sh", type: "heartRate", made: "pulse/hub-pulse", need: .pyzmq),
        Walk(
            language: "swift", program: "in-swift.sh", type: "bodyTemperature",
            made: "thermometer/Sources/Plugin.swift", need: nil),
        Walk(language: "sh", program: "in-shell.sh", type: "stepCount", made: "steps/program.sh", need: .jq),
    ]

    private struct Result: Sendable {
        var result: ChildProcess.Result
        /// The requested files of the folder.
        var files: [String: String] = [:]
    }

    /// Runs a script in a new folder, with a hub.
    private static func type(
        _ text: String, _ variables: [String: String] = [:], reading files: [String] = []
    ) async throws -> Result {
        let host = try HubHost()
        let script = try host.folder.write(text, to: "walk.sh")
        // The Python that has zmq comes first.
        let python = URL(filePath: try Tool.python(with: "zmq")).deletingLastPathComponent().path
        var environment = host.environment.merging(variables) { $1 }
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        environment["PATH"] = "\(Programs.folder):\(python):\(path)"
        let hub = try ChildProcess("hub", ["run", "--config", host.configuration], environment: environment)
        _ = await hub.errorLines(count: 1) { $0.contains("ready") }
        let walk = try ChildProcess(
            "/bin/sh", ["-ec", "cd \"$1\" && . \"$2\"", "sh", host.folder.path, script], environment: environment)
        var result = Result(result: await walk.result())
        for file in files {
            result.files[file] = try? String(contentsOfFile: "\(host.folder.path)/\(file)", encoding: .utf8)
        }
        hub.signal(SIGTERM)
        _ = await hub.waitForExit()
        return result
    }

    /// All run concurrently, because they wait most of the time; the first test starts them.
    private static let walked: [String: Task<Result, any Error>] = Dictionary(
        uniqueKeysWithValues: walks.filter { $0.need?.isMet != false }.map { walk in
            let more = walk.language == "python" ? ["how-good.sh"] : []
            return (
                walk.language,
                Task {
                    let document = try ReadmePrograms("Docs/Plugins.md")
                    let text = try ([walk.program] + more).map(document.text).joined()
                    return try await type(
                        text + (walk.language == "python" ? "hub plugins pulse\n" : ""),
                        reading: [walk.made, "thermometer/report.xml", "report.xml"])
                }
            )
        })

    private static let languages: [(String, Need?)] = [
        ("python", .pyzmq), ("swift", nil), ("sh", .jq), ("ruby", .ruby), ("php", .php), ("perl", .perl),
    ]
    /// One is enough for `make test`, because the walks also lead to a record.
    private static let firsts: [String: Task<Result, any Error>] = Dictionary(
        uniqueKeysWithValues: Thoroughness.some(languages).filter { $0.1?.isMet != false }.map { language, _ in
            (
                language,
                Task {
                    try await type(
                        try ReadmePrograms("Docs/Plugins.md").text("first-record.sh"), ["LANGUAGE": language])
                }
            )
        })

    init() { _ = (Self.walked, Self.firsts) }

    private func expectWalk(_ language: String) async throws {
        let walk = try #require(Self.walks.first { $0.language == language })
        let walked = try await #require(Self.walked[language]).value
        let result = walked.result
        #expect(result.code == 0 && result.output.contains(": platinum, "), "\(result)")
        // From the hub, and from the hub of hub plugin dev.
        #expect(result.output.split(separator: "\n").count { $0.contains("  \(walk.type)  ") } == 24, "\(result)")
        let shown = try ReadmePrograms("Docs/Plugins.md", mark: "made").text(walk.made)
        #expect(try #require(walked.files[walk.made]).contains(shown), "\(walk.made) is not as the document shows it")
    }

    @Test(.enabled(if: Need.pyzmq.isMet, "\(Need.pyzmq.reason)"))
    func `the walk in Python leads from nothing to platinum and to records on the feed`() async throws {
        try await expectWalk("python")
        let output = try await #require(Self.walked["python"]).value.result.output
        // R16.40
        #expect(output.contains("  tier     platinum, as hub plugin test found here on "), "\(output)")
        #expect(output.contains("kept    silver identity: "), "\(output)")
        #expect(output.contains("\n3 of 3 times all that concerns it was kept\n"), "\(output)")
    }

    @Test func `the walk in Swift leads from nothing to platinum and to records on the feed`() async throws {
        try await expectWalk("swift")
        let walked = try await #require(Self.walked["swift"]).value
        #expect(walked.result.output.contains("hub-thermometer: built in "), "\(walked.result)")
        #expect(walked.result.output.contains(" s with PluginKit as it was built in "), "\(walked.result)")
        #expect(try #require(walked.files["report.xml"]).contains(#"failures="0""#))
    }

    @Test(.enabled(if: Need.jq.isMet, "\(Need.jq.reason)"))
    func `the walk in shell leads from nothing to platinum and to records on the feed`() async throws {
        try await expectWalk("sh")
    }

    @Test(.enabled(if: Thoroughness.isWhole || Need.pyzmq.isMet, "\(Need.pyzmq.reason)"))
    func `hub plugin new leads to a record on the feed, with make test-all in each available language`() async throws {
        for (language, first) in Self.firsts {
            let result = try await first.value.result
            #expect(result.code == 0 && result.output.contains("  heartRate  "), "\(language): \(result)")
        }
    }

    @Test func `the complete sink in the document works`() async throws {
        let place = try TemporaryFolder()
        let made = try await Programs.hub(["plugin", "new", "printer", "--lang", "swift", "--sink", "--in", place.path])
        try #require(made.code == 0, "\(made)")
        _ = try place.write(
            try ReadmePrograms("Docs/Plugins.md").text("Printer.swift"), to: "printer/Sources/Plugin.swift")
        _ = try place.write("[plugin.printer]\n", to: "printer/test.conf")
        let built = try await Programs.hub(["plugin", "build", place.path + "/printer"])
        try #require(built.code == 0, "\(built)")
        let rules = ["describes-only", "greets", "speaks-protocol", "wants", "answers-deliveries", "stops"]
        let tested = try await Programs.hub(
            ["plugin", "test", place.path + "/printer", "--settle", "0.5"] + rules.flatMap { ["--rule", $0] })
        #expect(tested.code == 0, "\(tested)")
    }

    @Test func `a failed build leaves the old program, and prints the compiler's error`() async throws {
        let place = try TemporaryFolder()
        let made = try await Programs.hub(["plugin", "new", "x", "--lang", "swift", "--in", place.path])
        try #require(made.code == 0, "\(made)")
        _ = try place.write("the one of before", to: "x/hub-x")
        _ = try place.write("import PluginKit\nlet x: Int = \"\"\n", to: "x/Sources/More.swift")
        let broken = try await Programs.hub(["plugin", "build", place.path + "/x"])
        #expect(broken.code == 1 && broken.errors.contains("More.swift:2:14: error:"), "\(broken)")
        #expect(broken.errors.contains("is as it was"), "\(broken)")
        #expect(try String(contentsOfFile: place.path + "/x/hub-x", encoding: .utf8) == "the one of before")
    }

    @Test func `build reports a folder without anything to build, and refuses one without a plugin`() async throws {
        let place = try TemporaryFolder()
        let none = try await Programs.hub(["plugin", "build", place.path])
        #expect(none.code == 65 && none.errors.contains("neither Package.swift nor a program hub-NAME"), "\(none)")
        _ = try place.write("", to: "hub-x")
        let nothing = try await Programs.hub(["plugin", "build", place.path])
        #expect(nothing.code == 0 && nothing.output == "Nothing has to be built.\n", "\(nothing)")
        _ = try place.write("let package = 1", to: "Package.swift")
        let wrong = try await Programs.hub(["plugin", "build", place.path])
        #expect(wrong.code == 65 && wrong.errors.contains(#"no product .executable(name: "hub-NAME""#), "\(wrong)")
    }
}
