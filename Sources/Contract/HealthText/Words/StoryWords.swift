import Foundation
import HubWire
import Samples

/// The texts about a record that `hub trace` and the page show.
package enum StoryWords {
    /// The action of a person that made a version and the reason, or a note that a person's action hides it.
    static func how(_ version: [String: ArraySlice<UInt8>]) -> String {
        let reason = version["reason"].flatMap { RawJSON(trusted: Array($0)).textValue }
        let done = (deed(version) ?? "") + (reason.map { ": \($0)" } ?? "")
        return [done, ruling(version["ruling"])].compactMap { $0 }.filter { !$0.isEmpty }.joined(separator: "; ")
    }

    private static func deed(_ version: [String: ArraySlice<UInt8>]) -> String? {
        switch RecordStory.text(version["deed"]) {
        case "editUndone": "edit undone by hand"
        case "retractionUndone": "brought back by hand"
        case "assignmentUndone": "assignment undone by hand"
        case let deed?: "\(deed) by hand"
        case nil: version["covered"] == nil ? nil : "by its source, hidden by a person's change"
        }
    }

    /// The rule that found a version's person, or failed to.
    private static func ruling(_ bytes: ArraySlice<UInt8>?) -> String? {
        guard let members = bytes.map({ RawMembers.members(of: $0) }) else { return nil }
        let odds = members["odds"].flatMap { RawJSON(trusted: Array($0)).textValue }
        return switch RecordStory.text(members["rule"]) {
        case "subject": "the device's user"
        case "weight": "by weight" + (odds.map { ": \($0)" } ?? "")
        case "group": "with its group" + (odds.map { ": \($0)" } ?? "")
        default: nil
        }
    }
}

extension RecordStory.Delivery {
    /// The reason for its state, and the last answer of the sink.
    ///
    /// - Parameter reader: the zone to show moments in.
    package func details(_ reader: DisplayPreferences) -> String {
        var details: [String] = []
        if let reason { details.append(reason) }
        if let attempts { details.append("tried \(NumberText.count(attempts, "time"))") }
        if let due = due.flatMap({ LocalTime.text($0, zone: reader.zone ?? .current) }) {
            details.append("again at \(due)")
        }
        if let confirmed {
            if confirmed.seq != seq { details.append("it has version \(confirmed.seq)") }
            if let receipt = confirmed.receipt { details.append("receipt \(receipt)") }
        }
        return details.joined(separator: "; ")
    }

    /// The time when it reached this state; `nil` if only the sink's cursor implies it.
    package func since(_ reader: DisplayPreferences) -> String? {
        at.flatMap { LocalTime.text($0, zone: reader.zone ?? .current) }
    }
}

extension RecordStory.Version {
    /// When the hub stored it.
    package func stored(_ reader: DisplayPreferences) -> String? {
        recordedAt.flatMap { LocalTime.text($0, zone: reader.zone ?? .current) }
    }
}

extension RecordStory.Day {
    /// The day's value, as its person reads it.
    package func text(_ reader: DisplayPreferences) -> String {
        reader.format(value.unit, of: value.type).text(value.value)
    }
}

extension RecordStory {
    /// A fact about the record, with its name in `hub trace`.
    package struct Fact: Sendable {
        package let name, text: String
        /// Whether the page of the record shows it too.
        ///
        /// Other facts are elsewhere on that page, or are only for programs, such as the names of type and topic.
        package let isOnPage: Bool
    }

    /// The facts about the record; empty on a page that does not have the current version.
    ///
    /// - Parameter readers: how each person reads values and dates.
    package func facts(_ readers: (String?) -> DisplayPreferences) -> [Fact] {
        guard let current else { return [] }
        let shown = retracted ?? current
        var facts: [Fact] = []
        func add(_ name: String, _ text: String, isOnPage: Bool = false) {
            facts.append(Fact(name: name, text: text, isOnPage: isOnPage))
        }
        add("record", "\(current.number)")
        add("type", current.type.rawValue)
        switch current.assignment {
        case .person(let person):
            let shown = readers(person.name).displayName
            add("person", shown.map { "\($0) (\(person.name))" } ?? person.name)
        case .guest: add("person", "none: a guest's")
        case .nobody(let reason): add("person", "none: \(reason)")
        }
        add("source", RecordText.source(current.record.source))
        if case .sample(let sample) = shown.record {
            add("key", sample.key.text, isOnPage: true)
            if let place = Self.place(of: sample, readers(current.assignment.person?.name)) {
                add("local time", place)
            }
            if let group = sample.group { add("group", "\(group)", isOnPage: true) }
            // The only place that shows every digit: the values of the versions are rounded and converted to the person's unit.
            if shown.canonical != nil { add("given as", ValueText.word(sample.value)) }
        }
        if case .day(let day) = shown.record {
            let reader = readers(day.person)
            add("day", "\(reader.date(day.date)) of \(day.series), \(DayWords.how(day, reader))")
            if let basis = Self.basis(of: day) { add("made of", basis, isOnPage: true) }
        }
        if case .retraction = current.record { add("state", RecordText(current, readers).value) }
        if let topic { add("published", topic) }
        return facts
    }

    /// The local time at the place of measurement, if its offset differs from the reader's.
    private static func place(of sample: Sample, _ reader: DisplayPreferences) -> String? {
        let zone = sample.zone.flatMap { TimeZone(identifier: $0) }
        let there = zone.map { sample.start.local(in: $0) } ?? sample.start
        guard there.offsetMinutes != nil, there.offsetMinutes != reader.local(sample.start).offsetMinutes else {
            return nil
        }
        return MomentText.moment(there, for: DisplayPreferences(locale: reader.locale))
            + (sample.zone.map { " (\($0))" } ?? "")
    }

    private static func basis(of day: DayValue) -> String? {
        let numbers = day.basis.map { basis in
            switch basis {
            case .number(let number): "\(number)"
            case .key(let key): key.text
            }
        }
        guard !numbers.isEmpty else { return nil }
        let missing = DayWords.basisCount(day) - numbers.count
        return "\(numbers.count == 1 ? "record" : "records") \(numbers.joined(separator: ", "))"
            + (missing > 0 ? " and \(NumberText.count(missing, "other")), which are not named" : "")
    }

    /// The parts that this page lacks; `nil` if it is complete.
    package var rest: String? {
        guard next != nil else { return nil }
        let older = versionCount - versions.count
        return older > 0 ? "and \(NumberText.count(older, "older version"))" : "not all days were searched"
    }
}
