/// Cuts a stream into lines; a line may be cut or joined anywhere.
///
/// At most one unfinished line is held.
struct HSLLines: Sendable, Hashable {
    /// Bytes of one line, without its end.
    static let limit = 65_536

    /// Whether a line was longer: nothing after it can be trusted.
    private(set) var isOverlong = false
    private var held: [UInt8] = []

    /// The lines that these bytes complete, empty ones left out.
    mutating func append(_ bytes: [UInt8]) -> [[UInt8]] {
        var lines: [[UInt8]] = []
        var rest = bytes[...]
        while !isOverlong {
            let end = rest.firstIndex(of: 0x0A)
            let part = rest[..<(end ?? rest.endIndex)]
            guard held.count + part.count <= Self.limit else {
                (isOverlong, held) = (true, [])
                break
            }
            held += part
            guard let end else { break }
            if held.last == 0x0D { held.removeLast() }
            if !held.isEmpty { lines.append(held) }
            held = []
            rest = rest[(end + 1)...]
        }
        return lines
    }

    mutating func reset() { (isOverlong, held) = (false, []) }
}
