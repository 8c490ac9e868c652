import HubWire
package import Samples

/// A record formatted for people.
package struct RecordText: Sendable {
    /// The local time of the measurement in its person's zone; for a day, the date.
    package let time: String
    /// The person's display name; `a guest` for a guest's record, `-` for one that waits in the inbox.
    package let person: String
    package let type: String
    package let value: String
    /// Plugin kind, and device or account.
    package let source: String
    /// The hub's number.
    package let number: String

    /// - Parameters:
    ///   - workout: the figures of a workout, shown after its activity.
    ///   - members: the other records of a correlation's group, whose values it shows as its own.
    ///   - retracted: the record before its retraction; its time and value are shown before the words of the retraction.
    ///   - readers: how each person reads values and dates; their choice and the rounding affect only this text.
    package init(
        _ stored: StoredRecord, workout: WorkoutFigures? = nil, members: [StoredRecord] = [],
        retracted: StoredRecord? = nil, _ readers: (String?) -> DisplayPreferences
    ) {
        type = stored.type.rawValue
        number = String(stored.number)
        source = RecordText.source(stored.record.source)
        let reader = readers(stored.assignment.person?.name)
        let nobody = stored.assignment.isGuest ? "a guest" : Topic.nobody
        person = stored.assignment.person.map { reader.displayName ?? $0.name } ?? nobody
        switch stored.record {
        case .sample(let sample):
            time = MomentText.marked(stored, sample, for: reader)
            value =
                CorrelationText.words(members, of: stored, for: reader)
                ?? ValueText.marked(stored, for: reader) + (workout.map { " (\($0.words(reader)))" } ?? "")
        case .day(let day):
            let reader = readers(day.person)
            time = reader.date(day.date)
            let text = reader.format(day.unit, of: day.type).text(day.value)
            value = "\(text) (\(day.series), \(day.method))"
        case .retraction(let retraction):
            let before = retracted.map { RecordText($0, readers) }
            if case .day(_, _, _, let date) = retraction.identity {
                time = reader.date(date)
            } else {
                time = before?.time ?? ""
            }
            let reason = retraction.reason.map { ": \($0)" } ?? ""
            let words = "retracted by \(retraction.author == .person ? "a person" : "its source")\(reason)"
            value = before.map { "\($0.value) (\(words))" } ?? words
        }
    }

    package static func source(_ source: Source) -> String {
        [source.plugin, source.device, source.account].compactMap(\.self).joined(separator: "/")
    }
}
