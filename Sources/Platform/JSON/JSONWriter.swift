/// Appends JSON in canonical form (Protocol §6) to a buffer.
extension [UInt8] {
    package mutating func append(literal text: StaticString) {
        append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// Like `+=`, but without reference counting of the other array; for text assembled from many small parts.
    @inline(__always)
    package mutating func append(bytes: [UInt8]) { bytes.withUnsafeBufferPointer { append(contentsOf: $0) } }

    /// Appends text that is JSON already.
    package mutating func append(json text: String) { append(contentsOf: text.utf8) }

    /// Appends `text` in quotes.
    package mutating func append(quoted text: String) {
        append(UInt8(ascii: "\""))
        append(escaped: text)
        append(UInt8(ascii: "\""))
    }

    /// Appends the text between the quotes for `text`, with only the escapes that JSON requires, as RFC 8785 §3.2.2.2 spells them.
    package mutating func append(escaped text: String) {
        let isAppended: Void? = text.utf8.withContiguousStorageIfAvailable { append(escaping: $0) }
        guard isAppended == nil else { return }
        var copy = text  // A bridged string has no contiguous UTF-8 until it is requested.
        copy.withUTF8 { append(escaping: $0) }
    }

    private mutating func append(escaping bytes: UnsafeBufferPointer<UInt8>) {
        var plain = 0  // The start of the part that is not appended yet.
        for (position, byte) in bytes.enumerated() {
            guard byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") else { continue }
            append(contentsOf: UnsafeBufferPointer(rebasing: bytes[plain..<position]))
            append(escapeOf: byte)
            plain = position + 1
        }
        append(contentsOf: UnsafeBufferPointer(rebasing: bytes[plain...]))
    }

    private mutating func append(escapeOf byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""): append(literal: "\\\"")
        case UInt8(ascii: "\\"): append(literal: "\\\\")
        case 0x08: append(literal: "\\b")
        case 0x09: append(literal: "\\t")
        case 0x0A: append(literal: "\\n")
        case 0x0C: append(literal: "\\f")
        case 0x0D: append(literal: "\\r")
        default:
            append(literal: byte < 0x10 ? "\\u000" : "\\u001")
            let digit = byte & 0x0F
            append(digit < 10 ? 0x30 + digit : 0x57 + digit)
        }
    }
}
