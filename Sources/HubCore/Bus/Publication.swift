import HubStore
import HubWire
import Samples

/// What of a committed batch goes out on the feed.
struct Publication {
    let topic: Topic
    let place: Place
    let record: StoredRecord

    var readership: Readership { .record(type: record.type, person: record.assignment.person?.name) }

    /// - Parameters:
    ///   - item: what was stored.
    ///   - placement: where the store put it.
    init?(_ item: IntakeItem, _ placement: Placement) {
        place = Place(sequence: placement.sequence, previous: placement.previous)
        if let retraction = placement.retraction {
            record = retraction
        } else if case .record(let intake) = item {
            record = StoredRecord(
                record: intake.record, number: placement.number, sequence: placement.sequence,
                assignment: intake.assignment, type: Self.type(of: intake.record), canonical: intake.canonical)
        } else {
            return nil
        }
        topic = Self.topic(of: record)
    }

    /// A retraction by hand, which no batch brought.
    init(_ retraction: StoredRecord, _ placement: Placement) {
        (topic, record) = (Self.topic(of: retraction), retraction)
        place = Place(sequence: placement.sequence, previous: placement.previous)
    }

    /// The topic a stored record belongs to (Protocol §7).
    static func topic(of stored: StoredRecord) -> Topic {
        guard let person = stored.assignment.person else { return .inbox }
        let type = stored.type.rawValue
        switch stored.record {
        case .sample(let sample): return .sample(type: type, person: person.name, plugin: sample.source.plugin)
        case .day(let day): return .day(type: type, person: person.name, series: day.series)
        case .retraction(let retraction):
            if case .day(_, _, let series, _) = retraction.identity {
                return .retraction(type: type, person: person.name, place: series)
            }
            return .retraction(type: type, person: person.name, place: retraction.source.plugin)
        }
    }

    private static func type(of record: Record) -> TypeID {
        switch record {
        case .sample(let sample): sample.type
        case .day(let day): day.type
        case .retraction: preconditionFailure("the store names the type of what was retracted")
        }
    }
}
