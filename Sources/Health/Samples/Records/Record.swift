/// A record as the store keeps it and the bus carries it: a sample, a day value, or the retraction of either.
///
/// The enum is indirect because a record is copied often: a copy costs one reference count, not three hundred bytes and a dozen texts.
public indirect enum Record: Hashable, Sendable {
    /// A typed value at an instant or over an interval.
    case sample(Sample)
    /// The single value of a day.
    case day(DayValue)
    /// The withdrawal of a sample or day.
    case retraction(Retraction)

    /// The identity that this record is a version of; a retraction has the identity of the record it withdraws.
    public var identity: RecordIdentity {
        switch self {
        case .sample(let sample): .sample(sample.source, sample.key)
        case .day(let day): .day(person: day.person, type: day.type, series: day.series, date: day.date)
        case .retraction(let retraction): retraction.identity
        }
    }

    /// The source that sent the record.
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

    /// Creates a person.
    public init(uid: String, name: String) {
        self.uid = uid
        self.name = name
    }
}

/// The person a record belongs to, as the hub decided.
public enum Assignment: Hashable, Sendable {
    /// A known person.
    case person(Person)
    /// No person, with the reason. The record is stored with its sequence and waits in the inbox, unless it is ``guest``.
    case nobody(reason: String)

    /// A person has marked the record as a guest's: it belongs to no person and is not in the inbox.
    ///
    /// The reason is the state. Only a person's `assign` sets it, because a source cannot send `unassigned`.
    public static let guest = Assignment.nobody(reason: "guest")

    /// Whether a person has marked the record as a guest's.
    public var isGuest: Bool { self == .guest }

    /// Whether the record waits for a person to assign it.
    public var isInInbox: Bool { person == nil && !isGuest }

    /// The person, if there is one.
    public var person: Person? {
        if case .person(let person) = self { person } else { nil }
    }
}

/// A record as the hub stores it: the source's data and the hub's decisions about it.
public struct StoredRecord: Hashable, Sendable {
    /// The record as the source sent it, in the source's own unit.
    public var record: Record
    /// The sequence under which the identity was first stored.
    ///
    /// It is stable, so that people can use it: `hub trace 1234`.
    public var number: Int64
    /// The version: the hub's sequence number for this content.
    public var sequence: Int64
    /// The person the record belongs to, or why that is unknown.
    public var assignment: Assignment
    /// The type.
    ///
    /// A retraction does not repeat the type of its sample, so it is kept here.
    public var type: TypeID
    /// The value in the type's canonical unit, if the source used another spelling or unit.
    public var canonical: CanonicalValue?
    /// The members of a sample that a person has edited; the others are as the source sent them.
    public var edited: SampleMembers
    /// The members of a sample that the hub found implausible when it arrived, without members that a person has edited.
    public var implausible: SampleMembers
    /// The numbers of records of the same event by other sources, if the caller asked for them.
    ///
    /// Of all records of one event, only one counts in sums.
    ///
    /// Computed for each answer, not stored.
    public var mirrors: [Int64] = []

    /// A quantity in its type's unit in the registry.
    public struct CanonicalValue: Hashable, Sendable {
        /// The number, converted as ``HealthType/canonicalValue(_:unit:)`` does.
        public var value: Double
        /// The type's unit.
        public var unit: String

        /// Creates a converted value.
        public init(value: Double, unit: String) {
            self.value = value
            self.unit = unit
        }
    }

    /// Creates a stored record without checking it.
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

/// A reader's position in the hub's sequence.
///
/// A cursor of another epoch is invalid, because the store has been restored since.
public struct Cursor: Hashable, Sendable, CustomStringConvertible {
    /// Eight characters `a–z2–7`, new after every restore.
    public var epoch: String
    /// The last sequence that the reader has handled; 0 if it has handled none.
    public var sequence: Int64

    /// Creates a cursor without checking the form of `epoch`.
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
