/// Records as text, in groups that are stored together.
///
/// All bytes are in one buffer: a list of lists would cost an import two allocations for each record.
public struct GroupedRecords: RandomAccessCollection, Hashable, Sendable {
    /// The records of all groups, in order.
    public private(set) var records = RawRecords()
    /// The number of records up to the end of each group.
    private var ends: [Int] = []

    public init() {}

    /// Makes the value from separate groups.
    public init(_ groups: [[[UInt8]]]) {
        for group in groups { append(group: group) }
    }

    /// Appends a record that is stored alone, given as JSON.
    public mutating func append(_ record: [UInt8]) {
        records.append(record)
        ends.append(records.count)
    }

    /// Appends records that are stored together.
    public mutating func append(group: [[UInt8]]) {
        for record in group { records.append(record) }
        ends.append(records.count)
    }

    public var startIndex: Int { 0 }
    public var endIndex: Int { ends.count }
    public subscript(group: Int) -> RawRecords { records(of: group..<group + 1) }

    /// A range of the groups.
    public subscript(groups: Range<Int>) -> GroupedRecords {
        var part = GroupedRecords()
        let first = start(of: groups.lowerBound)
        part.records = records(of: groups)
        part.ends = ends[groups].map { $0 - first }
        return part
    }

    /// The records of a range of groups.
    public func records(of groups: Range<Int>) -> RawRecords {
        guard let last = groups.last else { return RawRecords() }
        return records[start(of: groups.lowerBound)..<ends[last]]
    }

    /// The end of the longest range of groups, from `group` on, that fits the limits; the range has at least that group.
    ///
    /// - Parameter bytes: the limit for the records, without the commas between them.
    public func end(from group: Int, fitting most: Int, bytes: Int) -> Int {
        let first = start(of: group)
        var end = group + 1
        while end < ends.count, ends[end] - first <= most, records.size(of: first..<ends[end]) <= bytes { end += 1 }
        return end
    }

    private func start(of group: Int) -> Int { group == 0 ? 0 : ends[group - 1] }
}
