import PluginKit

/// Puts records of one group together, for a group travels whole (Protocol R5.4).
///
/// A group ends where a record of another group or of none comes, at an empty line, at a list and at the end of the stream. A line that is
/// not understood may have been one of its records: then it is refused.
struct GroupGatherer {
    /// What a hub takes in one batch.
    private static let (mostRecords, mostBytes) = (1_000, 1_000_000)

    private var open: [GivenRecord] = []
    private var bytes = 0
    /// Too large, or not whole: what of it still comes is refused.
    private var refusedGroup: (name: String, reason: String)?
    /// Whole, in the order in which they began.
    private var groups: [[GivenRecord]] = []
    private var refused: [(GivenRecord, String)] = []

    mutating func add(_ said: SaidLine) {
        switch said {
        case .records(let records, let isList):
            if isList { end() }
            for record in records { add(record) }
            if isList { end() }
        case .fault: refuseOpen("a line within its group was not understood; give the whole group again")
        case .nothing: end()
        case .passing, .other: break
        }
    }

    private mutating func refuseOpen(_ reason: String) {
        guard let group = open.first?.group else { return }
        refusedGroup = (group, reason)
        refused += open.map { ($0, reason) }
        (open, bytes) = ([], 0)
    }

    private mutating func add(_ record: GivenRecord) {
        if record.group == nil || record.group != open.first?.group { close() }
        guard let group = record.group else {
            refusedGroup = nil
            groups.append([record])
            return
        }
        if group != refusedGroup?.name { refusedGroup = nil }
        open.append(record)
        bytes += record.bytes.count
        if let reason = refusedGroup?.reason { return refuseOpen(reason) }
        guard open.count > Self.mostRecords || bytes > Self.mostBytes else { return }
        refuseOpen(
            "its group has more than \(Self.mostRecords) records or \(Self.mostBytes) bytes, which is what a hub stores "
                + "together; make smaller groups")
    }

    /// The group that was being gathered is whole.
    mutating func end() {
        close()
        refusedGroup = nil
    }

    private mutating func close() {
        if !open.isEmpty { groups.append(open) }
        (open, bytes) = ([], 0)
    }

    /// What is whole; what is not yet stays.
    mutating func take() -> (groups: [[GivenRecord]], refused: [(GivenRecord, String)]) {
        defer { (groups, refused) = ([], []) }
        return (groups, refused)
    }

    /// Records whose group has not ended.
    var waiting: Int { open.count }
}
