/// A violation of TOML's rules.
struct TOMLError: Error {
    var message: String
    /// The parser sets it if a table or a single value is at fault, because these do not know their place.
    var offset = 0
    /// The start of the next statement, if it is known.
    var resume: Int?
}

/// A position in a TOML text, and parsers for its independent parts: blanks, comments, keys and strings.
struct TOMLCursor {
    let bytes: [UInt8]
    var offset = 0

    /// Deeper than any setting, but far from the depth at which a recursive parser could overflow the stack.
    static let deepest = 64

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var next: UInt8? { offset < bytes.count ? bytes[offset] : nil }

    /// Asked at each byte of a comment or text, so it looks at bytes only.
    var isLineEnd: Bool {
        switch next {
        case 0x0A: true
        case 0x0D: offset + 1 < bytes.count && bytes[offset + 1] == 0x0A
        default: false
        }
    }

    func starts(with text: StaticString) -> Bool {
        text.withUTF8Buffer { bytes[offset...].starts(with: $0) }
    }

    func fault(_ message: String, at place: Int? = nil) -> TOMLError {
        TOMLError(message: message, offset: place ?? offset)
    }

    var tooDeep: TOMLError { fault("more than \(Self.deepest) values inside each other") }
}

// MARK: - Blanks and comments

extension TOMLCursor {
    mutating func skipBlank() {
        while next == 0x20 || next == 0x09 { offset += 1 }
    }

    /// Skips blanks, comments and line ends.
    mutating func skipLines() throws(TOMLError) {
        while true {
            skipBlank()
            if next == UInt8(ascii: "#") { try skipComment() }
            guard isLineEnd else { return }
            offset += next == 0x0D ? 2 : 1
        }
    }

    /// Skips a comment up to the end of its line.
    mutating func skipComment() throws(TOMLError) {
        while let byte = next {
            if Self.isControl(byte) {
                if isLineEnd { return }
                if let fault = controlCharacter(byte) { throw fault }
            }
            offset += 1
        }
    }

    private static func isControl(_ byte: UInt8) -> Bool { byte < 0x20 && byte != 0x09 || byte == 0x7F }

    /// Moves to the end of the line.
    mutating func skipLine() {
        while let byte = next, byte != 0x0A { offset += 1 }
    }

    /// The fault of a control character: only tabs are allowed here; the caller has already checked for line ends.
    private func controlCharacter(_ byte: UInt8) -> TOMLError? {
        guard Self.isControl(byte) else { return nil }
        let digits = String(byte, radix: 16, uppercase: true)
        return fault(
            byte == 0x0D
                ? "a carriage return stands only before a line feed"
                : "the control character U+\(String(repeating: "0", count: 4 - digits.count))\(digits) cannot stand here"
        )
    }
}

// MARK: - Keys

extension TOMLCursor {
    struct Key {
        let name: String
        let offset: Int
    }

    /// The names of a dotted key at `depth` tables; each name but the last is one more nested table.
    mutating func dottedKey(below depth: Int) throws(TOMLError) -> [Key] {
        var keys: [Key] = []
        while true {
            guard depth + keys.count < Self.deepest else { throw tooDeep }
            skipBlank()
            let start = offset
            if next == UInt8(ascii: "\"") || next == UInt8(ascii: "'") {
                if starts(with: "\"\"\"") || starts(with: "'''") {
                    throw fault("a name has one quotation mark on each side")
                }
                keys.append(Key(name: try string(), offset: start))
            } else {
                while let byte = next, Self.isBareKeyByte(byte) { offset += 1 }
                guard offset > start else {
                    throw next.flatMap { isLineEnd ? nil : controlCharacter($0) }
                        ?? fault("expected a name: letters, digits, _ and -, or a text in quotes")
                }
                keys.append(Key(name: String(decoding: bytes[start..<offset], as: UTF8.self), offset: start))
            }
            skipBlank()
            guard next == UInt8(ascii: ".") else { return keys }
            offset += 1
        }
    }

    private static func isBareKeyByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "_"), UInt8(ascii: "-"): true
        default: false
        }
    }
}

// MARK: - Strings

extension TOMLCursor {
    /// Parses a string of any of the four kinds.
    mutating func string() throws(TOMLError) -> String {
        let start = offset
        let quote = bytes[offset]
        let isBasic = quote == UInt8(ascii: "\"")
        let isLong = starts(with: "\"\"\"") || starts(with: "'''")
        offset += isLong ? 3 : 1
        // A line end right after the opening quotes is not part of the text.
        if isLong, isLineEnd { offset += next == 0x0D ? 2 : 1 }
        var text: [UInt8] = []
        while let byte = next {
            if byte == quote {
                let run = bytes[offset...].prefix { $0 == quote }.count
                guard isLong, run < 3 else {
                    // Up to two quotes may come right before the closing three.
                    let closing = isLong ? min(run, 5) : 1
                    text += Array(repeating: quote, count: isLong ? closing - 3 : 0)
                    offset += closing
                    return String(decoding: text, as: UTF8.self)
                }
                offset += run
                text += Array(repeating: quote, count: run)
            } else if byte == UInt8(ascii: "\\"), isBasic {
                text += try escape(isLong: isLong)
            } else if isLineEnd {
                guard isLong else { break }
                // Normalize line ends, so that a setting means the same on every machine, whatever editor wrote the file.
                text.append(0x0A)
                offset += byte == 0x0D ? 2 : 1
            } else if let fault = controlCharacter(byte) {
                throw fault
            } else {
                text.append(byte)
                offset += 1
            }
        }
        throw fault(
            isLong ? "the text that begins here is not closed" : "the text is not closed on its line", at: start)
    }

    /// Parses a backslash escape.
    private mutating func escape(isLong: Bool) throws(TOMLError) -> [UInt8] {
        let start = offset
        offset += 1
        if isLong {
            // A backslash at the end of a line removes all blanks and line ends up to the next character.
            let behind = offset
            skipBlank()
            if isLineEnd {
                while isLineEnd {
                    offset += next == 0x0D ? 2 : 1
                    skipBlank()
                }
                return []
            }
            offset = behind
        }
        let letter = next
        offset += 1
        switch letter {
        case UInt8(ascii: "b"): return [0x08]
        case UInt8(ascii: "t"): return [0x09]
        case UInt8(ascii: "n"): return [0x0A]
        case UInt8(ascii: "f"): return [0x0C]
        case UInt8(ascii: "r"): return [0x0D]
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): return [bytes[offset - 1]]
        case UInt8(ascii: "u"): return try character(digits: 4, from: start)
        case UInt8(ascii: "U"): return try character(digits: 8, from: start)
        default:
            throw fault(#"after \ stands one of b t n f r " \ u U; in '…' a \ is itself"#, at: start)
        }
    }

    private mutating func character(digits: Int, from start: Int) throws(TOMLError) -> [UInt8] {
        let shown = bytes[min(offset, bytes.count)...].prefix(digits)
        guard shown.count == digits, shown.allSatisfy({ $0 < 0x80 && Character(UnicodeScalar($0)).isHexDigit }),
            let scalar = UInt32(String(decoding: shown, as: UTF8.self), radix: 16).flatMap(UnicodeScalar.init)
        else { throw fault("expected \(digits) hex digits of a Unicode character", at: start) }
        offset += digits
        return Array(String(Character(scalar)).utf8)
    }
}
