/// What the store holds and the bus carries: a sample, a day value, or the retraction of either.
///
/// Indirect, because a record passes through many hands: a copy is a count, not three hundred bytes and a dozen texts.
public indirect enum Record: Hashable, Sendable {
    /// A typed value over an instant or interval.
    case sample(Sample)
    /// The one value of a day.
    case day(DayValue)
    /// The end of either.
    case retraction(Retraction)

    /// What the record is one version of; a retraction has the identity of what it retracts.
    public var identity: RecordIdentity {
        switch self {
        case .sample(let sample): .sample(sample.source, sample.key)
        case .day(let day): .day(person: day.person, type: day.type, series: day.series, date: day.date)
        case .retraction(let retraction): retraction.identity
        }
    }

    /// Who sent it.
    public var source: Source {
        switch self {
        case .sample(let sample): sample.source
        case .day(let day): day.source
        case .retraction(let retraction): retraction.source
        }
    }
}

/// A person whose body was measured.
///
/// The uid is random and permanent; the name is a label and may change.
public struct Person: Hashable, Sendable {
    /// Random and permanent.
    public var uid: String
    /// The label in `hub.conf`.
    public var name: String

    /// A person.
    public init(uid: String, name: String) {
        self.uid = uid
        self.name = name
    }
}

/// Whose body a record is of, as the hub decided.
public enum Assignment: Hashable, Sendable {
    /// A known person's.
    case person(Person)
    /// No person: stored with its sequence, and why. It waits in the inbox, unless it is ``guest``.
    case nobody(reason: String)

    /// A person has said that it is a guest's: it has no person, and is in no inbox.
    ///
    /// The reason is the state. Only a person's `assign` gives it, because a source cannot send `unassigned`.
    public static let guest = Assignment.nobody(reason: "guest")

    /// Whether a person has said that it is a guest's.
    public var isGuest: Bool { self == .guest }

    /// Whether it waits for someone to say whose it is.
    public var isInInbox: Bool { person == nil && !isGuest }

    /// The person, if there is one.
    public var person: Person? {
        if case .person(let person) = self { person } else { nil }
    }
}

/// A record as the hub holds it: what the source gave, and what the hub decided about it.
public struct StoredRecord: Hashable, Sendable {
    /// What the source gave, in its own unit.
    public var record: Record
    /// Stable for people, who say `hub trace 1234`: the sequence under which the identity was first stored.
    public var number: Int64
    /// The version: the hub's sequence of this content.
    public var sequence: Int64
    /// Whose it is, or why that is not known.
    public var assignment: Assignment
    /// The type of a retracted sample, which the retraction itself does not repeat.
    public var type: TypeID
    /// The value in the type's one unit, with that unit, where the source used another spelling or size.
    public var canonical: CanonicalValue?
    /// What of a sample a person has changed by hand; the rest is as its source gave it.
    public var edited: SampleMembers
    /// The implausible members of a sample, as the hub judged them when it came; members that a person has set by hand are not among them.
    public var implausible: SampleMembers
    /// The numbers of the records of the same event by other sources, if the hub was asked for them; one of all of them counts.
    ///
    /// True at the moment of the answer; not stored.
    public var mirrors: [Int64] = []

    /// A quantity in the unit that the registry gives its type.
    public struct CanonicalValue: Hashable, Sendable {
        /// The number, converted as ``HealthType/canonicalValue(_:unit:)`` does.
        public var value: Double
        /// The type's unit.
        public var unit: String

        /// A converted value.
        public init(value: Double, unit: String) {
            self.value = value
            self.unit = unit
        }
    }

    /// A stored record; nothing is checked.
    public init(
        record: Record, number: Int64, sequence: Int64, assignment: Assignment, type: TypeID,
        canonical: CanonicalValue? = nil, edited: SampleMembers = [], implausible: SampleMembers = []
    ) {
        self.record = record
        self.number = number
        self.sequence = sequence
        self.assignment = assignment
        self.type = type
        self.canonical = canonical
        self.edited = edited
        self.implausible = implausible
    }
}

/// A reader's place in the hub's sequence.
///
/// A cursor of another epoch is worthless: the store was restored since.
public struct Cursor: Hashable, Sendable, CustomStringConvertible {
    /// Eight characters `a–z2–7`, new after every restore.
    public var epoch: String
    /// The last sequence the reader has handled; 0 before the first.
    public var sequence: Int64

    /// A cursor; the form of `epoch` is not checked.
    public init(epoch: String, sequence: Int64) {
        self.epoch = epoch
        self.sequence = sequence
    }

    /// Reads `<epoch>-<sequence>`; `nil` for any other text.
    public init?(_ text: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, Cursor.isEpoch(parts[0]), let sequence = Int64(parts[1]), sequence >= 0,
            String(sequence) == parts[1]
        else { return nil }
        self.init(epoch: String(parts[0]), sequence: sequence)
    }

    /// Whether `text` has the form of an epoch.
    public static func isEpoch(_ text: some StringProtocol) -> Bool {
        text.utf8.count == 8 && text.utf8.allSatisfy { (0x61...0x7A).contains($0) || (0x32...0x37).contains($0) }
    }

    /// `<epoch>-<sequence>`, as ``init(_:)`` reads it.
    public var description: String { "\(epoch)-\(sequence)" }
}
