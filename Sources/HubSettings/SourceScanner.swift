/// Walks a TOML text once and fills a ``SourceIndex``.
struct SourceScanner {
    private(set) var index = SourceIndex()
    private let bytes: [UInt8]
    private let lines: LineTable
    private var offset = 0
    private var table: [PathStep] = []
    private var tableCounts: [[PathStep]: Int] = [:]

    /// Deeper than any setting, and far from the depth at which a recursive parser could run out of stack.
    private static let deepest = 64

    private struct Fault: Error {
        var offset: Int
        var message: String
        /// The start of the next statement, where it is known.
        var resume: Int?
    }

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        lines = LineTable(bytes)
    }

    private var next: UInt8? { offset < bytes.count ? bytes[offset] : nil }

    private var isLineEnd: Bool { starts(with: "\n") || starts(with: "\r\n") }

    private func starts(with text: StaticString) -> Bool {
        text.withUTF8Buffer { bytes[offset...].starts(with: $0) }
    }

    private func fault(_ message: String, at place: Int? = nil) -> Fault {
        Fault(offset: place ?? offset, message: message)
    }

    private var tooDeep: Fault { fault("more than \(Self.deepest) values inside each other") }

    mutating func scan() {
        while true {
            skipBlank(acrossLines: true)
            guard next != nil else { return }
            let start = offset
            let isHeader = starts(with: "[")
            var resume: Int?
            do throws(Fault) {
                try statement(isHeader: isHeader)
            } catch {
                index.faults.append(
                    SyntaxFault(position: lines.position(of: error.offset), message: "not TOML: \(error.message)"))
                resume = error.resume
            }
            skipLine()
            if let resume, resume > start { offset = resume }
            let last = max(start, offset - 1)
            index.statements.append(
                .init(
                    lines: lines.position(of: start).line...lines.position(of: last).line, isHeader: isHeader,
                    table: table))
        }
    }

    private mutating func statement(isHeader: Bool) throws(Fault) {
        if isHeader {
            try header()
        } else {
            try entry(in: table, depth: 0)
        }
        skipBlank(acrossLines: false)
        guard next == nil || next == UInt8(ascii: "#") || isLineEnd else {
            throw fault("only a comment can follow here on the same line")
        }
    }

    private mutating func header() throws(Fault) {
        let start = offset
        let isArray = starts(with: "[[")
        offset += isArray ? 2 : 1
        // What follows a header that cannot be read belongs to no table we know.
        table = []
        let keys = try dottedKey(below: 0)
        guard isArray ? starts(with: "]]") : starts(with: "]") else {
            throw fault("expected \(isArray ? "]]" : "]") after the table's name")
        }
        offset += isArray ? 2 : 1
        var path: [PathStep] = []
        for (step, key) in keys.enumerated() {
            path.append(.key(key.name))
            note(path, at: step == keys.count - 1 ? start : key.offset, value: nil)
            if step == keys.count - 1, isArray {
                let count = tableCounts[path, default: 0]
                tableCounts[path] = count + 1
                path.append(.index(count))
                note(path, at: start, value: nil)
            } else if let count = tableCounts[path], count > 0 {
                path.append(.index(count - 1))
            }
        }
        table = path
    }

    /// A dotted key, `=` and a value.
    private mutating func entry(in table: [PathStep], depth: Int) throws(Fault) {
        let keys = try dottedKey(below: table.count)
        guard next == UInt8(ascii: "=") else { throw fault("expected = after the key") }
        offset += 1
        skipBlank(acrossLines: false)
        var path = table
        for key in keys {
            path.append(.key(key.name))
            note(path, at: key.offset, value: nil)
        }
        try value(at: path, depth: depth)
    }

    private mutating func note(_ path: [PathStep], at offset: Int, value: Range<Int>?) {
        if index.places[path] == nil {
            index.places[path] = .init(key: lines.position(of: offset), value: value)
        } else if let value, index.places[path]?.value == nil {
            index.places[path]?.value = value
        }
    }

    private mutating func value(at path: [PathStep], depth: Int) throws(Fault) {
        let start = offset
        guard depth < Self.deepest else { throw tooDeep }
        if index.places[path] == nil { note(path, at: start, value: nil) }
        switch next {
        case UInt8(ascii: "["): try array(at: path, depth: depth)
        case UInt8(ascii: "{"): try inlineTable(at: path, depth: depth)
        case UInt8(ascii: "\""), UInt8(ascii: "'"): _ = try string()
        default:
            while let byte = next, !",]}#\n".utf8.contains(byte) { offset += 1 }
            while offset > start, [0x20, 0x09, 0x0D].contains(bytes[offset - 1]) { offset -= 1 }
            guard isBareValue(bytes[start..<offset]) else {
                throw fault("expected a value; a text stands in quotes", at: start)
            }
        }
        note(path, at: start, value: start..<offset)
    }

    private mutating func array(at path: [PathStep], depth: Int) throws(Fault) {
        let start = offset
        offset += 1
        var element = 0
        while true {
            skipBlank(acrossLines: true)
            if next == UInt8(ascii: "]") { break }
            try checkClosing(of: start)
            try value(at: path + [.index(element)], depth: depth + 1)
            element += 1
            skipBlank(acrossLines: true)
            if next == UInt8(ascii: "]") { break }
            try checkClosing(of: start)
            guard next == UInt8(ascii: ",") else { throw fault("expected , or ] after an element") }
            offset += 1
        }
        offset += 1
    }

    private mutating func inlineTable(at path: [PathStep], depth: Int) throws(Fault) {
        let start = offset
        let message = "{ is not closed by } on its line"
        offset += 1
        skipBlank(acrossLines: false)
        while next != UInt8(ascii: "}") {
            if next == nil || isLineEnd { throw fault(message, at: start) }
            try entry(in: path, depth: depth + 1)
            skipBlank(acrossLines: false)
            if next == UInt8(ascii: "}") { break }
            if next == nil || isLineEnd { throw fault(message, at: start) }
            guard next == UInt8(ascii: ",") else { throw fault("expected , or } after an entry") }
            offset += 1
            skipBlank(acrossLines: false)
            if next == UInt8(ascii: "}") { throw fault("no , stands before }") }
        }
        offset += 1
    }

    /// An unclosed array reaches into the lines after it; it ends before the first that begins like a statement.
    private func checkClosing(of start: Int) throws(Fault) {
        let message = "[ is not closed by ]"
        guard next != nil else { throw fault(message, at: start) }
        let line = bytes[..<offset].lastIndex(of: 0x0A).map { $0 + 1 } ?? 0
        guard line > start else { return }
        let text = String(decoding: bytes[line...].prefix { $0 != 0x0A && $0 != 0x0D }, as: UTF8.self)
        guard text.prefixMatch(of: /\s*(\[\[?[A-Za-z"'][A-Za-z0-9_\-."' ]*\]\]?\s*($|#)|[A-Za-z0-9_\-."' ]+=)/) != nil
        else {
            return
        }
        throw Fault(offset: start, message: message, resume: line)
    }

    /// The names of a key that stands `depth` tables deep, which are further tables inside each other.
    private mutating func dottedKey(below depth: Int) throws(Fault) -> [(name: String, offset: Int)] {
        var keys: [(name: String, offset: Int)] = []
        while true {
            guard depth + keys.count < Self.deepest else { throw tooDeep }
            skipBlank(acrossLines: false)
            let start = offset
            if next == UInt8(ascii: "\"") || next == UInt8(ascii: "'") {
                if starts(with: "\"\"\"") || starts(with: "'''") {
                    throw fault("a name has one quotation mark on each side")
                }
                keys.append((try string(), start))
            } else {
                while let byte = next, isKeyByte(byte) { offset += 1 }
                guard offset > start else {
                    throw fault("expected a name: letters, digits, _ and -, or a text in quotes")
                }
                keys.append((String(decoding: bytes[start..<offset], as: UTF8.self), start))
            }
            skipBlank(acrossLines: false)
            guard next == UInt8(ascii: ".") else { return keys }
            offset += 1
        }
    }

    private func isKeyByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "_"), UInt8(ascii: "-"): true
        default: false
        }
    }

    /// A string of any of the four kinds.
    private mutating func string() throws(Fault) -> String {
        let start = offset
        let quote = bytes[offset]
        let isBasic = quote == UInt8(ascii: "\"")
        let isLong = starts(with: "\"\"\"") || starts(with: "'''")
        offset += isLong ? 3 : 1
        var text: [UInt8] = []
        while let byte = next {
            if byte == quote {
                let run = bytes[offset...].prefix { $0 == quote }.count
                if !isLong || run >= 3 {
                    // Up to two quotes may stand right before the closing three.
                    offset += isLong ? min(run, 5) : 1
                    return String(decoding: text, as: UTF8.self)
                }
                offset += run
                text += Array(repeating: quote, count: run)
            } else if byte == 0x0A, !isLong {
                break
            } else if byte == UInt8(ascii: "\\"), isBasic {
                text += escape(stringStart: start)
            } else {
                text.append(byte)
                offset += 1
            }
        }
        throw fault(
            isLong ? "the text that begins here is not closed" : "the text is not closed on its line", at: start)
    }

    private mutating func escape(stringStart: Int) -> [UInt8] {
        offset += 1
        guard let byte = next else { return [] }
        if byte == UInt8(ascii: "\n") { return [] }
        offset += 1
        switch byte {
        case UInt8(ascii: "b"): return [0x08]
        case UInt8(ascii: "t"): return [0x09]
        case UInt8(ascii: "n"): return [0x0A]
        case UInt8(ascii: "f"): return [0x0C]
        case UInt8(ascii: "r"): return [0x0D]
        case UInt8(ascii: "e"): return [0x1B]
        case UInt8(ascii: "u"), UInt8(ascii: "U"), UInt8(ascii: "x"):
            let length = byte == UInt8(ascii: "u") ? 4 : byte == UInt8(ascii: "U") ? 8 : 2
            let shown = bytes[offset...].prefix(length).prefix { $0 < 0x80 && Character(UnicodeScalar($0)).isHexDigit }
            guard shown.count == length, let code = UInt32(String(decoding: shown, as: UTF8.self), radix: 16),
                let scalar = UnicodeScalar(code)
            else { return [] }
            offset += length
            if code == 0 { index.escapedNULs.append(lines.position(of: stringStart)) }
            return Array(String(Character(scalar)).utf8)
        default: return [byte]
        }
    }

    private mutating func skipBlank(acrossLines: Bool) {
        while let byte = next {
            switch byte {
            case 0x20, 0x09: offset += 1
            case 0x0A, 0x0D:
                guard acrossLines, isLineEnd else { return }
                offset += byte == 0x0D ? 2 : 1
            case UInt8(ascii: "#"):
                guard acrossLines else { return }
                skipLine()
            default: return
            }
        }
    }

    /// Moves to the line's end.
    private mutating func skipLine() {
        while let byte = next, byte != 0x0A { offset += 1 }
    }
}
