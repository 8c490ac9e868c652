import Platform

@testable import HubWire

/// Writes random valid TOML and records the line of each key.
struct DocumentWriter {
    var random: SeededGenerator
    var text = ""
    /// The line where each key first appears.
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
