import Foundation
import HubProcess
import Testing

@testable import PluginCommand

/// Tests of the kit that examines plugins.
@Suite struct ConformanceTests {
    /// A plugin in its own folder, with working settings.
    private struct Place: Sendable {
        let folder: TemporaryFolder

        /// - Parameters:
        ///   - source: Whether it is the source of Protocol §13.8; otherwise it is the sink of these tests.
        ///   - logsIn: Whether a stand-in provides a token that is accepted.
        init(source isSource: Bool, _ changes: [(String, String)] = [], logsIn: Bool = false) throws {
            folder = try TemporaryFolder()
            let (name, section): (String, String)
            var text: String
            if isSource {
                text = try ReadmePrograms("Docs/Protocol.md").text("hub-weight-file")
                (name, section) = ("weight-file", "file = \"{folder}/weights.txt\"\nevery = 1")
            } else {
                let file = try #require(Bundle.module.path(forResource: "hub-lines", ofType: "py"))
                text = try String(contentsOfFile: file, encoding: .utf8)
                (name, section) = ("lines", "file = \"{scratch}/lines\"")
            }
            for (old, new) in changes {
                try #require(text.contains(old), "the program without faults does not contain \(old)")
                text = text.replacing(old, with: new)
            }
            let lines = text.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false)
            try folder.write(
                "#!\(try Tool.python(with: "zmq"))\n\(lines.last ?? "")", to: "hub-\(name)", isProgram: true)
            try folder.write("[plugin.\(name)]\n\(section)\n", to: "test.conf")
            try folder.write(Self.weights, to: "weights.txt")
            guard logsIn else { return }
            try folder.write(
                #"""
                #!/bin/sh
                echo '{"token:me": "{\"access_token\":\"let-me-in\"}"}'
                exec cat >/dev/null
                """#, to: "simulator", isProgram: true)
        }

        /// The shell plugin of Docs/Clients.md, which runs under `hub bridge plugin`.
        init() throws {
            folder = try TemporaryFolder()
            let programs = try ReadmePrograms(mark: "bridge")
            for name in ["manifest.json", "program.sh", "test.conf", "hub-weight-lines"] {
                try folder.write(programs.text(name), to: name, isProgram: true)
            }
            try folder.write(Self.weights, to: "weights.txt")
        }

        private static let weights = (1...12).map {
            "2026-03-\($0 < 10 ? "0" : "")\($0)T07:30:05+01:00 \(70 + Double($0) / 8)\n"
        }.joined()

        func subject(_ settings: [String] = []) throws -> PluginUnderTest {
            try PluginUnderTest(folder.path, settings: settings, settle: .seconds(1), patience: .seconds(8))
        }
    }

    init() {
        // As hub plugin test does: a plugin that ends at once does not read its stdin.
        signal(SIGPIPE, SIG_IGN)
    }

    /// Plugins of this project, with the settings and the stand-in of their folders: one, which logs in; in `make test-all` all except
    /// Central, which delivers nothing before a person has agreed.
    private static let bundled: [String] = {
        guard Thoroughness.isWhole else { return ["Exist"] }
        let plugins = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Plugins")
        let files = (try? FileManager.default.subpathsOfDirectory(atPath: plugins.standardizedFileURL.path)) ?? []
        let ending = "/sample.conf"
        return files.filter { $0.hasSuffix(ending) }.map { String($0.dropLast(ending.count)) }
            .filter { $0 != "Central" }.sorted()
    }()

    /// All run concurrently, because they wait most of the time.
    @Test func `each faulty plugin fails the rule of its fault, and plugins without faults are platinum`()
        async throws
    {
        let broken = Self.broken
        #expect(broken.count >= (Thoroughness.isWhole ? 80 : 55))
        #expect(
            Set(broken.map(\.0.rule)) == Set(Rule.all.map(\.name)), "each rule needs a faulty plugin that breaks it")
        #expect(Self.bundled.count >= (Thoroughness.isWhole ? 7 : 1))
        var examinations: [@Sendable () async throws -> Void] = []
        var places = [try Place(source: true), try Place(source: false)]
        // The walks of Docs/Plugins.md examine another plugin in shell.
        if Thoroughness.isWhole { places.append(try Place()) }
        for place in places { examinations.append { try await self.good(place) } }
        // It differs from the sink only when it logs in.
        let logsIn = try Place(source: false, BrokenPlugin.logIn, logsIn: true)
        examinations.append { try await self.good(logsIn, Thoroughness.isWhole ? nil : "log-in-lost") }
        for name in Self.bundled { examinations.append { try await self.bundled(name) } }
        for (plugin, isSource) in broken {
            examinations.append {
                let place = try Place(source: isSource, plugin.changes, logsIn: plugin.logsIn)
                let report = try await ConformanceTest(try place.subject(plugin.settings))
                    .examine(Self.rules(plugin.rule))
                #expect(report.broken.map(\.rule.name) == [plugin.rule], "\(plugin.fault)")
                #expect(report.lines(showsAll: false).contains { $0.contains("do:   ") }, "\(plugin.fault)")
            }
        }
        // With more at a time, beside the other tests, plugins on two cores miss their limit of ten seconds.
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (place, examination) in examinations.enumerated() {
                if place >= 8 { try await group.next() }
                group.addTask { try await examination() }
            }
            try await group.waitForAll()
        }
    }

    /// The rule that is examined before all others, and one other.
    private static func rules(_ name: String) -> [Rule] {
        Rule.all.enumerated().filter { $0 == 0 || $1.name == name }.map(\.element)
    }

    /// The faulty plugins, and whether each is a source.
    ///
    /// `make test` has all faults of manifests, which are found at once, and the first fault of each other rule.
    private static let broken: [(BrokenPlugin, Bool)] = {
        let all = BrokenPlugin.sources.map { ($0, true) } + BrokenPlugin.sinks.map { ($0, false) }
        guard !Thoroughness.isWhole else { return all }
        var rules: Set<String> = []
        return all.filter { plugin, _ in rules.insert(plugin.rule).inserted || plugin.rule == "manifest" }
    }()

    /// - Parameter rule: the only rule that is examined; all if not given.
    private func good(_ place: Place, _ rule: String? = nil) async throws {
        let report = try await ConformanceTest(try place.subject()).examine(rule.map(Self.rules) ?? Rule.all)
        let isGood = rule == nil ? report.tier == .platinum : report.findings.allSatisfy { $0.verdict == .kept }
        #expect(isGood, "\(report.lines(showsAll: false).joined(separator: "\n"))")
    }

    private func bundled(_ name: String) async throws {
        let project = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Plugins/\(name)")
        let result = try await ChildProcess(
            "hub-plugin", ["test", project.standardizedFileURL.path, "--settle", "1", "--tier", "platinum"]
        ).result()
        #expect(result.code == 0, "\(result.output)")
    }

    @Test func `Docs/Plugins.md has each rule, tier by tier`() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Docs/Plugins.md")
        let rows = try String(contentsOf: file, encoding: .utf8).split(separator: "\n").filter { line in
            Tier.allCases.contains { line.hasPrefix("| \($0.name) `") }
        }
        let rules = Rule.all.enumerated().sorted { ($0.element.tier, $0.offset) < ($1.element.tier, $1.offset) }
        #expect(rows.map(String.init) == rules.map { "| \($1.tier.name) `\($1.name)` | \($1.text) |" })
    }

    @Test func `an error in records.jsonl is reported with its line`() throws {
        let place = try Place(source: false)
        let good = #"{"type":"weight","value":72.4,"unit":"kg","start":"2026-03-01T07:30:05+01:00","key":"1"}"#
        _ = try place.folder.write("\(good)\n\n", to: "records.jsonl")
        _ = try place.subject()
        for (line, reason) in [(good.replacing("72.4", with: "\"x\""), "value"), ("72.4", "object"), ("{", "end")] {
            _ = try place.folder.write("\(good)\n\(line)\n", to: "records.jsonl")
            let refusal = try #require(throws: PluginError.self) { try place.subject() }
            #expect(refusal.description.contains("records.jsonl, line 2: "), "\(refusal)")
            #expect(refusal.description.contains(reason), "\(refusal)")
        }
    }

    @Test
    func `a report for continuous integration has a case for each rule, and is valid XML for any output of a plugin`()
        async throws
    {
        let place = try Place(
            source: true, [(#"print(json.dumps(MANIFEST))"#, #"sys.stderr.write("<&\x07\"]]>"); sys.exit(3)"#)])
        let report = try await ConformanceTest(try place.subject()).examine()
        #expect(report.tier == nil)
        let file = try place.folder.write(report.junit, to: "report.xml")
        let script = """
            import sys, xml.etree.ElementTree as x
            s = x.parse(sys.argv[1]).getroot()
            print(s.get("tests"), s.get("failures"), s.get("skipped"), len(s.findall("testcase")))
            """
        let read = try await ChildProcess("/usr/bin/env", ["python3", "-c", script, file]).result()
        #expect(read.output == "\(Rule.all.count) 1 \(Rule.all.count - 1) \(Rule.all.count)\n", "\(read.errors)")
    }

    @Test func `hub plugin test explains each broken rule and its repair, and has an exit code for scripts`()
        async throws
    {
        let place = try Place(source: true, [(#"    say("BYE", {})"#, "    pass")])
        let path = place.folder.path
        let broken = try await Programs.hub(["plugin", "test", path, "--settle", "1", "--rule", "stops"])
        #expect(broken.code == 1)
        #expect(broken.output.contains("BROKEN  bronze stops: "), "\(broken)")
        #expect(broken.output.contains("seen: no BYE came"), "\(broken)")
        let good = try await Programs.hub(["plugin", "test", path, "--rule", "arguments", "--json"])
        #expect(good.code == 0 && good.output.contains(#""rule":"arguments""#), "\(good)")
        let missing = try await Programs.hub(["plugin", "test", path + "/none"])
        #expect(missing.code == 65 && missing.errors.contains("is not there"), "\(missing)")
        let rule = try await Programs.hub(["plugin", "test", path, "--rule", "none"])
        #expect(rule.code == 64 && rule.errors.contains("hub plugin rules lists them"), "\(rule)")
        let rules = try await Programs.hub(["plugin", "rules"])
        for rule in Rule.all { #expect(rules.output.contains("  \(rule.name): \(rule.text)\n")) }
    }
}
