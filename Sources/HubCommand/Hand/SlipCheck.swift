import HealthText
import Samples

/// What makes a value that a person gives look like a slip: asked about, never dropped.
enum SlipCheck {
    /// Types of a body that changes slowly: a third more than the last time is a slip of the finger.
    private static let slow: Set<TypeID> = [
        .weight, .height, .leanBodyMass, .bodyMassIndex, .waistCircumference,
    ]

    /// Sentences for people; empty when there is nothing to ask about.
    ///
    /// - Parameters:
    ///   - last: the newest of the type and person, or what an edit replaces.
    ///   - now: microseconds since 1970, by the hub's clock.
    static func about(
        _ record: StoredRecord, last: StoredRecord?, now: Int64, _ units: ReadingUnits
    ) -> [String] {
        guard case .sample(let sample) = record.record else { return [] }
        var doubts: [String] = []
        if sample.start.microseconds > now {
            doubts.append(
                "\(MomentText.moment(sample.start, for: units[record.assignment.person?.name])) is still to come")
        } else if sample.end.microseconds > now {
            doubts.append(
                "\(MomentText.moment(sample.end, for: units[record.assignment.person?.name])), its end, is still to come"
            )
        }
        guard let value = ValueText.quantity(record) else { return doubts }
        let text = ValueText.text(record, units)
        if value.unit == "%", value.value > 0, value.value < 0.01 {
            doubts.append("\(text) is less than one percent")
        }
        let type = TypeRegistry.standard.type(record.type)
        if let doubt = type?.limits?.doubt(of: value.value, unit: value.unit) {
            doubts.append("\(text) is \(doubt), hardly a \(record.type)")
        }
        guard type?.aggregation != .cumulative, let last, let before = ValueText.quantity(last),
            before.unit == value.unit, before.value > 0, value.value > 0
        else { return doubts }
        let ratio = max(value.value / before.value, before.value / value.value)
        if ratio > (slow.contains(record.type) ? 4.0 / 3 : 3) {
            doubts.append(
                "the last \(record.type) was \(ValueText.text(last, units)), this is \(text)")
        }
        return doubts
    }

    /// Whether the same was entered within five minutes.
    static func isRepeat(_ record: StoredRecord, of last: StoredRecord?) -> Bool {
        guard case .sample(let new) = record.record, let last, case .sample(let old) = last.record else { return false }
        func food(_ sample: Sample) -> String? { try? KnownMetadata(sample.metadata, of: sample.type).text("foodType") }
        return old.source.plugin == new.source.plugin && old.value == new.value && food(old) == food(new)
            && (new.start.microseconds - old.start.microseconds).magnitude < 300_000_000
    }
}
