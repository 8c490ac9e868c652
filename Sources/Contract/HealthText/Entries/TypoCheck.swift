package import HubWire
package import Samples

/// Finds values that look like typing errors.
///
/// The person is asked about them, but they are never dropped.
package enum TypoCheck {
    /// Body measures that change slowly: a value and the last one that differ by more than a third of the smaller suggest a typing error.
    private static let slow: Set<TypeID> = [.weight, .height, .leanBodyMass, .bodyMassIndex, .waistCircumference]

    /// The doubts as sentences for people; empty if there are none.
    ///
    /// - Parameters:
    ///   - last: the newest record of the type and person, or the record that an edit replaces.
    ///   - now: microseconds since 1970, by the hub's clock.
    ///   - reader: the person's settings for reading values.
    package static func about(
        _ record: StoredRecord, last: StoredRecord?, now: Int64, for reader: DisplayPreferences
    ) -> [String] {
        guard case .sample(let sample) = record.record else { return [] }
        var doubts: [String] = []
        if sample.start.microseconds > now {
            doubts.append("\(MomentText.moment(sample.start, for: reader)) is still to come")
        } else if sample.end.microseconds > now {
            doubts.append("\(MomentText.moment(sample.end, for: reader)), its end, is still to come")
        }
        guard let value = ValueText.quantity(record) else { return doubts }
        let text = ValueText.text(record, for: reader)
        if value.unit == "%", value.value > 0, value.value < 0.01 { doubts.append("\(text) is less than one percent") }
        let type = TypeRegistry.standard.type(record.type)
        let name = NameWords.lowered(NameWords.type(record.type))
        if let doubt = ValueText.doubt(record, for: reader) {
            doubts.append("\(text) is \(doubt), an implausible \(name)")
        }
        // An implausible value is not a basis for comparison.
        guard type?.aggregation != .cumulative, let last, !last.implausible.contains(.value),
            let before = ValueText.quantity(last), before.unit == value.unit, before.value > 0, value.value > 0
        else { return doubts }
        let ratio = max(value.value / before.value, before.value / value.value)
        if ratio > (slow.contains(record.type) ? 4.0 / 3 : 3) {
            doubts.append("the last \(name) was \(ValueText.text(last, for: reader)), this is \(text)")
        }
        return doubts
    }

    /// Whether the same value was entered within five minutes.
    package static func isRepeat(_ record: StoredRecord, of last: StoredRecord?) -> Bool {
        guard case .sample(let new) = record.record, let last, case .sample(let old) = last.record else { return false }
        return old.source.plugin == new.source.plugin && old.value == new.value
            && ValueText.food(old) == ValueText.food(new)
            && (new.start.microseconds - old.start.microseconds).magnitude < 300_000_000
    }

    /// The doubts about an entry before it is stored.
    ///
    /// - Parameters:
    ///   - answer: the answer to a dry run of `log`.
    ///   - reader: the settings of the person with that name.
    package static func about(_ answer: ManualAnswer, now: Int64, for reader: (String?) -> DisplayPreferences)
        -> [String]
    {
        answer.entries.flatMap { entry in
            entry.record.map { about($0, last: entry.last, now: now, for: reader($0.assignment.person?.name)) } ?? []
        }
    }

    /// The number of an earlier record that repeats this entry; for a group, only if all of its records were entered before.
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
        // The group is a repeat only if all of its records are.
        return repeated.count == values ? repeated.first : nil
    }
}
