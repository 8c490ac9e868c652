/// Reads one JSON value (RFC 8259), strictly and in one pass.
///
/// Foundation's decoder takes about a millisecond for a line of HSL, because a value of unknown shape has to be tried as
/// each shape there is; a memory of 200 records has 400 lines. Of two members of one name the last one holds.
struct HSLJSONReader {
    private let bytes: [UInt8]
    private var place = 0
    private var depth = 0

    /// Values inside each other; no message has more than five.
    private static let depthLimit = 64

    /// - Parameter bytes: valid UTF-8.
    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// The value, and nothing but white space around it; nil for anything else.
    mutating func whole() -> HSLJSON? {
        skipSpace()
        guard let value = value() else { return nil }
        skipSpace()
        return place == bytes.count ? value : nil
    }

    private var next: UInt8? { place < bytes.count ? bytes[place] : nil }

    private mutating func skipSpace() {
        while let byte = next, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { place += 1 }
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard next == byte else { return false }
        place += 1
        return true
    }

    private mutating func take(_ word: StaticString) -> Bool {
        let size = word.utf8CodeUnitCount
        guard place + size <= bytes.count else { return false }
        for offset in 0..<size where bytes[place + offset] != word.utf8Start[offset] { return false }
        place += size
        return true
    }

    private mutating func value() -> HSLJSON? {
        switch next {
        case UInt8(ascii: "{"): return nested { $0.object() }
        case UInt8(ascii: "["): return nested { $0.array() }
        case UInt8(ascii: "\""): return string().map(HSLJSON.string)
        case UInt8(ascii: "t"): return take("true") ? .bool(true) : nil
        case UInt8(ascii: "f"): return take("false") ? .bool(false) : nil
        case UInt8(ascii: "n"): return take("null") ? .null : nil
        default: return number()
        }
    }

    private mutating func nested(_ read: (inout Self) -> HSLJSON?) -> HSLJSON? {
        guard depth < Self.depthLimit else { return nil }
        (depth, place) = (depth + 1, place + 1)
        defer { depth -= 1 }
        skipSpace()
        return read(&self)
    }

    private mutating func object() -> HSLJSON? {
        var members: [String: HSLJSON] = [:]
        if take(UInt8(ascii: "}")) { return .object(members) }
        repeat {
            skipSpace()
            guard let name = string() else { return nil }
            skipSpace()
            guard take(UInt8(ascii: ":")) else { return nil }
            skipSpace()
            guard let value = value() else { return nil }
            members[name] = value
            skipSpace()
        } while take(UInt8(ascii: ","))
        return take(UInt8(ascii: "}")) ? .object(members) : nil
    }

    private mutating func array() -> HSLJSON? {
        var items: [HSLJSON] = []
        if take(UInt8(ascii: "]")) { return .array(items) }
        repeat {
            skipSpace()
            guard let item = value() else { return nil }
            items.append(item)
            skipSpace()
        } while take(UInt8(ascii: ","))
        return take(UInt8(ascii: "]")) ? .array(items) : nil
    }

    // MARK: Numbers

    private mutating func number() -> HSLJSON? {
        let start = place
        _ = take(UInt8(ascii: "-"))
        // No zeros in front.
        guard take(UInt8(ascii: "0")) || digits() else { return nil }
        var isWhole = true
        if take(UInt8(ascii: ".")) {
            isWhole = false
            guard digits() else { return nil }
        }
        if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
            isWhole = false
            if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
            guard digits() else { return nil }
        }
        let text = String(decoding: bytes[start..<place], as: UTF8.self)
        if isWhole, let number = Int(text) { return .int(number) }
        guard let number = Double(text), number.isFinite else { return nil }
        return .number(number)
    }

    private mutating func digits() -> Bool {
        let start = place
        while let byte = next, (0x30...0x39).contains(byte) { place += 1 }
        return place > start
    }

    // MARK: Texts

    private mutating func string() -> String? {
        guard take(UInt8(ascii: "\"")) else { return nil }
        let start = place
        while let byte = next, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") {
            guard byte >= 0x20 else { return nil }
            place += 1
        }
        let plain = bytes[start..<place]
        if take(UInt8(ascii: "\"")) { return String(decoding: plain, as: UTF8.self) }
        var text = Array(plain)
        while let byte = next {
            place += 1
            switch byte {
            case UInt8(ascii: "\""): return String(decoding: text, as: UTF8.self)
            case UInt8(ascii: "\\"): guard escape(&text) else { return nil }
            case 0x20...: text.append(byte)
            default: return nil
            }
        }
        return nil
    }

    private mutating func escape(_ text: inout [UInt8]) -> Bool {
        guard let byte = next else { return false }
        place += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"):
            guard let scalar = scalar() else { return false }
            text += Array(String(Character(scalar)).utf8)
        default: return false
        }
        return true
    }

    /// Four hex digits, or twice four that are one character together; half of such a pair is none.
    private mutating func scalar() -> Unicode.Scalar? {
        guard let first = unit() else { return nil }
        guard (0xD800...0xDBFF).contains(first) else { return Unicode.Scalar(first) }
        guard take("\\u"), let second = unit(), (0xDC00...0xDFFF).contains(second) else { return nil }
        return Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
    }

    private mutating func unit() -> UInt32? {
        guard place + 4 <= bytes.count else { return nil }
        var unit: UInt32 = 0
        for byte in bytes[place..<place + 4] {
            let digit: UInt8
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = byte - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = byte - UInt8(ascii: "a") + 10
            case UInt8(ascii: "A")...UInt8(ascii: "F"): digit = byte - UInt8(ascii: "A") + 10
            default: return nil
            }
            unit = unit << 4 | UInt32(digit)
        }
        place += 4
        return unit
    }
}
