import Glibc

/// Cuts bytes into lines of bounded length with hidden secrets, so that no plugin can make the hub hold or show more.
struct LineSplitter {
    /// Maximum bytes of a line; a longer line is split.
    static let longestLine = 4_096

    private var mask: SecretMask
    private var capacity: Int
    private var line: [UInt8] = []

    init(hiding mask: SecretMask = SecretMask([])) {
        self.mask = mask
        // A secret across two pieces must be complete in one of them.
        capacity = max(Self.longestLine, 2 * mask.longest)
    }

    /// Hides other secrets from now on, even in the incomplete line that was read before.
    mutating func hide(_ mask: SecretMask) {
        self.mask = mask
        capacity = max(capacity, 2 * mask.longest)
    }

    /// The lines that `bytes` completes.
    mutating func add(_ bytes: UnsafeRawBufferPointer) -> [String] {
        var lines: [String] = []
        var rest = bytes
        while let start = rest.baseAddress, !rest.isEmpty {
            // No farther than a line reaches: a plugin may write without end, and without a line break.
            let room = capacity - line.count
            let end = memchr(start, CInt(UInt8(ascii: "\n")), min(rest.count, room + 1)).map { start.distance(to: $0) }
            let length = end ?? min(rest.count, room)
            line.append(contentsOf: UnsafeRawBufferPointer(rebasing: rest[..<length]))
            rest = UnsafeRawBufferPointer(rebasing: rest[(end.map { $0 + 1 } ?? length)...])
            if end != nil {
                if let text = self.rest() { lines.append(text) }
            } else if line.count == capacity {
                lines.append(piece())
            }
        }
        return lines
    }

    /// The text after the last line break.
    mutating func rest() -> String? {
        defer { line.removeAll(keepingCapacity: true) }
        return line.isEmpty ? nil : text(line[...], mask.places(in: line[...]))
    }

    /// Takes all bytes from the front that cannot be the beginning of a secret.
    private mutating func piece() -> String {
        let places = mask.places(in: line[...])
        let certain = line.count - max(0, mask.longest - 1)
        let end = places.first { $0.contains(certain) }?.upperBound ?? certain
        let text = text(line[..<end], places.filter { $0.upperBound <= end })
        line.removeSubrange(..<end)
        return text
    }

    private func text(_ bytes: ArraySlice<UInt8>, _ places: [Range<Int>]) -> String {
        String(decoding: mask.hiding(places, in: bytes), as: UTF8.self)
    }
}
