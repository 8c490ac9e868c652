import Seeds
import TOMLKit
import Testing

@testable import HubSettings

/// Writes valid TOML and notes where each key stands.
private struct DocumentWriter {
    var random: SeededGenerator
    var text = ""
    /// The line of every key at its first appearance.
    var lines: [[PathStep]: Int] = [:]
    private var counter = 0

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
        for _ in 0..<Int.random(in: 0...3, using: &random) { entry(at: [], isInline: false) }
        for _ in 0..<Int.random(in: 1...5, using: &random) { table() }
    }

    private var line: Int { text.utf8.count { $0 == 0x0A } + 1 }

    private mutating func pick(_ choices: [String]) -> String { choices.randomElement(using: &random) ?? "" }

    private mutating func key() -> (name: String, written: String) {
        counter += 1
        return switch Int.random(in: 0..<4, using: &random) {
        case 0: ("k\(counter)", "\"k\(counter)\"")
        case 1: ("a.b=#]\(counter)é", "'a.b=#]\(counter)é'")
        case 2: ("q\"\u{1F600}\(counter)", "\"q\\\"\\U0001F600\(counter)\"")
        default: ("k-\(counter)_", "k-\(counter)_")
        }
    }

    private mutating func blank() -> String { pick(["", " ", "\t", "  "]) }

    private mutating func dotted(_ path: [PathStep]) -> (path: [PathStep], written: String) {
        var (path, written) = (path, "")
        for part in 0..<Int.random(in: 1...3, using: &random) {
            let (name, text) = key()
            if part > 0 { written += blank() + "." + blank() }
            written += text
            path.append(.key(name))
            if lines[path] == nil { lines[path] = line }
        }
        return (path, written)
    }

    private mutating func table() {
        text += pick(["", "\n", "# comment [x] = 'y'\n", "\r\n"])
        let isArray = Bool.random(using: &random)
        let (path, written) = dotted([])
        for element in 0..<(isArray ? Int.random(in: 1...3, using: &random) : 1) {
            let place = isArray ? path + [.index(element)] : path
            lines[place] = lines[place] ?? line
            text += (isArray ? "[[\(written)]]" : "[ \(written) ]") + pick(["\n", " # c\n"])
            for _ in 0..<Int.random(in: 0...3, using: &random) { entry(at: place, isInline: false) }
            if isArray, Bool.random(using: &random) {
                let (name, text) = key()
                lines[place + [.key(name)]] = line
                self.text += "[\(written).\(text)]\n"
                entry(at: place + [.key(name)], isInline: false)
            }
        }
    }

    private mutating func entry(at path: [PathStep], isInline: Bool, depth: Int = 0) {
        let (path, written) = dotted(path)
        text += blank() + written + blank() + "=" + blank()
        value(at: path, isInline: isInline, depth: depth)
        if !isInline { text += pick(["\n", " # it's \"here\"\n", "\r\n", "\n\n"]) }
    }

    private mutating func value(at path: [PathStep], isInline: Bool, depth: Int) {
        switch Int.random(in: 0..<(depth < 3 ? 10 : 7), using: &random) {
        case 0: text += pick(["1", "-0x0".replacing("-", with: ""), "1_000", "0b101", "-17", "0o17"])
        case 1: text += pick(["1.5", "-3e4", "inf", "6.02_2e23"])
        case 2: text += pick(["true", "false"])
        case 3: text += pick(["1979-05-27", "07:32:00", "1979-05-27T07:32:00Z", "1979-05-27 07:32:00.5-07:00"])
        case 4: text += pick(["\"a # b\"", "\"\"", "\"\\\\\"", "\"x\\\"]}\\u00E9 = 1\"", "\"é\""])
        case 5: text += pick(["'a # \"b\"'", "''", "'\\'", "'[x]'"])
        case 6:
            text += pick([
                "\"\"\"\none\n# two \"\" three\n[four]\\\n   five\"\"\"", "'''\na = '1'\n[b]\n''c'''",
                "\"\"\"x\\\"\"\"\"\"\"",
                "''''q'''", "\"\"\"\"\"\"", "\"\"\"a\"\"\"\"\"",
            ])
        case 7, 8:
            text += "["
            let count = Int.random(in: 0...3, using: &random)
            for element in 0..<count {
                text += pick(["", "\n", " # ] }\n  "])
                lines[path + [.index(element)]] = line
                value(at: path + [.index(element)], isInline: isInline, depth: depth + 1)
                if element < count - 1 || Bool.random(using: &random) { text += blank() + "," }
            }
            text += pick(["", "\n", "\n# x\n"]) + "]"
        default:
            text += "{" + blank()
            let count = Int.random(in: 0...3, using: &random)
            for number in 0..<count {
                entry(at: path, isInline: true, depth: depth + 1)
                if number < count - 1 { text += "," + blank() }
            }
            text += blank() + "}"
        }
    }
}

@Suite struct SourceIndexTests {
    /// Every path of a parsed document with its value.
    private func paths(_ value: any TOMLValueConvertible, _ path: [PathStep] = []) -> [(
        [PathStep], any TOMLValueConvertible
    )] {
        var found: [([PathStep], any TOMLValueConvertible)] = path.isEmpty ? [] : [(path, value)]
        if let table = value.table {
            for key in table.keys {
                if let inner = table[key] { found += paths(inner, path + [.key(key)]) }
            }
        } else if let array = value.array {
            for index in 0..<array.count { found += paths(array[index], path + [.index(index)]) }
        }
        return found
    }

    @Test func `every key the parser finds has its line, and its value is the text at that place`() throws {
        for seed in UInt64(1)...150 {
            let document = DocumentWriter(seed: seed)
            let note: Comment = "seed \(seed):\n\(document.text)"
            let parsed = try TOMLTable(string: document.text)
            let bytes = Array(document.text.utf8)
            let index = SourceIndex(bytes)
            #expect(index.faults.isEmpty, note)
            for (path, value) in paths(parsed) {
                let place = try #require(index.places[path], note)
                #expect(place.key.line == document.lines[path], "\(path) \(note)")
                if let range = place.value {
                    let alone = try TOMLTable(string: "v = " + String(decoding: bytes[range], as: UTF8.self))
                    #expect(alone["v"]?.tomlValue == value.tomlValue, "\(path) \(note)")
                } else {
                    #expect(value.type == .table || value.type == .array, "\(path) \(note)")
                }
            }
            #expect(index.places.count == paths(parsed).count, note)
        }
    }

    @Test func `columns count characters, not bytes`() {
        let index = SourceIndex(Array("a = 1\n\"é€\" = { b = 2 }\n".utf8))
        #expect(index.places[[.key("é€"), .key("b")]]?.key == SourcePosition(line: 2, column: 10))
    }

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

    @Test func `deep nesting ends`() {
        let deep = "a = " + String(repeating: "[", count: 100_000)
        #expect(SourceIndex(Array(deep.utf8)).statements.count == 1)
        #expect(SourceIndex(Array(("a = " + String(repeating: "{b=", count: 100_000)).utf8)).statements.count == 1)
    }
}
