import HubWire
import Samples

extension SampleEdit {
    /// Why the edit cannot be applied to `sample`; `nil` if it can.
    func refusal(for sample: Sample) -> RecordRejection? {
        guard sample.type == type else {
            return RecordRejection(
                .type, "the record is of type \(sample.type), the edit was made for \(type); look again")
        }
        if let value {
            guard value.kind == sample.value.kind else {
                return RecordRejection(.kind, "the record is a \(sample.value.kind.rawValue)")
            }
            if case .quantity(let number, _) = value, !number.isFinite || canonical?.value.isFinite == false {
                return RecordRejection(.value, "the value is not a finite number in the type's unit")
            }
        }
        let (edited, _) = applied(to: sample)
        guard edited.start.isRepresentable, edited.end.isRepresentable else {
            return RecordRejection(.time, "a time is outside the years 1 to 9999, or its offset beyond ±23:59")
        }
        guard edited.start.microseconds <= edited.end.microseconds else {
            return RecordRejection(.time, "the record would end before it begins; give both its start and its end")
        }
        return nil
    }

    /// The sample after the edit, and the members that it changes.
    ///
    /// - Parameter doubtful: the implausible members. A person who enters the same value again confirms it.
    func applied(
        to sample: Sample, doubtful: SampleMembers = []
    ) -> (sample: Sample, members: SampleMembers) {
        var (edited, members) = (sample, SampleMembers())
        if let value, value != sample.value || doubtful.contains(.value) {
            edited.value = value
            members.insert(.value)
        }
        if let start, start != sample.start || doubtful.contains(.start) {
            edited.start = start
            members.insert(.start)
            // An instant stays an instant.
            if end == nil, sample.start == sample.end { edited.end = start }
        }
        if let end {
            edited.end = end
            if doubtful.contains(.end) { members.insert(.end) }
        }
        if edited.end != sample.end { members.insert(.end) }
        if let metadata, metadata != sample.metadata {
            edited.metadata = metadata
            members.insert(.metadata)
        }
        return (edited, members)
    }
}
