import JSON
import Samples

/// The records of a message as received text, so that a client can print each exactly as the hub wrote it.
///
/// The bytes of all records are in one buffer; an element is a slice of it.
public struct RawRecords: RandomAccessCollection, Hashable, Sendable {
    /// The records with a comma between them: the text between `[` and `]`.
    public private(set) var joined: [UInt8] = []
    private var ranges: [Range<Int>] = []

    public init() {}

    /// The elements of a scanned array.
    init(_ elements: [JSONValue], in bytes: UnsafeRawBufferPointer) {
        guard let first = elements.first, let last = elements.last else { return }
        joined = Array(bytes[first.start..<last.end])
        ranges = elements.map { $0.start - first.start..<$0.end - first.start }
    }

    /// Appends one record, given as JSON.
    public mutating func append(_ record: some Sequence<UInt8>) {
        append { joined in
            // Append whole pieces: an import has millions of records.
            if record.withContiguousStorageIfAvailable({ joined.append(contentsOf: $0) }) == nil {
                joined.append(contentsOf: record)
            }
        }
    }

    /// Appends the one record that `write` adds to the buffer, so that an encoder can write it in place.
    public mutating func append(writing write: (inout [UInt8]) -> Void) {
        if !ranges.isEmpty { joined.append(UInt8(ascii: ",")) }
        let start = joined.count
        write(&joined)
        ranges.append(start..<joined.count)
    }

    /// Removes the last record.
    public mutating func removeLast() {
        ranges.removeLast()
        joined.removeLast(joined.count - (ranges.last?.upperBound ?? 0))
    }

    public var startIndex: Int { 0 }
    public var endIndex: Int { ranges.count }
    public subscript(position: Int) -> ArraySlice<UInt8> { joined[ranges[position]] }

    /// A range of the records.
    public subscript(records: Range<Int>) -> RawRecords {
        var part = RawRecords()
        guard let last = records.last else { return part }
        let first = ranges[records.lowerBound].lowerBound
        part.joined = Array(joined[first..<ranges[last].upperBound])
        part.ranges = ranges[records].map { $0.lowerBound - first..<$0.upperBound - first }
        return part
    }

    /// The size of a range of records in bytes, without the commas between them.
    func size(of records: Range<Int>) -> Int {
        guard let last = records.last else { return 0 }
        return ranges[last].upperBound - ranges[records.lowerBound].lowerBound - (records.count - 1)
    }

    /// A record as text.
    public func text(_ position: Int) -> String { String(decoding: self[position], as: UTF8.self) }

    public static func == (left: RawRecords, right: RawRecords) -> Bool { left.elementsEqual(right) }

    public func hash(into hasher: inout Hasher) {
        for record in self { hasher.combine(record) }
    }
}
