import PluginKit

/// Collects the records of a group, because a group must be sent in one batch (Protocol R5.4).
///
/// A group ends at a record of another group or of no group, at an empty line, at a line with a JSON array and at the end of the
/// stream. A line that cannot be parsed may have been a record of the open group, so the group is refused.
struct GroupCollector {
    /// Maximum records and bytes of one batch to the hub.
    private static let (maximumRecords, maximumBytes) = (1_000, 1_000_000)

    private var open: [BridgeRecord] = []
    private var bytes = 0
    /// A group that was too large or incomplete; its later records are refused too.
    private var refusedGroup: (name: String, reason: String)?
    /// Complete groups, in the order in which they began.
    private var groups: [[BridgeRecord]] = []
    private var refused: [(BridgeRecord, String)] = []

    mutating func add(_ said: BridgeLine) {
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

    private mutating func add(_ record: BridgeRecord) {
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
        guard open.count > Self.maximumRecords || bytes > Self.maximumBytes else { return }
        refuseOpen(
            "its group has more than \(Self.maximumRecords) records or \(Self.maximumBytes) bytes, the most that a hub "
                + "stores together; make smaller groups")
    }

    /// Completes the group that was being collected.
    mutating func end() {
        close()
        refusedGroup = nil
    }

    private mutating func close() {
        if !open.isEmpty { groups.append(open) }
        (open, bytes) = ([], 0)
    }

    /// Returns the complete groups and the refused records; an incomplete group stays.
    mutating func take() -> (groups: [[BridgeRecord]], refused: [(BridgeRecord, String)]) {
        defer { (groups, refused) = ([], []) }
        return (groups, refused)
    }

    /// Records whose group has not ended.
    var waiting: Int { open.count }
}
