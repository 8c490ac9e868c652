/// A step from a document's root to one of its values.
package enum PathStep: Hashable, Sendable {
    case key(String)
    case index(Int)
}

/// Converts an offset to line and column.
package struct LineTable {
    private let bytes: [UInt8]
    private var starts = [0]

    package init(_ bytes: [UInt8]) {
        self.bytes = bytes
        var end = 0
        while end < bytes.count {
            if bytes[end] == UInt8(ascii: "\n") { starts.append(end + 1) }
            end += 1
        }
    }

    package func position(of offset: Int) -> SourcePosition {
        var (low, high) = (0, starts.count)
        while high - low > 1 {
            let middle = (low + high) / 2
            if starts[middle] <= offset { low = middle } else { high = middle }
        }
        // Each scalar has exactly one byte that is not a continuation byte.
        let column = bytes[starts[low]..<max(starts[low], min(offset, bytes.count))].count { $0 & 0xC0 != 0x80 }
        return SourcePosition(line: low + 1, column: column + 1)
    }
}
