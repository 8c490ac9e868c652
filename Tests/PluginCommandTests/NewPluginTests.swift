import Foundation
import HubProcess
import Samples
import Testing

@testable import PluginCommand

/// `hub plugin new`: the plugins that it makes work without changes.
///
/// All examinations run concurrently, because they wait most of the time; each test takes the results of one language.
@Suite(.timeLimit(.minutes(5))) struct NewPluginTests {
    /// A name with every kind of character that a name may have.
    private static func name(_ language: String) -> String { "\(language).1_x-Y" }

    /// Makes a plugin and returns its folder.
    private static func make(
        _ language: String, _ arguments: [String] = [], in place: TemporaryFolder, name: String? = nil
    ) async throws -> String {
        let name = name ?? Self.name(language)
        let made = try await Programs.hub(["plugin", "new", name, "--lang", language, "--in", place.path] + arguments)
        try #require(made.code == 0, "\(made)")
        let path = "\(place.path)/\(name)"
        if language == "python" {
            // Unchanged except for a Python that has zmq.
            let program = "\(path)/hub-\(name)"
            let text = try String(contentsOfFile: program, encoding: .utf8)
            let first = "#!/usr/bin/env python3\n"
            try #require(text.hasPrefix(first))
            try "#!\(try Tool.python(with: "zmq"))\n\(text.dropFirst(first.count))".write(
                toFile: program, atomically: false, encoding: .utf8)
        }
        if language == "swift" {
            let built = try await Programs.hub(["plugin", "build", path])
            try #require(built.code == 0, "\(built)")
        }
        return path
    }

    private static let needs = [
        "python": Need.pyzmq, "ruby": Need.ruby, "php": Need.php, "perl": Need.perl, "sh": Need.jq,
    ]
    /// Swift is always available, because these tests are compiled.
    ///
    /// `make test` tests only one interpreted language.
    private static let languages =
        needs.filter { $0.value.isMet && (Thoroughness.isWhole || $0.key == "python") }.keys.sorted() + ["swift"]

    private typealias Exam = Task<ConformanceReport, any Error>
    private static func exam(
        _ language: String, _ arguments: [String], rules: [String] = Rule.all.map(\.name)
    ) -> Exam {
        Exam {
            let place = try TemporaryFolder()
            let path = try await make(language, arguments, in: place)
            let subject = try PluginUnderTest(path, settle: .milliseconds(500), patience: .seconds(20))
            return try await ConformanceTest(subject).examine(Rule.all.filter { rules.contains($0.name) })
        }
    }
    /// A source with all rules; a sink with those that depend on its own lines.
    ///
    /// Both use the same library. The walks of Docs/Plugins.md test the sources in Python, Swift and shell.
    private static let exams: [String: [Exam]] = Dictionary(
        uniqueKeysWithValues: languages.map { language in
            (
                language,
                (walked.contains(language) ? [] : [exam(language, ["--source"])])
                    + [exam(language, ["--sink"], rules: ownRules)]
            )
        })
    private static let ownRules = [
        "manifest", "describes-only", "arguments", "greets", "speaks-protocol", "stops", "wants", "answers-deliveries",
        "delivered-twice", "stopped-delivery", "newer-records", "no-secret-in-log", "memory", "idle", "described",
        "confined",
    ]
    private static let walked = ["python", "swift", "sh"]
    private static let others: [Exam] = languages.flatMap { language -> [Exam] in
        let named = exam(language, ["--source", "sleepAnalysis"], rules: ["manifest", "gives"])
        // A build in Swift takes seconds.
        guard Thoroughness.isWhole || language != "swift" else { return [named] }
        return [
            named, exam(language, ["--source", "vo2Max"], rules: ["manifest", "gives"]),
            exam(language, ["--sink", "sleepAnalysis"], rules: ["manifest", "answers-deliveries"]),
        ]
    }

    /// The first test starts all of them.
    init() { _ = (Self.exams, Self.others) }

    private func expectAllKept(_ language: String) async throws {
        for exam in try #require(Self.exams[language]) {
            let report = try await exam.value
            #expect(
                report.broken.isEmpty && report.findings.count > 10,
                "\(report.lines(showsAll: false).joined(separator: "\n"))")
        }
    }

    @Test(.enabled(if: Need.pyzmq.isMet, "\(Need.pyzmq.reason)"))
    func `a new sink in Python passes its rules unchanged`() async throws { try await expectAllKept("python") }

    @Test(.enabled(if: Thoroughness.isWhole && Need.ruby.isMet, "a part of make test-all; \(Need.ruby.reason)"))
    func `a new source in Ruby passes all rules unchanged, and a sink its own`() async throws {
        try await expectAllKept("ruby")
    }

    @Test(.enabled(if: Thoroughness.isWhole && Need.php.isMet, "a part of make test-all; \(Need.php.reason)"))
    func `a new source in PHP passes all rules unchanged, and a sink its own`() async throws {
        try await expectAllKept("php")
    }

    @Test(.enabled(if: Thoroughness.isWhole && Need.perl.isMet, "a part of make test-all; \(Need.perl.reason)"))
    func `a new source in Perl passes all rules unchanged, and a sink its own`() async throws {
        try await expectAllKept("perl")
    }

    @Test(.enabled(if: Thoroughness.isWhole && Need.jq.isMet, "a part of make test-all; \(Need.jq.reason)"))
    func `a new sink in shell passes its rules unchanged`() async throws { try await expectAllKept("sh") }

    @Test func `a new sink in Swift passes its rules unchanged`() async throws {
        try await expectAllKept("swift")
    }

    @Test
    func `with the lines of sample.conf a hub runs new plugins confined: sources give, sinks get each record once`()
        async throws
    {
        let place = try TemporaryFolder()
        let quoted = try TemporaryFolder(at: place.path + "/a \"place\"")
        let host = try HubHost()
        var lines = try String(contentsOfFile: host.configuration, encoding: .utf8)
        for language in Self.languages {
            for role in ["source", "sink"] {
                let path = try await Self.make(language, ["--\(role)"], in: quoted, name: "\(language)-\(role)")
                lines += try String(contentsOfFile: path + "/sample.conf", encoding: .utf8)
            }
        }
        _ = try host.folder.write(lines, to: "hub.conf")
        let hub = try await host.start()
        let count = 12 * Self.languages.count
        func paths(_ language: String) -> [String] {
            let folder = "\(quoted.path)/\(language)-sink/records"
            let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
            return names.filter { $0.hasSuffix(".json") }.map { "\(folder)/\($0)" }
        }
        func haveAll(_ count: Int) async throws -> Bool {
            for _ in 0..<600 {
                if Self.languages.allSatisfy({ paths($0).count == count }) { return true }
                try await Task.sleep(for: .milliseconds(50))
            }
            return false
        }
        let haveFirst = try await haveAll(count)
        let plugins = try await host.command("plugins").lines
        #expect(haveFirst, "\(plugins)")
        for language in Self.languages {
            let records = try paths(language).map { try String(contentsOfFile: $0, encoding: .utf8) }
            #expect(records.allSatisfy { $0.hasSuffix("}\n") && $0.contains(#""type":"weight""#) }, "\(language)")
            let sources = try Set(
                records.map { try JSONDecoder().decode(Delivered.self, from: Data($0.utf8)).source.plugin })
            #expect(sources == Set(Self.languages.map { "\($0)-source" }), "\(language)")
        }
        // A retracted record is removed from each folder.
        let retracted = try await host.command("retract", "1", "--yes")
        #expect(retracted.status == 0, "\(retracted)")
        let haveRest = try await haveAll(count - 1)
        let counts = Self.languages.map { paths($0).count }
        #expect(haveRest, "\(counts)")
        hub.signal(SIGTERM)
        #expect(await hub.waitForExit() == 0)
    }

    private struct Delivered: Decodable {
        struct Source: Decodable { var plugin: String }
        var source: Source
    }

    @Test func `types with other units and with named values work in every language`() async throws {
        for exam in Self.others {
            let report = try await exam.value
            #expect(report.broken.isEmpty, "\(report.lines(showsAll: true).joined(separator: "\n"))")
        }
    }

    @Test func `no unit and no value's name can end a string literal of a program`() {
        for type in TypeRegistry.standard.all where type.kind == .quantity || type.kind == .category {
            let texts = [type.id.rawValue, type.unit ?? ""] + type.values.map(\.name)
            for text in texts { #expect(!text.contains { "\"'\\#$@`\n".contains($0) }, "\(type.id): \(text)") }
        }
    }

    @Test func `an impossible plugin is refused with the reason, and no file is written`() async throws {
        let place = try TemporaryFolder()
        try FileManager.default.createDirectory(atPath: place.path + "/there", withIntermediateDirectories: false)
        let cases: [([String], String)] = [
            (["_x"], "expected 1 to 64 letters"), (["a b"], "expected 1 to 64 letters"),
            (["a/b"], "expected 1 to 64 letters"), (["hub"], "the hub's own name"), (["there"], "is there already"),
            (["x", "--lang", "pyhton"], "did you mean python?"), (["x", "--lang", "cobol"], "there are python, sh"),
            (["x", "--source", "heartRte"], "did you mean heartRate?"),
            (["x", "--source", "bloodPressure"], "of the kind correlation"),
            (["x", "--source", "weight", "--sink"], "choose one"),
        ]
        for (arguments, words) in cases {
            let refused = try await Programs.hub(["plugin", "new"] + arguments + ["--in", place.path])
            #expect(refused.code == 64 && refused.errors.contains(words), "\(arguments): \(refused)")
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: place.path) == ["there"])
    }

    @Test(arguments: ["python", "sh", "ruby", "php", "perl", "swift"])
    func `--dry-run lists the files that are made, and no placeholder is left in them`(language: String) async throws {
        let place = try TemporaryFolder()
        let dry = try await Programs.hub(["plugin", "new", "x", "--lang", language, "--in", place.path, "--dry-run"])
        #expect(dry.code == 0, "\(dry)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: place.path) == [])
        let made = try await Programs.hub(["plugin", "new", "x", "--lang", language, "--in", place.path])
        #expect(made.code == 0 && made.output.contains("\n  hub plugin test \(place.path)/x\n"), "\(made)")
        let listed = dry.output.split(separator: "\n").map { $0.prefix { $0 != " " }.dropFirst(2) }
        let found = try #require(FileManager.default.enumerator(atPath: place.path + "/x")).compactMap { $0 as? String }
            .filter { path in
                var isFolder: ObjCBool = false
                return FileManager.default.fileExists(atPath: "\(place.path)/x/\(path)", isDirectory: &isFolder)
                    && !isFolder.boolValue
            }
        #expect(Set(listed.map(String.init)) == Set(found))
        for path in found {
            let text = try String(contentsOfFile: "\(place.path)/x/\(path)", encoding: .utf8)
            #expect(!text.contains(/@[A-Z]+@|@quantity|@category/), "\(path)")
        }
    }
}
