/// The position of a value in a JSON text, with properties found while scanning.
package struct JSONValue {
    package enum Kind: UInt8 {
        case string, number, object, array, `true`, `false`, null

        /// For messages: `a string`.
        package var description: String {
            switch self {
            case .string: "a string"
            case .number: "a number"
            case .object: "an object"
            case .array: "an array"
            case .true, .false: "a truth value"
            case .null: "null"
            }
        }
    }

    package let kind: Kind
    /// The first byte of the value; for a string, the quote.
    package let start: Int
    /// The byte after the last one.
    package let end: Int
    /// The nesting depth of containers including this one; 0 for a scalar.
    package let depth: Int
    /// Whether there is no white space between its tokens.
    package let isCompact: Bool
    /// Whether a string has escapes; meaningless for other kinds.
    package let hasEscapes: Bool
    /// Whether it contains a string with half a surrogate pair, which no Unicode text can contain.
    package let hasLoneSurrogate: Bool

    init(
        _ kind: Kind, _ start: Int, _ end: Int, depth: Int = 0, isCompact: Bool = true, hasEscapes: Bool = false,
        hasLoneSurrogate: Bool = false
    ) {
        self.kind = kind
        self.start = start
        self.end = end
        self.depth = depth
        self.isCompact = isCompact
        self.hasEscapes = hasEscapes
        self.hasLoneSurrogate = hasLoneSurrogate
    }

    /// Whether its last byte marks its end, unlike that of a number.
    var endsItself: Bool { kind == .object || kind == .array || kind == .string }

    /// The same value at another position.
    func moved(to place: Int) -> JSONValue {
        JSONValue(
            kind, place, place + end - start, depth: depth, isCompact: isCompact, hasEscapes: hasEscapes,
            hasLoneSurrogate: hasLoneSurrogate)
    }
}

/// Why bytes are not JSON, with the position.
public struct JSONSyntaxError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Bytes from the start of the text.
    public let offset: Int
    /// The expected input; never the actual text, which may be a health value.
    public let reason: String

    init(_ offset: Int, _ reason: String) {
        self.offset = offset
        self.reason = reason
    }

    public var description: String { "no JSON at byte \(offset): \(reason)" }
}

/// Finds the first byte that is not UTF-8 (RFC 3629).
enum UTF8Check {
    /// The offset of the first sequence that is overlong, incomplete, a surrogate or beyond U+10FFFF; `nil` if all bytes are valid.
    static func firstInvalidByte(in bytes: UnsafeRawBufferPointer) -> Int? {
        var position = 0
        let count = bytes.count
        while position < count {
            if position + 8 <= count,
                bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self) & 0x8080_8080_8080_8080 == 0
            {
                position += 8
                continue
            }
            let lead = bytes[position]
            if lead < 0x80 {
                position += 1
                continue
            }
            guard let length = sequenceLength(at: position, in: bytes) else { return position }
            position += length
        }
        return nil
    }

    private static func sequenceLength(at position: Int, in bytes: UnsafeRawBufferPointer) -> Int? {
        let lead = bytes[position]
        let second: ClosedRange<UInt8>
        let length: Int
        switch lead {
        case 0xC2...0xDF: (length, second) = (2, 0x80...0xBF)
        case 0xE0: (length, second) = (3, 0xA0...0xBF)
        case 0xED: (length, second) = (3, 0x80...0x9F)
        case 0xE1...0xEF: (length, second) = (3, 0x80...0xBF)
        case 0xF0: (length, second) = (4, 0x90...0xBF)
        case 0xF1...0xF3: (length, second) = (4, 0x80...0xBF)
        case 0xF4: (length, second) = (4, 0x80...0x8F)
        default: return nil
        }
        guard position + length <= bytes.count, second.contains(bytes[position + 1]) else { return nil }
        for offset in 2..<max(length, 2) where bytes[position + offset] & 0xC0 != 0x80 { return nil }
        return length
    }
}
