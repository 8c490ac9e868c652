import Foundation
import HubProcess
import Platform
import Testing

@testable import HubWire

@Suite struct TOMLTests {
    // MARK: - Places

    /// The entry of every path in a document.
    private func entries(_ fields: [Field], _ path: [PathStep] = []) -> [([PathStep], Entry)] {
        fields.flatMap { entries($0.entry, path + [.key($0.name)]) }
    }

    private func entries(_ entry: Entry, _ path: [PathStep]) -> [([PathStep], Entry)] {
        switch entry.node {
        case .table(let fields): [(path, entry)] + entries(fields, path)
        case .array(let elements): [(path, entry)] + elements.enumerated().flatMap { entries($1, path + [.index($0)]) }
        default: [(path, entry)]
        }
    }

    @Test func `every key has its line, and the shown value is the text at that position`() throws {
        for seed in UInt64(1)...150 {
            let written = DocumentWriter(seed: seed)
            let note: Comment = "seed \(seed):\n\(written.text)"
            let document = TOMLDocument(written.text)
            #expect(document.faults.isEmpty, note)
            let found = entries(document.fields)
            for (path, entry) in found {
                #expect(entry.position.line == written.lines[path], "\(path) \(note)")
                guard !entry.source.isEmpty, !entry.source.hasSuffix("…") else { continue }
                let alone = TOMLDocument("v = " + entry.source)
                let value = try #require(alone.fields.first?.entry.node, note)
                #expect(TaggedValue(value) == TaggedValue(entry.node), "\(path) \(note)")
            }
            #expect(Set(found.map(\.0)) == Set(written.lines.keys), note)
        }
    }

    @Test func `columns count characters, not bytes`() {
        let document = TOMLDocument("a = 1\n\"é€\" = { b = 2 }\n")
        let inner = entries(document.fields).first { $0.0 == [.key("é€"), .key("b")] }
        #expect(inner?.1.position == SourcePosition(line: 2, column: 10))
    }

    // MARK: - Valid and invalid documents

    @Test func `the reader accepts the same documents as Python's, with the same values`() async throws {
        var random = SeededGenerator(seed: 11)
        var documents: [String] = []
        for seed in UInt64(1)...200 {
            let text = DocumentWriter(seed: 5_000 + seed).text
            documents.append(text)
            for _ in 0..<4 { documents.append(Self.changed(text, &random)) }
        }
        let answers = try await Self.askPython(documents)
        var (taken, refused) = (0, 0)
        for (text, answer) in zip(documents, answers) {
            let document = TOMLDocument(text)
            if let answer {
                taken += 1
                #expect(document.faults.map(\.message) == [], "\(text)")
                #expect(TaggedValue(document.fields) == answer, "\(text)")
            } else {
                refused += 1
                #expect(!document.faults.isEmpty, "\(text)")
            }
        }
        // Enough documents of both kinds were compared.
        #expect(taken > 250 && refused > 250)
    }

    /// The document with up to three characters removed, doubled or replaced by characters of the grammar.
    private static func changed(_ text: String, _ random: inout SeededGenerator) -> String {
        var characters = Array(text.unicodeScalars)
        let marks = Array("[]{}\"'=.,#\n\\é \t01_-+:TZeExob".unicodeScalars)
        for _ in 0..<Int.random(in: 1...3, using: &random) where !characters.isEmpty {
            let place = Int.random(in: 0..<characters.count, using: &random)
            switch Int.random(in: 0..<3, using: &random) {
            case 0: characters.remove(at: place)
            case 1: characters.insert(characters[place], at: place)
            default: characters[place] = marks.randomElement(using: &random) ?? "x"
            }
        }
        return String(String.UnicodeScalarView(characters))
    }

    private static func askPython(_ documents: [String]) async throws -> [TaggedValue?] {
        let script = try #require(Bundle.module.url(forResource: "tagged", withExtension: "py"))
        let question = URL(filePath: "/tmp/hub-toml-\(UUID())")
        defer { try? FileManager.default.removeItem(at: question) }
        var bytes = Data()
        for text in documents {
            bytes += Data("\(text.utf8.count)\n".utf8)
            bytes += Data(text.utf8)
        }
        try bytes.write(to: question)
        let answer = try await ChildProcess(
            "/usr/bin/env", ["python3", script.path], input: FileHandle(forReadingFrom: question)
        ).result()
        try #require(answer.code == 0, "python3 with tomllib (3.11 or newer) answers")
        let lines = answer.output.split(separator: "\n")
        try #require(lines.count == documents.count)
        return try lines.map { line in
            let json = try JSONSerialization.jsonObject(with: Data(line.utf8), options: .fragmentsAllowed)
            return json is NSNull ? nil : TaggedValue(json: json)
        }
    }

    @Test(
        "all verdicts agree with the public conformance suite of TOML 1.0",
        .enabled(
            if: ProcessInfo.processInfo.environment["TOML_TEST"] != nil,
            "TOML_TEST does not name a checkout of github.com/toml-lang/toml-test"))
    func conformance() throws {
        let root = URL(filePath: ProcessInfo.processInfo.environment["TOML_TEST"] ?? "").appending(path: "tests")
        let list = try String(contentsOf: root.appending(path: "files-toml-1.0.0"), encoding: .utf8)
        var counts = (valid: 0, invalid: 0)
        for name in list.split(separator: "\n") where name.hasSuffix(".toml") {
            let data = try Data(contentsOf: root.appending(path: String(name)))
            let document = String(validating: data, as: UTF8.self).map { TOMLDocument($0) }
            if name.hasPrefix("valid/") {
                counts.valid += 1
                let expected = root.appending(path: name.replacing(/\.toml$/, with: ".json"))
                let json = try JSONSerialization.jsonObject(with: Data(contentsOf: expected))
                #expect(document?.faults.map(\.message) == [], "\(name)")
                #expect(document.map { TaggedValue($0.fields) } == TaggedValue(json: json), "\(name)")
            } else {
                counts.invalid += 1
                // Text that is not UTF-8 is refused before it is parsed.
                #expect(document?.faults.isEmpty != true, "\(name)")
            }
        }
        #expect(counts.valid > 100 && counts.invalid > 300, "\(counts)")
        print("TOML 1.0: \(counts.valid) valid and \(counts.invalid) invalid documents")
    }

    @Test(arguments: [
        (
            "tables = [\n  \"stepCount=apple-health\",\n  [\"x\"]\n]",
            "{tables: [string(stepCount=apple-health), [string(x)]]}"
        ),
        ("a.b.c = 1\na.b.d = 2\n[a.e]", "{a: {b: {c: integer(1), d: integer(2)}, e: {}}}"),
        ("[a.b]\n[a]\nc = 1", "{a: {b: {}, c: integer(1)}}"),
        ("[[a]]\n[[a.b]]\n[[a]]\n[a.c]", "{a: [{b: [{}]}, {c: {}}]}"),
        ("a = \"\"\"\n1\\\n   2\"\"\"\"", "{a: string(12\")}"),
        ("a = 0xdead_beef\nb = -0\nc = 1e06", "{a: integer(3735928559), b: integer(0), c: float(1000000.0)}"),
        ("e\u{301} = 1\n", nil),
        ("a = 1\na.b = 2", nil), ("a.b = 1\n[a]", nil), ("[a]\nb.c = 1\n[a.b]", nil), ("a = {b = 1}\na.c = 2", nil),
        ("a = {b = 1,}", nil), ("a = {\nb = 1}", nil), ("[[a]]\n[a]", nil), ("a = []\n[[a]]", nil), ("a = 01", nil),
        ("a = 9223372036854775808", nil), ("a = 1e999", nil), ("a = 2023-02-29", nil), ("a = 24:00:00", nil),
        ("a = \"\\e\"", nil), ("a = \"\\uD800\"", nil), ("a = \"\u{1}\"", nil), ("# \u{7F}", nil),
        ("a = 1\rb = 2", nil),
        ("[a.b.c]\n[a]\nb.c.d = 1", nil), ("a = 1 b = 2", nil), ("= 1", nil), ("a = ", nil), ("a = 07:32", nil),
    ])
    func `valid TOML 1.0 is read, and invalid TOML is a fault`(text: String, values: String?) {
        let document = TOMLDocument(text)
        if let values {
            #expect(document.faults.map(\.message) == [])
            #expect(TaggedValue(document.fields).description == values)
        } else {
            #expect(!document.faults.isEmpty, "\(text)")
        }
    }

    @Test func `canonically equivalent names are different keys`() {
        let document = TOMLDocument("\"é\" = 1\n\"e\u{301}\" = 2")
        #expect(document.faults.isEmpty && document.fields.count == 2)
    }

    // MARK: - Broken documents

    @Test(arguments: UInt64(1)...4)
    func `broken documents are read to their end, with faults on their lines`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        for round in 0..<mutationRounds {
            var bytes = Array(DocumentWriter(seed: seed &* 1_000 &+ UInt64(round)).text.utf8)
            for _ in 0..<3 where !bytes.isEmpty {
                let place = Int.random(in: 0..<bytes.count, using: &random)
                bytes.removeSubrange(place..<min(bytes.count, place + Int.random(in: 1...9, using: &random)))
            }
            let lineCount = bytes.count { $0 == 0x0A } + 1
            let document = TOMLDocument(String(decoding: bytes, as: UTF8.self))
            let note: Comment = "seed \(seed), round \(round)"
            #expect(document.faults.allSatisfy { (1...lineCount).contains($0.position.line) }, note)
            #expect(document.faults.count <= 20, note)
        }
    }

    @Test func `too deep nesting is a fault`() {
        for opening in ["[", "{b="] {
            let document = TOMLDocument("a = " + String(repeating: opening, count: 100_000))
            #expect(document.faults.map(\.message) == ["not TOML: more than 64 values inside each other"])
        }
    }
}
