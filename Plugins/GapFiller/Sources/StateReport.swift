import PluginKit
import Samples

/// The result of `hub do gap-filler report`: which days come from which readings, without values.
struct StateReport: Encodable, Sendable {
    struct Series: Encodable, Sendable {
        var person, type, series: String
        var readings, days: Int
        var from, to: String?
    }

    struct OmittedRecord: Encodable, Sendable {
        /// The number for `hub trace`, which shows the record's history.
        var record: Int64
        var type, reason: String
    }

    /// A person missing from hub.conf: no days are computed from their readings.
    struct UnknownPerson: Encodable, Sendable {
        var person: String
        var readings: Int
    }

    var readings: Int
    var series: [Series]
    var leftOut: [OmittedRecord]
    var unnamed: [UnknownPerson]
    /// Days that the hub rejected.
    var rejected: [Rejections.Kind]

    init(_ library: ReadingIndex, _ rejections: Rejections = Rejections()) {
        rejected = rejections.kinds
        readings = library.readingCount
        series = library.shelves.flatMap { shelf in
            shelf.history.rules.indices.map { index in
                let days = shelf.history.series(index, through: library.today(of: shelf))
                return Series(
                    person: shelf.key.person, type: shelf.key.type.rawValue, series: shelf.history.rules[index].name,
                    readings: shelf.history.readings.count, days: days.count,
                    from: days.first.map { LocalDate($0.day).text }, to: days.last.map { LocalDate($0.day).text })
            }
        }
        leftOut = library.leftOut.sorted { $0.key < $1.key }.map {
            OmittedRecord(record: $0.key, type: $0.value.type.rawValue, reason: $0.value.reason)
        }
        unnamed = library.unnamedCounts.map { UnknownPerson(person: $0.person, readings: $0.readings) }
    }
}

/// The problems, in one line for `hub status`.
enum StatusProblems {
    /// Whether there is a problem other than persons who are not in `hub.conf`, which may be intended.
    static func isSevere(_ library: ReadingIndex, _ rejections: Rejections) -> Bool {
        !library.leftOut.isEmpty || !rejections.isEmpty
    }

    static func text(_ library: ReadingIndex, _ rejections: Rejections = Rejections()) -> String? {
        var parts: [String] = []
        if let first = library.leftOut.min(by: { $0.key < $1.key }) {
            let count = library.leftOut.count
            parts.append(
                (count == 1 ? "1 record is in no day" : "\(count) records are in no day")
                    + ", such as \(first.key): \(first.value.reason)")
        }
        for (person, count) in library.unnamedCounts {
            parts.append(
                "\(count == 1 ? "1 record is" : "\(count) records are") of \(person), whom hub.conf does not name: no days are made of "
                    + "\(count == 1 ? "it" : "them"), and existing days stay; add [person.\(person)] again and run hub apply, or run hub erase --forget \(person)"
            )
        }
        for kind in rejections.kinds {
            parts.append(
                "the hub rejected \(kind.days == 1 ? "1 day" : "\(kind.days) days") (\(kind.code)): \(kind.reason)")
        }
        return parts.isEmpty ? nil : parts.joined(separator: "; ")
    }
}
