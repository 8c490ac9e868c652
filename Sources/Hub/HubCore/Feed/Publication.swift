import HubStore
import HubWire
import Samples

/// A record of a committed batch, as it is published on the feed.
struct Publication {
    /// The previous sequence on the topic.
    let previous: Int64
    let record: StoredRecord

    var readership: AllowedReaders { record.readership }

    private init(_ record: StoredRecord, previous: Int64) {
        (self.previous, self.record) = (previous, record)
    }

    /// The publications of one stored record, in the order of the sequence: its departure from the former person, then the record.
    struct RecordPublications: Sequence, IteratorProtocol {
        private var departure: Publication?
        private var version: Publication?
        /// Records that moved to the same person with it; they are published after it.
        private var followers: [Placement] = []

        /// No publications.
        init() {}

        /// - Parameters:
        ///   - placement: the result of the store; a version that is covered by a person's edit or retraction is not published.
        ///   - intake: the record that came in; `nil` for a manual change, whose placement has the record.
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
            self = RecordPublications(follower, nil)
            followers = rest
            return next()
        }
    }
}

/// The new records as JSON, so that a record that listeners and sinks get is encoded once.
///
/// Only records that a sink may also deliver are kept, and only until the next pulse: afterwards the same version may have other words.
struct RecentBodies {
    /// The bodies of records up to this sequence are not kept.
    private var head: Int64
    private var places: [Int64: Range<Int>] = [:]
    private var bytes: [UInt8] = []

    private static let maximumBytes = 1 << 20

    init(from head: Int64) { self.head = head }

    /// The JSON of a record; release it before the next call, which would copy all bodies otherwise.
    mutating func body(of record: StoredRecord, isNeededAgain: Bool) -> ArraySlice<UInt8> {
        if let place = places[record.sequence], !record.isRetraction { return bytes[place] }
        if places.isEmpty || bytes.count > Self.maximumBytes { forget(upTo: head) }
        let start = bytes.count
        RecordEncoder.append(record, to: &bytes)
        // A sink may get a retraction under the sequence of the version with which a record left its persons (R10.24).
        if isNeededAgain, record.sequence > head, !record.isRetraction {
            places[record.sequence] = start..<bytes.count
        }
        return bytes[start...]
    }

    /// Forgets all bodies.
    mutating func forget(upTo head: Int64) {
        self.head = head
        places.removeAll(keepingCapacity: true)
        bytes.removeAll(keepingCapacity: true)
    }
}

/// The topic of the last sample: the samples of a batch often have the same, and its text would be made for each of them.
struct TopicMemory {
    private var last: (type: TypeID, person: String, plugin: String, topic: Topic)?

    mutating func topic(of stored: StoredRecord) -> Topic {
        guard case .sample(let sample) = stored.record, let person = stored.assignment.person?.name else {
            return Topic(stored)
        }
        let plugin = sample.source.plugin
        if let last, last.type == stored.type, last.person == person, last.plugin == plugin { return last.topic }
        let topic = Topic(stored)
        last = (stored.type, person, plugin, topic)
        return topic
    }
}

extension StoredRecord {
    /// The listeners that may read it.
    var readership: AllowedReaders {
        .record(type: type, person: assignment.person?.name, plugin: record.source.plugin, end: end)
    }

    fileprivate var isRetraction: Bool { if case .retraction = record { true } else { false } }

    /// In microseconds since 1970; `.min` for a retraction, which does not know its end.
    fileprivate var end: Int64 {
        switch record {
        case .sample(let sample): sample.end.microseconds
        case .day(let day): Int64(day.date.daysSinceEpoch + 1) * 86_400_000_000 - 1
        case .retraction: .min
        }
    }
}
