import HTTPTypes
import HealthText
import Hummingbird
import PluginKit

/// The samples of a type in a time window, newest first, in pages.
struct SampleList: Sendable {
    private static let most = 25

    /// The position of a sample: by start, then by number.
    private struct Place {
        let start, number: Int64

        init(_ record: StoredRecord) {
            if case .sample(let sample) = record.record { start = sample.start.microseconds } else { start = 0 }
            number = record.number
        }

        init?(_ text: String) {
            let parts = text.split(separator: "-").compactMap { Int64($0) }
            guard parts.count == 2, Timestamp.range.contains(parts[0]) else { return nil }
            (start, number) = (parts[0], parts[1])
        }

        var text: String { "\(start)-\(number)" }

        func isBefore(_ other: Place) -> Bool { (start, number) < (other.start, other.number) }
    }

    let records: [StoredRecord]
    private let hasNewer, hasOlder: Bool

    /// - Throws: ``RequestRefusal`` for an invalid position in the address.
    init(
        _ reader: HealthReader, _ type: TypeID, of subject: PagePerson, from: Int64, to: Int64, _ request: Request
    ) async throws {
        func place(_ name: String) throws -> Place? {
            guard let text = request.field(name) else { return nil }
            guard let place = Place(text) else {
                throw RequestRefusal(
                    .badRequest, "\(name) is not a place in a list", "Go on from the page of the type.")
            }
            return place
        }
        let (older, newer) = (try place("before"), try place("after"))
        var filter = QueryRequest.Filter()
        (filter.types, filter.persons, filter.strict) = ([type.rawValue], [subject.name], [.start])
        (filter.from, filter.to) = (Timestamp(microseconds: from), Timestamp(microseconds: to))
        let order = newer == nil ? QueryRequest.Order.newestFirst : .time
        if let older, older.start < to { filter.to = Timestamp(microseconds: older.start).next }
        if let newer { filter.from = Timestamp(microseconds: max(from, newer.start)) }
        guard from < to,
            filter.from.map({ start in filter.to.map { start.microseconds < $0.microseconds } ?? true }) ?? true
        else {
            (records, hasNewer, hasOlder) = ([], false, false)
            return
        }
        var found: [StoredRecord] = []
        var limit = 2 * Self.most
        // If many samples start at the same time, skip those of earlier pages.
        while true {
            var count = 0
            found = []
            for try await page in reader.hub.query(filter, order: order, mirrors: true, limit: Int64(limit)) {
                count += page.records.count
                found += page.records.filter { record in
                    if record.isRepeat { return false }
                    let place = Place(record)
                    if let older { return place.isBefore(older) }
                    if let newer { return newer.isBefore(place) }
                    return true
                }
            }
            if found.count > Self.most || count < limit || limit > 10_000 { break }
            limit *= 4
        }
        let hasMore = found.count > Self.most
        let shown = Array(found.prefix(Self.most))
        records = newer == nil ? shown : shown.reversed()
        hasNewer = newer == nil ? older != nil : hasMore
        hasOlder = newer == nil ? hasMore : true
    }

    /// - Parameter fields: query parameters to keep in links.
    func html(
        _ type: TypeID, _ subject: PagePerson, _ fields: [(name: String, value: String)], details: [Int64: String]
    ) -> HTML {
        guard let first = records.first, let last = records.last else {
            return "<p class=\"empty\">There are no samples in this time.</p>"
        }
        let columns = ["When", "Value", "Source", "Number"]
        let table = HTML.table("Samples, the newest first", columns, records) { record in
            let cells = RecordCells(record, for: subject.reader)
            return [
                cells.when, details[record.number].map { "\($0)" } ?? cells.value, cells.source,
                RecordDetailPage.link(record.number),
            ]
        }
        func link(_ text: String, _ name: String, _ place: Place) -> HTML {
            let address =
                subject.address("/types/\(type.rawValue)", fields + [(name: name, value: place.text)]) + "#samples"
            return "<a href=\"\(url: address)\">\(text)</a>"
        }
        let links = [
            hasNewer ? link("Newer samples", "after", Place(first)) : nil,
            hasOlder ? link("Older samples", "before", Place(last)) : nil,
        ].compactMap(\.self)
        return "<section id=\"samples\">\(table)<p class=\"pager\">\(HTML.joined(links, by: " "))</p></section>"
    }
}

/// The cells of a record's row.
struct RecordCells: Sendable {
    let when, value, source: HTML

    init(_ stored: StoredRecord, for reader: DisplayPreferences) {
        guard case .sample(let sample) = stored.record else {
            (when, value, source) = ("", "", "\(stored.record.source.plugin)")
            return
        }
        when = "\(MomentText.marked(stored, sample, for: reader))"
        source = "\(RecordText.source(sample.source))"
        value = "\(Self.words(sample, stored, reader))"
    }

    /// The value; for a category or workout also the duration, and for a workout its totals.
    static func words(_ sample: Sample, _ stored: StoredRecord, _ reader: DisplayPreferences) -> String {
        let text = ValueText.marked(stored, for: reader)
        let seconds = Double(sample.end.microseconds - sample.start.microseconds) / 1_000_000
        switch sample.value {
        case .category: return seconds > 0 ? "\(text), \(NumberText.duration(seconds: seconds))" : text
        case .workout:
            let totals = (sample.workout?.totals ?? []).prefix(6).map { total in
                reader.format(total.unit, of: total.type).text(total.value)
            }
            let duration = NumberText.duration(seconds: sample.workoutDuration ?? seconds)
            return ([text, duration] + totals).joined(separator: ", ")
        default: return text
        }
    }
}
