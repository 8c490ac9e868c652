import HubWire
package import Samples

/// Describes in words how a day was computed.
package enum DayWords {
    /// `mean of 2 readings`, `carried from 2026-03-12, 3 days`, `kept of 2 samples that were thinned`.
    package static func how(_ day: DayValue, _ reader: DisplayPreferences) -> String {
        if day.method == "retention", let count = number("count", of: day) {
            return "kept of \(NumberText.count(count, "sample")) that \(count == 1 ? "was" : "were") thinned"
        }
        if let observed = day.observedOn {
            return "\(day.method) from \(reader.date(observed)), \(NumberText.count(day.age ?? 0, "day"))"
        }
        return day.basis.isEmpty ? day.method : "\(day.method) of \(NumberText.count(basisCount(day), "reading"))"
    }

    /// The number of readings behind a day.
    ///
    /// Its basis may list only the first of them; its metadata then has the full number.
    package static func basisCount(_ day: DayValue) -> Int { max(number("basisCount", of: day) ?? 0, day.basis.count) }

    private static func number(_ name: String, of day: DayValue) -> Int? {
        guard let text = day.metadata?.text, text.contains("\"\(name)\"") else { return nil }
        return RawMembers.members(of: Array(text.utf8)[...])[name].flatMap { Int(String(decoding: $0, as: UTF8.self)) }
    }
}
