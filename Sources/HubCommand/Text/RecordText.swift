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
                MomentText.interval(sample.start, sample.end, for: reader)
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
