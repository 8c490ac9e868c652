/// A step from a document's root to one of its values.
enum PathStep: Hashable, Sendable {
    case key(String)
    case index(Int)
}

/// Where the keys and values of a TOML text stand.
///
/// TOMLKit says where an error is, but not where a key is; it stops at the first error; and it aborts the process at some
/// malformed texts (an array element that begins with `}`, a header that begins with `=`). So this scanner goes first: it
/// notes where keys and values stand and finds every statement whose structure is broken. What it leaves to TOMLKit are
/// the values: escapes, ranges of numbers and dates, and names given twice.
struct SourceIndex {
    struct Place {
        var key: SourcePosition
        /// The value as written, as UTF-8 offsets; nil for tables made by headers and dotted keys.
        var value: Range<Int>?
    }

    /// One header or one key with its value.
    struct Statement {
        /// Lines from 1.
        var lines: ClosedRange<Int>
        var isHeader: Bool
        /// The table it opens or belongs to.
        var table: [PathStep]
    }

    var places: [[PathStep]: Place] = [:]
    var statements: [Statement] = []
    /// Strings with an escaped NUL, at which TOMLKit would cut the text in silence.
    var escapedNULs: [SourcePosition] = []

    /// Broken statements, in the order of the file.
    var faults: [SyntaxFault] = []

    init(_ bytes: [UInt8]) {
        var scanner = SourceScanner(bytes)
        scanner.scan()
        self = scanner.index
    }

    init() {}
}

/// Line and column of an offset.
struct LineTable {
    private let bytes: [UInt8]
    private var starts = [0]

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        for (offset, byte) in bytes.enumerated() where byte == UInt8(ascii: "\n") { starts.append(offset + 1) }
    }

    var count: Int { starts.count }

    func position(of offset: Int) -> SourcePosition {
        var (low, high) = (0, starts.count)
        while high - low > 1 {
            let middle = (low + high) / 2
            if starts[middle] <= offset { low = middle } else { high = middle }
        }
        // A scalar has one byte that is no continuation byte.
        let column = bytes[starts[low]..<max(starts[low], min(offset, bytes.count))].count { $0 & 0xC0 != 0x80 }
        return SourcePosition(line: low + 1, column: column + 1)
    }
}
