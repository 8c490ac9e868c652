import Foundation
import HealthText
import PluginKit
import Samples

/// The time of an entry as it is typed: one moment, or the ends of an interval.
struct TimeFields: Sendable {
    static let names = ["at", "to"]

    static func html(_ fields: FormFields) -> HTML {
        fields.line(
            "at", "When",
            hint: "Now, if it is empty; or such as 7:30, yesterday 7:30, 2024-03-15 07:30, 90min ago as 90min.")
            + fields.line(
                "to", "Until", hint: "Only for what lasted: when it ended; then the line above is its beginning.")
    }

    /// Parses the typed times in a zone.
    ///
    /// - Throws: `EntryError` that names the field.
    static func read(_ form: WebForm, by clock: PersonClock) throws(EntryError) -> EntryTimes {
        let start = try moment(form["at"] ?? "now", "at", clock, takesDay: form["to"] == nil)
        let end = try form["to"].map { text throws(EntryError) in try moment(text, "to", clock).time }
        guard end == nil || form["at"] != nil else { throw EntryError("an interval has a beginning, too", field: "at") }
        return EntryTimes(start.time, zone: start.zone, end: end, isStart: form["at"] != nil, isInterval: end != nil)
    }

    /// - Parameter takesDay: whether a day may be typed without a time.
    /// - Throws: `EntryError` that names the field.
    static func moment(
        _ text: String, _ field: String, _ clock: PersonClock, takesDay: Bool = false
    ) throws(EntryError) -> (time: Timestamp, zone: String?) {
        let text = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        guard let moment = MomentArgument(text) else {
            throw EntryError("\"\(EntryError.cut(text))\" is none of: \(MomentArgument.forms)", field: field)
        }
        let reading: MomentArgument.Reading
        do throws(EntryError) {
            if !takesDay { try moment.refuseDay() }
            reading = try moment.reading(now: clock.now, in: clock.zone)
        } catch { throw EntryError(error.message, field: field) }
        switch reading {
        case .one(let time, let isLocal): return (time, isLocal ? clock.zone.identifier : nil)
        case .two(let first, let second):
            throw EntryError("\(text) came twice that day; type \(first.text) or \(second.text)", field: field)
        }
    }

    /// A moment in the editor's zone, in a form that can be typed again.
    static func typed(_ time: Timestamp, _ reader: DisplayPreferences) -> String {
        reader.local(time).text.replacing("T", with: " ")
    }
}
