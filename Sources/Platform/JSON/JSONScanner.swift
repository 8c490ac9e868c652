import Glibc

/// Scans JSON (RFC 8259) in place: finds the bounds of each value and checks its grammar, without building a tree.
///
/// All records are read with this scanner. The bytes belong to the caller and must outlive the scanner. It handles nesting
/// without recursion, so no input can exhaust the stack. The time is linear in the number of bytes, and a scalar allocates
/// nothing.
package struct JSONScanner {
    package let bytes: UnsafeRawBufferPointer
    /// The offset of the next byte.
    package private(set) var position: Int
    private let end: Int
    /// Whether white space between tokens has been skipped.
    package private(set) var sawSpace = false

    /// A scanner at the first byte of a complete JSON text.
    ///
    /// - Throws: ``JSONSyntaxError`` if `bytes` begin with a byte order mark or are not UTF-8.
    package init(_ bytes: UnsafeRawBufferPointer) throws(JSONSyntaxError) {
        if bytes.count >= 3, bytes[0] == 0xEF, bytes[1] == 0xBB, bytes[2] == 0xBF {
            throw JSONSyntaxError(0, "a byte order mark, which JSON on the wire does not have")
        }
        if let offset = UTF8Check.firstInvalidByte(in: bytes) { throw JSONSyntaxError(offset, "no valid UTF-8") }
        self.init(bytes, within: 0..<bytes.count)
    }

    /// A scanner for a value that was scanned before.
    package init(_ bytes: UnsafeRawBufferPointer, within value: JSONValue) {
        self.init(bytes, within: value.start..<value.end)
    }

    private init(_ bytes: UnsafeRawBufferPointer, within range: Range<Int>) {
        self.bytes = bytes
        position = range.lowerBound
        end = range.upperBound
    }

    /// The next byte, or `nil` at the end.
    package var next: UInt8? { position < end ? bytes[position] : nil }

    package mutating func skipSpace() {
        while position < end {
            let byte = bytes[position]
            guard byte <= 0x20, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 else { return }
            sawSpace = true
            position += 1
        }
    }

    /// Skips `byte` if it is the next one.
    package mutating func take(_ byte: UInt8) -> Bool {
        guard position < end, bytes[position] == byte else { return false }
        position += 1
        return true
    }

    /// Skips `byte`, which the grammar requires here.
    package mutating func expect(_ byte: UInt8) throws(JSONSyntaxError) {
        guard take(byte) else { throw unexpected("expected \"\(Character(Unicode.Scalar(byte)))\"") }
    }

    /// Skips a member's name, the colon and the white space around it, up to the member's value.
    package mutating func name() throws(JSONSyntaxError) -> JSONValue {
        guard next == UInt8(ascii: "\"") else { throw unexpected("expected a member name in quotes") }
        let name = try string()
        skipSpace()
        try expect(UInt8(ascii: ":"))
        skipSpace()
        return name
    }

    /// Skips the next value.
    package mutating func value() throws(JSONSyntaxError) -> JSONValue {
        switch next {
        case UInt8(ascii: "{"), UInt8(ascii: "["): try container()
        default: try scalar()
        }
    }

    /// Skips the next value if its text equals that of a value scanned before; otherwise returns nil.
    ///
    /// - Parameters:
    ///   - text: the text of an object, array or string. These end themselves, so an equal beginning is an equal value.
    ///   - value: the earlier result of scanning it.
    package mutating func value(again text: [UInt8], _ value: JSONValue) -> JSONValue? {
        guard value.endsItself, value.isCompact, text.count <= end - position,
            text.withUnsafeBytes({ known in
                guard let there = bytes.baseAddress, let known = known.baseAddress else { return false }
                return memcmp(there + position, known, text.count) == 0
            })
        else { return nil }
        defer { position += text.count }
        return value.moved(to: position)
    }

    /// Checks that only white space follows.
    package mutating func finish() throws(JSONSyntaxError) {
        skipSpace()
        guard position == end else { throw unexpected("expected the end of the text") }
    }

    private func unexpected(_ expectation: String) -> JSONSyntaxError {
        JSONSyntaxError(position, position < end ? expectation : "the text ends too early: \(expectation)")
    }

    private mutating func scalar() throws(JSONSyntaxError) -> JSONValue {
        let start = position
        switch next {
        case UInt8(ascii: "\""): return try string()
        case .some(UInt8(ascii: "-")), .some(0x30...0x39): return try number()
        case UInt8(ascii: "t"): try word("true")
        case UInt8(ascii: "f"): try word("false")
        case UInt8(ascii: "n"): try word("null")
        default: throw unexpected("expected a value")
        }
        let kind: JSONValue.Kind =
            switch bytes[start] {
            case UInt8(ascii: "t"): .true
            case UInt8(ascii: "f"): .false
            default: .null
            }
        return JSONValue(kind, start, position)
    }

    /// Scans an object or array with its contents.
    private mutating func container() throws(JSONSyntaxError) -> JSONValue {
        let start = position
        let outerSpace = sawSpace
        sawSpace = false
        var levels = Levels()
        var deepest = 0
        var hasLoneSurrogate = false
        repeat {
            switch next {
            case UInt8(ascii: "{"):
                position += 1
                levels.push(isObject: true)
                skipSpace()
                if next != UInt8(ascii: "}") {
                    hasLoneSurrogate = try name().hasLoneSurrogate || hasLoneSurrogate
                    continue
                }
            case UInt8(ascii: "["):
                position += 1
                levels.push(isObject: false)
                skipSpace()
                if next != UInt8(ascii: "]") { continue }
            default:
                hasLoneSurrogate = try scalar().hasLoneSurrogate || hasLoneSurrogate
            }
            deepest = max(deepest, levels.count)
            // A value has ended, or a container is empty: continue in the innermost container, and close those that end here.
            while levels.count > 0 {
                skipSpace()
                if levels.isObject ? take(UInt8(ascii: "}")) : take(UInt8(ascii: "]")) {
                    levels.pop()
                    continue
                }
                guard take(UInt8(ascii: ",")) else {
                    throw unexpected(levels.isObject ? "expected \",\" or \"}\"" : "expected \",\" or \"]\"")
                }
                skipSpace()
                if levels.isObject { hasLoneSurrogate = try name().hasLoneSurrogate || hasLoneSurrogate }
                break
            }
        } while levels.count > 0
        let isCompact = !sawSpace
        sawSpace = outerSpace || sawSpace
        return JSONValue(
            bytes[start] == UInt8(ascii: "{") ? .object : .array, start, position, depth: deepest,
            isCompact: isCompact, hasLoneSurrogate: hasLoneSurrogate)
    }

    private mutating func word(_ word: StaticString) throws(JSONSyntaxError) {
        let start = position
        for offset in 0..<word.utf8CodeUnitCount {
            guard take(word.utf8Start[offset]) else {
                position = start
                throw unexpected("expected a value")
            }
        }
    }

    private mutating func number() throws(JSONSyntaxError) -> JSONValue {
        let start = position
        _ = take(UInt8(ascii: "-"))
        if !take(UInt8(ascii: "0")) { try digits() }
        if take(UInt8(ascii: ".")) { try digits() }
        if let byte = next, byte | 0x20 == UInt8(ascii: "e") {
            position += 1
            if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
            try digits()
        }
        return JSONValue(.number, start, position)
    }

    private mutating func digits() throws(JSONSyntaxError) {
        let first = position
        while position < end, bytes[position] &- 0x30 <= 9 { position += 1 }
        guard position > first else { throw unexpected("expected a digit") }
    }

    private mutating func string() throws(JSONSyntaxError) -> JSONValue {
        let start = position
        position += 1
        var hasEscapes = false
        var hasLoneSurrogate = false
        while true {
            skipPlainText()
            guard position < end else { throw unexpected("expected the closing quote of a string") }
            switch bytes[position] {
            case UInt8(ascii: "\""):
                position += 1
                return JSONValue(
                    .string, start, position, hasEscapes: hasEscapes, hasLoneSurrogate: hasLoneSurrogate)
            case UInt8(ascii: "\\"):
                hasEscapes = true
                hasLoneSurrogate = try !escape() || hasLoneSurrogate
            case 0..<0x20: throw unexpected("a control character must be escaped in a string")
            default: position += 1
            }
        }
    }

    /// Skips to the next quote, backslash or control character, eight bytes at a time.
    private mutating func skipPlainText() {
        while position + 8 <= end {
            let word = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self))
            // A byte's high bit in `hit` marks a special byte; above the first one there may be false hits.
            let quote = word ^ 0x2222_2222_2222_2222
            let backslash = word ^ 0x5C5C_5C5C_5C5C_5C5C
            let control = (word &- 0x2020_2020_2020_2020) & ~word
            let hit =
                (((quote &- 0x0101_0101_0101_0101) & ~quote)
                    | ((backslash &- 0x0101_0101_0101_0101) & ~backslash) | control) & 0x8080_8080_8080_8080
            if hit != 0 {
                position += hit.trailingZeroBitCount / 8
                return
            }
            position += 8
        }
        while position < end {
            let byte = bytes[position]
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") || byte < 0x20 { return }
            position += 1
        }
    }

    /// Skips an escape; returns `false` for half of a surrogate pair, which the grammar allows but no text can contain.
    private mutating func escape() throws(JSONSyntaxError) -> Bool {
        position += 1
        switch next {
        case 0x22, 0x5C, 0x2F, 0x62, 0x66, 0x6E, 0x72, 0x74:
            position += 1
            return true
        case UInt8(ascii: "u"): position += 1
        default: throw unexpected("expected one of \" \\ / b f n r t u after a backslash")
        }
        let unit = try hexadecimal()
        if (0xDC00...0xDFFF).contains(unit) { return false }
        guard (0xD800...0xDBFF).contains(unit) else { return true }
        guard position + 1 < end, bytes[position] == UInt8(ascii: "\\"), bytes[position + 1] == UInt8(ascii: "u") else {
            return false
        }
        let low = position
        position += 2
        if (0xDC00...0xDFFF).contains(try hexadecimal()) { return true }
        position = low  // A separate escape, which is checked later.
        return false
    }

    private mutating func hexadecimal() throws(JSONSyntaxError) -> UInt16 {
        var unit: UInt16 = 0
        for _ in 0..<4 {
            guard let byte = next, let digit = JSONText.hexadecimalDigit(byte) else {
                throw unexpected("expected four hexadecimal digits")
            }
            position += 1
            unit = unit << 4 | UInt16(digit)
        }
        return unit
    }
}

/// The stack of open containers, one bit each: 64 levels in a word, more on the heap.
private struct Levels {
    private(set) var count = 0
    private var word: UInt64 = 0
    private var outer: [UInt64] = []

    var isObject: Bool { word & 1 == 1 }

    mutating func push(isObject: Bool) {
        if count > 0, count % 64 == 0 { outer.append(word) }
        word = word << 1 | (isObject ? 1 : 0)
        count += 1
    }

    mutating func pop() {
        count -= 1
        word >>= 1
        if count > 0, count % 64 == 0, let word = outer.popLast() { self.word = word }
    }
}
