/// Cuts bytes into lines of bounded length with hidden secrets, so that no plugin can make the hub hold or show more.
struct LineCutter {
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
        var rest = bytes[...]
        while !rest.isEmpty {
            let end = rest.firstIndex(of: UInt8(ascii: "\n")) ?? rest.endIndex
            let room = min(end, rest.startIndex + capacity - line.count)
            line.append(contentsOf: rest[rest.startIndex..<room])
            rest = rest[room...]
            if rest.first == UInt8(ascii: "\n") {
                rest = rest.dropFirst()
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
