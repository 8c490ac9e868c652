/// Decodes the text of an attribute: replaces entities, and replaces control characters with spaces.
public enum XMLText {
    /// The anomalies of a text.
    public struct Oddities: OptionSet, Sendable {
        public let rawValue: UInt8
        public init(rawValue: UInt8) { self.rawValue = rawValue }
        /// A character that XML does not allow, such as U+000B; replaced with a space.
        public static let control = Oddities(rawValue: 1)
        /// A `&` that does not start an XML entity; left unchanged.
        public static let entity = Oddities(rawValue: 2)
        /// Bytes that are not UTF-8; replaced with U+FFFD.
        public static let encoding = Oddities(rawValue: 4)
    }

    public static func decoded(_ bytes: UnsafeRawBufferPointer) -> (text: String, oddities: Oddities) {
        if !bytes.contains(where: { $0 == 0x26 || $0 < 0x20 || $0 >= 0x80 }) {
            return (String(decoding: bytes, as: UTF8.self), [])
        }
        var (output, oddities, place): ([UInt8], Oddities, Int) = ([], [], 0)
        output.reserveCapacity(bytes.count)
        while place < bytes.count {
            let byte = bytes[place]
            if byte == 0x26 {
                if let (scalar, next) = entity(at: place, in: bytes) {
                    if isAllowed(scalar.value) {
                        output.append(contentsOf: Array(String(Character(scalar)).utf8))
                    } else {
                        output.append(0x20)
                        oddities.insert(.control)
                    }
                    place = next
                    continue
                }
                oddities.insert(.entity)
            }
            if isAllowed(UInt32(byte)) {
                output.append(byte)
            } else {
                output.append(0x20)
                oddities.insert(.control)
            }
            place += 1
        }
        let text = String(decoding: output, as: UTF8.self)
        // A repaired text contains U+FFFD. A text that already contained it is unchanged.
        if text.utf8.count != output.count || !text.utf8.elementsEqual(output) { oddities.insert(.encoding) }
        return (text, oddities)
    }

    private static func isAllowed(_ value: UInt32) -> Bool {
        value >= 0x20 ? value != 0x7F : value == 9 || value == 10 || value == 13
    }

    /// Reads one of the five XML entities or a numeric character reference; others are declared in parts that are not read.
    private static func entity(at start: Int, in bytes: UnsafeRawBufferPointer) -> (Unicode.Scalar, Int)? {
        let bound = min(bytes.count, start + 12)
        guard let end = bytes[start..<bound].firstIndex(of: 0x3B) else { return nil }
        let name = bytes[(start + 1)..<end]
        switch name.count {
        case 2 where name.elementsEqual("lt".utf8): return ("<", end + 1)
        case 2 where name.elementsEqual("gt".utf8): return (">", end + 1)
        case 3 where name.elementsEqual("amp".utf8): return ("&", end + 1)
        case 4 where name.elementsEqual("quot".utf8): return ("\"", end + 1)
        case 4 where name.elementsEqual("apos".utf8): return ("'", end + 1)
        default: break
        }
        guard name.first == 0x23 else { return nil }
        let isHexadecimal = name.dropFirst().first == 0x78
        let digits = name.dropFirst(isHexadecimal ? 2 : 1)
        guard !digits.isEmpty, digits.allSatisfy({ $0 != 0x2B && $0 != 0x2D }),
            let number = UInt32(String(decoding: digits, as: UTF8.self), radix: isHexadecimal ? 16 : 10),
            let scalar = Unicode.Scalar(number)
        else { return nil }
        return (scalar, end + 1)
    }
}
