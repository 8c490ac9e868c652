import Platform

/// `application/x-www-form-urlencoded`: the encoding of queries, fragments and bodies in OAuth.
public enum FormText {
    /// Writes the members in their order and escapes everything except letters, digits and `-._~`; a space becomes `%20`.
    public static func write(_ members: [(name: String, value: String)]) -> String {
        members.map { "\(escaped($0.name))=\(escaped($0.value))" }.joined(separator: "&")
    }

    /// Reads the members; if a name occurs twice, the first value counts.
    ///
    /// It accepts `&amp;` for `&`, because some services write it.
    public static func read(_ text: some StringProtocol) -> [String: String] {
        var members: [String: String] = [:]
        for part in text.split(separator: "&") {
            let part = part.hasPrefix("amp;") ? part.dropFirst(4) : part
            guard let equals = part.firstIndex(of: "=") else { continue }
            let name = unescaped(part[..<equals])
            if members[name] == nil { members[name] = unescaped(part[part.index(after: equals)...]) }
        }
        return members
    }

    private static func escaped(_ text: String) -> String {
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                bytes.append(byte)
            default: bytes += "%\([byte].hexadecimal.uppercased())".utf8
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func unescaped(_ text: some StringProtocol) -> String {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), rest.count >= 2,
                let value = [UInt8](hexadecimal: String(decoding: rest.prefix(2), as: UTF8.self))
            {
                bytes += value
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// Base64 with the alphabet for URLs and without padding (RFC 4648 §5).
enum Base64URL {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    static func text(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            let bits = group.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - group.count))
            for index in 0...group.count { text.append(alphabet[bits >> (18 - 6 * index) & 63]) }
        }
        return String(decoding: text, as: UTF8.self)
    }
}

/// Random texts that cannot be guessed.
enum RandomText {
    static func make(bytes count: Int) -> String {
        var generator = SystemRandomNumberGenerator()
        return Base64URL.text((0..<count).map { _ in UInt8.random(in: 0 ... .max, using: &generator) })
    }
}

extension String {
    var trimmingASCIISpace: String {
        let isSpace: (Character) -> Bool = { $0.isASCII && $0.isWhitespace }
        let front = drop(while: isSpace)
        guard let last = front.lastIndex(where: { !isSpace($0) }) else { return "" }
        return String(front[...last])
    }
}
