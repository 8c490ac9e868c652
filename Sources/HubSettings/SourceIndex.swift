/// A step from a document's root to one of its values.
enum PathStep: Hashable, Sendable {
    case key(String)
    case index(Int)
}

/// Where the keys and values of a TOML text stand.
///
/// TOMLKit says where an error is, but not where a key is, so this scanner walks the text a second time. It decides
/// nothing about the text's validity: of a valid document it finds every key, of any other as much as it can.
struct SourceIndex {
    struct Place {
        var key: SourcePosition
        /// The value as written, as UTF-8 offsets; nil for tables made by headers and dotted keys.
        var value: Range<Int>?
    }

    /// One header or one key with its value.
    struct Statement {
        /// Lines from 1.
        var lines: ClosedRange<Int>
        var isHeader: Bool
        /// The table it opens or belongs to.
        var table: [PathStep]
    }

    fileprivate(set) var places: [[PathStep]: Place] = [:]
    fileprivate(set) var statements: [Statement] = []
    /// Strings with an escaped NUL, at which TOMLKit would cut the text in silence.
    fileprivate(set) var escapedNULs: [SourcePosition] = []

    init(_ bytes: [UInt8]) {
        var scanner = SourceScanner(bytes)
        scanner.scan()
        self = scanner.index
    }

    fileprivate init() {}
}

/// Line and column of an offset.
struct LineTable {
    private let bytes: [UInt8]
    private var starts = [0]

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        for (offset, byte) in bytes.enumerated() where byte == UInt8(ascii: "\n") { starts.append(offset + 1) }
    }

    var count: Int { starts.count }

    func position(of offset: Int) -> SourcePosition {
        var (low, high) = (0, starts.count)
        while high - low > 1 {
            let middle = (low + high) / 2
            if starts[middle] <= offset { low = middle } else { high = middle }
        }
        // A scalar has one byte that is no continuation byte.
        let column = bytes[starts[low]..<max(starts[low], min(offset, bytes.count))].count { $0 & 0xC0 != 0x80 }
        return SourcePosition(line: low + 1, column: column + 1)
    }
}

private struct SourceScanner {
    var index = SourceIndex()
    private let bytes: [UInt8]
    private let lines: LineTable
    private var offset = 0
    private var table: [PathStep] = []
    private var tableCounts: [[PathStep]: Int] = [:]

    /// As deep as the parser goes.
    private static let deepest = 256

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        lines = LineTable(bytes)
    }

    private var next: UInt8? { offset < bytes.count ? bytes[offset] : nil }

    private func starts(with text: StaticString) -> Bool {
        text.withUTF8Buffer { bytes[offset...].starts(with: $0) }
    }

    mutating func scan() {
        while true {
            skipBlank(acrossLines: true)
            guard let byte = next else { return }
            let start = offset
            let isHeader = byte == UInt8(ascii: "[")
            if isHeader {
                header()
            } else if !entry(in: table, depth: 0) {
                skipLine()
            }
            let end = max(start, offset - 1)
            index.statements.append(
                .init(
                    lines: lines.position(of: start).line...lines.position(of: end).line, isHeader: isHeader,
                    table: table))
            skipLine()
        }
    }

    private mutating func header() {
        let start = offset
        let isArray = starts(with: "[[")
        offset += isArray ? 2 : 1
        let keys = dottedKey()
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
        skipLine()
    }

    /// A dotted key, `=` and a value; false if there is no such thing here.
    private mutating func entry(in table: [PathStep], depth: Int) -> Bool {
        let keys = dottedKey()
        guard !keys.isEmpty, next == UInt8(ascii: "=") else { return false }
        offset += 1
        skipBlank(acrossLines: false)
        var path = table
        for key in keys {
            path.append(.key(key.name))
            note(path, at: key.offset, value: nil)
        }
        value(at: path, depth: depth)
        return true
    }

    private mutating func note(_ path: [PathStep], at offset: Int, value: Range<Int>?) {
        if index.places[path] == nil {
            index.places[path] = .init(key: lines.position(of: offset), value: value)
        } else if let value, index.places[path]?.value == nil {
            index.places[path]?.value = value
        }
    }

    private mutating func value(at path: [PathStep], depth: Int) {
        let start = offset
        defer { note(path, at: start, value: start..<offset) }
        guard depth < Self.deepest else { return skipLine() }
        switch next {
        case UInt8(ascii: "["):
            offset += 1
            var element = 0
            while skipSeparators(), let byte = next, byte != UInt8(ascii: "]") {
                let before = offset
                value(at: path + [.index(element)], depth: depth + 1)
                element += 1
                if offset == before { return }
            }
            if next != nil { offset += 1 }
        case UInt8(ascii: "{"):
            offset += 1
            while skipSeparators(), let byte = next, byte != UInt8(ascii: "}") {
                guard entry(in: path, depth: depth + 1) else { return }
            }
            if next != nil { offset += 1 }
        case UInt8(ascii: "\""), UInt8(ascii: "'"): _ = string()
        default:
            while let byte = next, !",]}#\r\n".utf8.contains(byte) { offset += 1 }
            while offset > start, bytes[offset - 1] == 0x20 || bytes[offset - 1] == 0x09 { offset -= 1 }
        }
    }

    /// Skips blanks, line ends, comments and commas; always true, to stand in a condition.
    private mutating func skipSeparators() -> Bool {
        skipBlank(acrossLines: true)
        while next == UInt8(ascii: ",") {
            offset += 1
            skipBlank(acrossLines: true)
        }
        return true
    }

    private mutating func dottedKey() -> [(name: String, offset: Int)] {
        var keys: [(name: String, offset: Int)] = []
        while true {
            skipBlank(acrossLines: false)
            let start = offset
            if next == UInt8(ascii: "\"") || next == UInt8(ascii: "'") {
                keys.append((string(), start))
            } else {
                while let byte = next, !" \t.=[]{},#\r\n\"'".utf8.contains(byte) { offset += 1 }
                guard offset > start else { return keys }
                keys.append((String(decoding: bytes[start..<offset], as: UTF8.self), start))
            }
            skipBlank(acrossLines: false)
            guard next == UInt8(ascii: ".") else { return keys }
            offset += 1
        }
    }

    /// A string of any of the four kinds; a one-line string ends at the line's end at the latest.
    private mutating func string() -> String {
        let start = offset
        let quote = bytes[offset]
        let isBasic = quote == UInt8(ascii: "\"")
        let isLong = starts(with: "\"\"\"") || starts(with: "'''")
        offset += isLong ? 3 : 1
        var text: [UInt8] = []
        while let byte = next {
            if byte == quote {
                guard isLong else {
                    offset += 1
                    break
                }
                let run = bytes[offset...].prefix { $0 == quote }.count
                if run >= 3 {
                    // Up to two quotes may stand right before the closing three.
                    offset += min(run, 5)
                    break
                }
                offset += run
                text += Array(repeating: quote, count: run)
            } else if byte == UInt8(ascii: "\n"), !isLong {
                break
            } else if byte == UInt8(ascii: "\\"), isBasic {
                text += escape(stringStart: start)
            } else {
                text.append(byte)
                offset += 1
            }
        }
        return String(decoding: text, as: UTF8.self)
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
                guard acrossLines else { return }
                offset += 1
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
