import HealthText
import HubClient
import HubWire
import Samples

/// A record as people read it.
struct RecordText {
    /// When it was measured, by the wall clock of the place; of a day, the date.
    let time: String
    /// The person's name; `-` where there is none.
    let person: String
    let type: String
    let value: String
    /// Plugin kind, and device or account.
    let source: String
    /// The hub's number.
    let number: String

    /// - Parameter units: how persons read values and dates; their choice and the rounding are for this text alone.
    init(_ stored: StoredRecord, _ units: ReadingUnits) {
        person = stored.assignment.person?.name ?? Topic.nobody
        type = stored.type.rawValue
        number = String(stored.number)
        source = RecordText.source(stored.record.source)
        let reader = units[stored.assignment.person?.name]
        switch stored.record {
        case .sample(let sample):
            let doubtful = stored.implausible
            time =
                RecordText.interval(sample.start, sample.end, for: reader)
                + (doubtful.isDisjoint(with: [.start, .end]) ? "" : " (implausible)")
            value = ValueText.marked(stored, units)
        case .day(let day):
            time = units[day.person].date(day.date)
            let text = units.format(day.unit, of: day.type, for: day.person).text(day.value)
            value = "\(text) (\(day.series), \(day.method))"
        case .retraction(let retraction):
            if case .day(_, _, _, let date) = retraction.identity { time = reader.date(date) } else { time = "" }
            let reason = retraction.reason.map { ": \($0)" } ?? ""
            value = "retracted by \(retraction.author == .person ? "a person" : "its source")\(reason)"
        }
    }

    static func source(_ source: Source) -> String {
        [source.plugin, source.device, source.account].compactMap(\.self).joined(separator: "/")
    }

    /// `2026-03-15 07:30:05 +01:00`; the offset is `Z` where only the instant is known.
    ///
    /// - Parameter reader: in whose words the date is.
    static func moment(_ time: Timestamp, for reader: Reader = Reader()) -> String {
        let (date, clock, offset) = parts(time, reader)
        return "\(date) \(clock) \(offset)"
    }

    /// The same without a fraction: when the hub heard something, for people.
    static func second(_ time: Timestamp) -> String {
        let (date, clock, offset) = parts(time, Reader())
        return "\(date) \(clock.prefix { $0 != "." }) \(offset)"
    }

    /// `2026-03-15 07:00:00–07:30:00 +01:00`, with a second date or offset where it differs.
    static func interval(_ start: Timestamp, _ end: Timestamp, for reader: Reader = Reader()) -> String {
        if start == end { return moment(start, for: reader) }
        let (from, to) = (parts(start, reader), parts(end, reader))
        guard from.offset == to.offset else { return "\(moment(start, for: reader)) – \(moment(end, for: reader))" }
        let last = from.date == to.date ? "–\(to.clock)" : " – \(to.date) \(to.clock)"
        return "\(from.date) \(from.clock)\(last) \(from.offset)"
    }

    private static func parts(
        _ time: Timestamp, _ reader: Reader
    ) -> (date: String, clock: Substring, offset: Substring) {
        let text = time.text
        let date = text.prefix { $0 != "T" }
        let rest = text[date.endIndex...].dropFirst()
        let clock = rest.prefix { $0.isNumber || $0 == ":" || $0 == "." }
        return (LocalDate(date).map(reader.date) ?? String(date), clock, rest[clock.endIndex...])
    }

    /// The columns of a list of records.
    static func table() -> Table {
        Table([
            ("TIME", .left), ("PERSON", .left), ("TYPE", .left), ("VALUE", .left), ("SOURCE", .left),
            ("NUMBER", .right),
        ])
    }

    /// A table of records; nothing where there is none.
    static func lines(of records: [StoredRecord], _ units: ReadingUnits) -> [String] {
        var table = table()
        for record in records { table.add(RecordText(record, units).cells) }
        return records.isEmpty ? [] : table.takeLines()
    }

    /// The cells of ``table()``.
    var cells: [String] { [time, person, type, value, source, number] }
}
