/// Splits a stream into lines; a line may be split or joined at any position.
///
/// At most one unfinished line is held.
package struct HSLLines: Sendable, Hashable {
    /// The maximum number of bytes in one line, without its end.
    package static let limit = 65_536

    /// Whether a line was longer: no byte after it can be trusted.
    package private(set) var isOverlong = false
    private var held: [UInt8] = []

    package init() {}

    /// The lines that these bytes complete, without empty ones.
    package mutating func append(_ bytes: [UInt8]) -> [[UInt8]] {
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

    package mutating func reset() { (isOverlong, held) = (false, []) }
}
