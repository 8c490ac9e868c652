package import HealthText
package import Samples

/// What makes a value that a person gives look like a slip: asked about, never dropped.
package enum SlipCheck {
    /// Types of a body that changes slowly: a third more than the last time is a slip of the finger.
    private static let slow: Set<TypeID> = [
        .weight, .height, .leanBodyMass, .bodyMassIndex, .waistCircumference,
    ]

    /// Sentences for people; empty when there is nothing to ask about.
    ///
    /// - Parameters:
    ///   - last: the newest of the type and person, or what an edit replaces.
    ///   - now: microseconds since 1970, by the hub's clock.
    ///   - reader: how the person reads values.
    package static func about(
        _ record: StoredRecord, last: StoredRecord?, now: Int64, for reader: Reader
    ) -> [String] {
        guard case .sample(let sample) = record.record else { return [] }
        var doubts: [String] = []
        if sample.start.microseconds > now {
            doubts.append(
                "\(MomentText.moment(sample.start, for: reader)) is still to come")
        } else if sample.end.microseconds > now {
            doubts.append(
                "\(MomentText.moment(sample.end, for: reader)), its end, is still to come"
            )
        }
        guard let value = ValueText.quantity(record) else { return doubts }
        let text = ValueText.text(record, for: reader)
        if value.unit == "%", value.value > 0, value.value < 0.01 {
            doubts.append("\(text) is less than one percent")
        }
        let type = TypeRegistry.standard.type(record.type)
        let name = NameWords.lowered(NameWords.type(record.type))
        if let doubt = ValueText.doubt(record, for: reader) {
            doubts.append("\(text) is \(doubt), an implausible \(name)")
        }
        // A value that a body hardly has says nothing about the next one.
        guard type?.aggregation != .cumulative, let last, !last.implausible.contains(.value),
            let before = ValueText.quantity(last),
            before.unit == value.unit, before.value > 0, value.value > 0
        else { return doubts }
        let ratio = max(value.value / before.value, before.value / value.value)
        if ratio > (slow.contains(record.type) ? 4.0 / 3 : 3) {
            doubts.append(
                "the last \(name) was \(ValueText.text(last, for: reader)), this is \(text)")
        }
        return doubts
    }

    /// Whether the same was entered within five minutes.
    package static func isRepeat(_ record: StoredRecord, of last: StoredRecord?) -> Bool {
        guard case .sample(let new) = record.record, let last, case .sample(let old) = last.record else { return false }
        return old.source.plugin == new.source.plugin && old.value == new.value
            && ValueText.food(old) == ValueText.food(new)
            && (new.start.microseconds - old.start.microseconds).magnitude < 300_000_000
    }

    /// What there is to ask about an entry before it is stored.
    ///
    /// - Parameters:
    ///   - answer: of a dry run of `log`.
    ///   - reader: how a person of that name reads values.
    package static func about(_ answer: ManualAnswer, now: Int64, for reader: (String?) -> Reader) -> [String] {
        answer.entries.flatMap { entry in
            entry.record.map { about($0, last: entry.last, now: now, for: reader($0.assignment.person?.name)) } ?? []
        }
    }

    /// The number of the record that says the same as this entry; of a group, where all of it was entered before.
    package static func repeated(in answer: ManualAnswer) -> Int64? {
        var repeated: [Int64] = []
        var values = 0
        for entry in answer.entries {
            guard case .sample(let sample)? = entry.record?.record, sample.value != .correlation else { continue }
            values += 1
            if let record = entry.record, let last = entry.last, isRepeat(record, of: last) {
                repeated.append(last.number)
            }
        }
        // Of a group all say the same, or it is another.
        return repeated.count == values ? repeated.first : nil
    }
}
