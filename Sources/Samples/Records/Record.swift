/// What the store holds and the bus carries: a sample, a day value, or the retraction of either.
public enum Record: Hashable, Sendable {
    case sample(Sample)
    case day(DayValue)
    case retraction(Retraction)

    public var identity: RecordIdentity {
        switch self {
        case .sample(let sample): .sample(sample.source, sample.key)
        case .day(let day): .day(person: day.person, type: day.type, series: day.series, date: day.date)
        case .retraction(let retraction): retraction.identity
        }
    }

    public var source: Source {
        switch self {
        case .sample(let sample): sample.source
        case .day(let day): day.source
        case .retraction(let retraction): retraction.source
        }
    }
}

/// A person whose body was measured. The uid is random and permanent; the name is a label and may change.
public struct Person: Hashable, Sendable {
    public var uid: String
    public var name: String

    public init(uid: String, name: String) {
        self.uid = uid
        self.name = name
    }
}

/// Whose body a record is of, as the hub decided.
public enum Assignment: Hashable, Sendable {
    case person(Person)
    /// Nobody yet: stored with its sequence, shown in the inbox only, and why.
    case nobody(reason: String)

    public var person: Person? {
        if case .person(let person) = self { person } else { nil }
    }
}

/// A record as the hub holds it: what the source gave, and what the hub decided about it.
public struct StoredRecord: Hashable, Sendable {
    public var record: Record
    /// Stable for people, who say `hub trace 1234`: the sequence under which the identity was first stored.
    public var number: Int64
    /// The version: the hub's sequence of this content.
    public var sequence: Int64
    public var assignment: Assignment
    /// The type of a retracted sample, which the retraction itself does not repeat.
    public var type: TypeID
    /// The value in the type's one unit, with that unit, where the source used another spelling or size.
    public var canonical: CanonicalValue?

    /// A quantity in the unit that the registry gives its type.
    public struct CanonicalValue: Hashable, Sendable {
        public var value: Double
        public var unit: String

        public init(value: Double, unit: String) {
            self.value = value
            self.unit = unit
        }
    }

    public init(
        record: Record, number: Int64, sequence: Int64, assignment: Assignment, type: TypeID, canonical: CanonicalValue? = nil
    ) {
        self.record = record
        self.number = number
        self.sequence = sequence
        self.assignment = assignment
        self.type = type
        self.canonical = canonical
    }
}

/// A reader's place in the hub's sequence. A cursor of another epoch is worthless: the store was restored since.
public struct Cursor: Hashable, Sendable, CustomStringConvertible {
    /// Eight characters `a–z2–7`, new after every restore.
    public var epoch: String
    public var sequence: Int64

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

    public var description: String { "\(epoch)-\(sequence)" }
}
