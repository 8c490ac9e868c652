import HubStore
import HubWire
import Samples

/// What of a committed batch goes out on the feed.
struct Publication {
    let topic: Topic
    /// The last sequence on the topic before.
    let previous: Int64
    let record: StoredRecord

    var readership: Readership { record.readership }

    private init(_ record: StoredRecord, previous: Int64) {
        (topic, self.previous, self.record) = (Topic(record), previous, record)
    }

    /// What the feed carries of one stored record, in the order of the sequence: to whom it left, that it did; then the record.
    struct Told: Sequence, IteratorProtocol {
        private var departure: Publication?
        private var version: Publication?
        /// What came to the same person with it, and is told after it.
        private var followers: [Placement] = []

        /// Nothing.
        init() {}

        /// - Parameters:
        ///   - placement: where the store put it; what lies beneath a person's edit or retraction is not published.
        ///   - intake: what came in; `nil` for what a person did, of which the placement has the record.
        init(_ placement: Placement, _ intake: IntakeRecord?) {
            guard !placement.isCovered else { return }
            departure = placement.departure.map { Publication($0.record, previous: $0.previous) }
            let record = placement.record ?? intake.map { StoredRecord($0, placement) }
            version = record.map { Publication($0, previous: placement.previous) }
            followers = placement.followers.reversed()
        }

        mutating func next() -> Publication? {
            if let told = departure.take() ?? version.take() { return told }
            guard let follower = followers.popLast() else { return nil }
            let rest = followers
            self = Told(follower, nil)
            followers = rest
            return next()
        }
    }
}

extension StoredRecord {
    /// Who may read it.
    var readership: Readership {
        .record(type: type, person: assignment.person?.name, plugin: record.source.plugin, end: end)
    }

    /// In microseconds since 1970; of a retraction, which does not know it, `.min`.
    fileprivate var end: Int64 {
        switch record {
        case .sample(let sample): sample.end.microseconds
        case .day(let day): Int64(day.date.daysSinceEpoch + 1) * 86_400_000_000 - 1
        case .retraction: .min
        }
    }
}
