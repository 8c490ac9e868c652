package import Samples

/// Formats measurement times by the clocks of the reader.
package enum MomentText {
    /// `2026-03-15 07:30:05 +01:00`; the offset is `Z` if only the instant is known.
    ///
    /// - Parameter reader: the person whose clock and language are used.
    package static func moment(_ time: Timestamp, for reader: DisplayPreferences = DisplayPreferences()) -> String {
        let (date, clock, offset) = parts(time, reader)
        return "\(date) \(clock) \(offset)"
    }

    /// The same without a fraction, for times at which the hub heard something.
    package static func second(_ time: Timestamp) -> String {
        let (date, clock, offset) = parts(time, DisplayPreferences())
        return "\(date) \(clock.prefix { $0 != "." }) \(offset)"
    }

    /// `2026-03-15 07:00:00–07:30:00 +01:00`, with a second date or offset if it differs.
    package static func interval(
        _ start: Timestamp, _ end: Timestamp, for reader: DisplayPreferences = DisplayPreferences()
    ) -> String {
        let (start, end) = (reader.local(start), reader.local(end))
        if start == end { return moment(start, for: reader) }
        let (from, to) = (parts(start, reader), parts(end, reader))
        guard from.offset == to.offset else { return "\(moment(start, for: reader)) – \(moment(end, for: reader))" }
        let last = from.date == to.date ? "–\(to.clock)" : " – \(to.date) \(to.clock)"
        return "\(from.date) \(from.clock)\(last) \(from.offset)"
    }

    /// The time of a sample, with a mark if it is implausible: `2099-01-01 07:30:00 +01:00 (implausible)`.
    package static func marked(_ stored: StoredRecord, _ sample: Sample, for reader: DisplayPreferences) -> String {
        interval(sample.start, sample.end, for: reader) + mark(stored)
    }

    /// ` (implausible)` if the start or end of a sample is implausible, otherwise empty.
    package static func mark(_ stored: StoredRecord) -> String {
        stored.implausible.isDisjoint(with: [.start, .end]) ? "" : " (implausible)"
    }

    private static func parts(
        _ time: Timestamp, _ reader: DisplayPreferences
    ) -> (date: String, clock: Substring, offset: Substring) {
        let text = reader.local(time).text
        let date = text.prefix { $0 != "T" }
        let rest = text[date.endIndex...].dropFirst()
        let clock = rest.prefix { $0.isNumber || $0 == ":" || $0 == "." }
        return (LocalDate(date).map(reader.date) ?? String(date), clock, rest[clock.endIndex...])
    }
}
