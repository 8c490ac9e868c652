import FoundationEssentials
import Platform

/// Hides secrets in a plugin's output, in the forms that reach logs: verbatim, escaped in JSON or percent-encoded.
///
/// Other forms of a secret, such as a hash or Base64, are not detected.
struct SecretMask: Sendable {
    /// Shorter texts occur in many words: hiding them would hide the log, and reveal more than it hides.
    static let shortest = 4
    private static let replacement = Array("<secret>".utf8)

    private let needles: [[UInt8]]
    /// Whether a needle begins with this byte; this skips nearly every byte of a log.
    private let beginnings: [Bool]

    init(_ secrets: some Sequence<String>) {
        var found: Set<[UInt8]> = []
        for secret in secrets {
            // A key of several lines is printed line by line.
            for line in [secret[...]] + secret.split(whereSeparator: \.isNewline) {
                for spelling in [String(line), Self.escaped(line), Self.percentEncoded(line)] {
                    let bytes = Array(spelling.utf8)
                    if bytes.count >= Self.shortest { found.insert(bytes) }
                }
            }
        }
        // The longest first, because one secret may be the beginning of another.
        needles = found.sorted { $0.count == $1.count ? $0.lexicographicallyPrecedes($1) : $0.count > $1.count }
        var beginnings = [Bool](repeating: false, count: 256)
        for needle in needles { beginnings[Int(needle[0])] = true }
        self.beginnings = beginnings
    }

    var isEmpty: Bool { needles.isEmpty }

    /// Bytes of the longest text that is hidden.
    var longest: Int { needles.first?.count ?? 0 }

    /// The places of secrets, from front to back, without overlaps.
    func places(in bytes: ArraySlice<UInt8>) -> [Range<Int>] {
        guard !needles.isEmpty else { return [] }
        return bytes.withUnsafeBufferPointer { buffer in
            var places: [Range<Int>] = []
            var index = 0
            while index < buffer.count {
                guard beginnings[Int(buffer[index])],
                    let needle = needles.first(where: { buffer[index...].starts(with: $0) })
                else {
                    index += 1
                    continue
                }
                let start = bytes.startIndex + index
                places.append(start..<start + needle.count)
                index += needle.count
            }
            return places
        }
    }

    /// `bytes` with `<secret>` in each of the `places`.
    func hiding(_ places: [Range<Int>], in bytes: ArraySlice<UInt8>) -> [UInt8] {
        guard !places.isEmpty else { return Array(bytes) }
        var (result, index): ([UInt8], Int) = ([], bytes.startIndex)
        for place in places {
            result += bytes[index..<place.lowerBound] + Self.replacement
            index = place.upperBound
        }
        return result + bytes[index...]
    }

    func hiding(_ text: String) -> String {
        let bytes = Array(text.utf8)[...]
        return String(decoding: hiding(places(in: bytes), in: bytes), as: UTF8.self)
    }

    private static func escaped(_ text: Substring) -> String {
        guard let data = try? JSONEncoder().encode(String(text)) else { return String(text) }
        return String(String(decoding: data, as: UTF8.self).dropFirst().dropLast())
    }

    private static func percentEncoded(_ text: Substring) -> String {
        text.utf8.reduce(into: "") { result, byte in
            let isPlain =
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                default: "-._~".utf8.contains(byte)
                }
            if isPlain {
                result.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                result += "%" + [byte].hexadecimal.uppercased()
            }
        }
    }
}
