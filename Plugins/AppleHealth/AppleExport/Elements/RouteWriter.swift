import JSON
import Samples

/// Writes the points of a route as records, each with some hundreds of points.
struct RouteWriter {
    /// The beginning of its keys; `nil` to use the time of the first point.
    var head: [UInt8]?
    let group: [UInt8]?
    let source: SourceEntry
    let draft: ElementDraft
    let reader: ExportReader
    let type: TypeEntry
    private var points: [UInt8] = []
    private var count = 0
    private var first: Int64 = 0
    private var last: Int64 = 0
    private var part = 0

    init(
        head: [UInt8]?, group: [UInt8]?, source: SourceEntry, draft: ElementDraft, reader: ExportReader, type: TypeEntry
    ) {
        (self.head, self.group, self.source, self.draft) = (head, group, source, draft)
        (self.reader, self.type) = (reader, type)
    }

    mutating func add(_ point: RoutePointText) {
        // The points of a record are in order of time. A point earlier than the last one starts a new record.
        if count >= 400 || points.count > 44_000 || count > 0 && point.microseconds < last { end() }
        if count == 0 { first = point.microseconds }
        last = point.microseconds
        if count > 0 { points.append(0x2C) }
        points += point.json
        count += 1
    }

    mutating func end() {
        guard count > 0 else { return }
        defer {
            points.removeAll(keepingCapacity: true)
            count = 0
        }
        part += 1
        let (start, end) = (first.flooredDivision(by: 1_000_000), -(-last).flooredDivision(by: 1_000_000))
        guard group != nil || reader.options.filter.takes(start, end) else { return reader.account.filtered += 1 }
        if head == nil {
            var key: [UInt8] = []
            reader.keys.begin("route", type: type.id.rawValue)
            reader.keys.add(first)
            _ = reader.keys.end(at: start, to: &key)
            head = key
        }
        reader.give(
            PartRecord(
                type: type, source: source, key: (head ?? []) + " \(part)".utf8,
                start: Timestamp(microseconds: first).text, end: Timestamp(microseconds: last).text,
                seconds: (start, end), group: group, route: points, draft: draft))
    }
}
