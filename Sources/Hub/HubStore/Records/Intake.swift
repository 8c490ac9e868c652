public import HubWire
public import Samples

/// A record to store, validated by the codec, with the hub's decisions about it.
public struct IntakeRecord: Hashable, Sendable {
    public var record: Record
    /// The assignment by the hub's rules.
    ///
    /// Ignored for a retraction, which has the person of the retracted record.
    public var assignment: Assignment
    /// A quantity in the unit of its type's registry entry; `nil` if the source used that unit.
    public var canonical: StoredRecord.CanonicalValue?
    /// The implausible members of a sample.
    public var implausible: SampleMembers
    /// The bytes from which the source read the record, stored with the version that they made.
    public var rawPayload: [UInt8]?
    /// The possible persons, if the store has to decide.
    ///
    /// `assignment` is then the source's own statement.
    public var household: Household?

    /// Creates an intake record.
    ///
    /// `Store.commit` validates its parts.
    public init(
        record: Record, assignment: Assignment, canonical: StoredRecord.CanonicalValue? = nil,
        implausible: SampleMembers = [], rawPayload: [UInt8]? = nil, household: Household? = nil
    ) {
        self.record = record
        self.assignment = assignment
        self.canonical = canonical
        self.implausible = implausible
        self.rawPayload = rawPayload
        self.household = household
    }
}

/// One item of a batch: a record, or its rejection before it reached the store.
///
/// A rejection is counted here, and the rest of its `group` is rejected with it.
public typealias IntakeItem = Result<IntakeRecord, RecordRejection>

/// The persons and types whose records an instance, or a manual change, may write.
///
/// The hub checks new records against it. The store checks the existing record of the same identity or number, which may belong to another person.
public struct WriteScope: Hashable, Sendable {
    /// `nil` for all.
    public var types: Set<String>?
    /// Types excluded although ``types`` contains them or is `nil`.
    public var exceptTypes: Set<String>
    /// Names; `nil` for all.
    ///
    /// A record without a person is within the scope of every source.
    public var persons: Set<String>?
    /// Whether it limits a manual change.
    ///
    /// The record's current person then counts, and a record without a person is outside a limited set of persons.
    public var isByHand = false

    /// Creates a scope; `nil` for all.
    public init(types: Set<String>? = nil, exceptTypes: Set<String> = [], persons: Set<String>? = nil) {
        (self.types, self.exceptTypes, self.persons) = (types, exceptTypes, persons)
    }

    /// A scope that limits a manual change to the records of one person.
    public static func byHand(of person: String) -> WriteScope {
        var scope = WriteScope(persons: [person])
        scope.isByHand = true
        return scope
    }

    /// The intersection of both scopes.
    public func narrowed(to other: WriteScope) -> WriteScope {
        func both(_ left: Set<String>?, _ right: Set<String>?) -> Set<String>? {
            left.map { left in right.map(left.intersection) ?? left } ?? right
        }
        var scope = WriteScope(
            types: both(types, other.types), exceptTypes: exceptTypes.union(other.exceptTypes),
            persons: both(persons, other.persons))
        scope.isByHand = isByHand || other.isByHand
        return scope
    }

    func allows(_ type: TypeID, of assignment: Assignment) -> Bool {
        types?.contains(type.rawValue) != false && !exceptTypes.contains(type.rawValue)
            && (assignment.person.map { persons?.contains($0.name) != false } ?? (!isByHand || persons == nil))
    }

    /// The group has a record that the client may not change, so the whole group is left unchanged.
    static let refusalOfGroup = RecordRejection(
        .forbidden, "another record of its group is of a person or type that the asker may not write")
    /// Reveals nothing about the record, because the instance may not know it.
    static let refusal = RecordRejection(
        .forbidden, "the record of this key is of a person or type that this instance may not write; use another key")
}

/// Records that an instance sent together and that are answered together.
public struct IntakeBatch: Hashable, Sendable {
    /// The `[plugin.<instance>]` whose account is charged.
    public var instance: String
    public var items: [IntakeItem]
    /// The existing records that the batch may change.
    public var scope: WriteScope
    /// The limits for the batch.
    public var limits: InstanceLimits

    /// Creates a batch in which some records may have been rejected already.
    public init(
        instance: String, items: [IntakeItem], scope: WriteScope = WriteScope(),
        limits: InstanceLimits = InstanceLimits()
    ) {
        self.instance = instance
        self.items = items
        self.scope = scope
        self.limits = limits
    }

    /// Creates a batch in which every record passed the codec.
    public init(instance: String, records: [IntakeRecord]) {
        self.init(instance: instance, items: records.map(IntakeItem.success))
    }
}

/// The place at which a version of a record was stored.
public struct Placement: Hashable, Sendable {
    /// The sequence number under which the identity was first stored.
    public var number: Int64
    /// The sequence number of this version.
    ///
    /// It is greater than `number` for every version after the first.
    public var sequence: Int64
    /// The last sequence number on this record's feed topic before this one; 0 if it is the first.
    public var previous: Int64
    /// Members that few placements have, on the heap, because a batch has a thousand placements.
    private var further: Rare

    private indirect enum Rare: Hashable, Sendable {
        case nothing
        case something(record: StoredRecord?, departure: Departure?, isCovered: Bool, followers: [Placement])
    }

    /// The departure of a record from a person.
    public struct Departure: Hashable, Sendable {
        /// A retraction with its own sequence number, which is lower than that of the version.
        public var record: StoredRecord
        /// The last sequence number on the retraction's feed topic before this one.
        public var previous: Int64

        /// Creates a departure.
        ///
        /// Only the store does so, and tests of code that depends on it.
        public init(record: StoredRecord, previous: Int64) { (self.record, self.previous) = (record, previous) }
    }

    /// Creates a placement.
    ///
    /// Only the store does so, and tests of code that depends on it.
    public init(
        number: Int64, sequence: Int64, previous: Int64, record: StoredRecord? = nil, departure: Departure? = nil,
        isCovered: Bool = false, followers: [Placement] = []
    ) {
        self.number = number
        self.sequence = sequence
        self.previous = previous
        further =
            record == nil && departure == nil && !isCovered && followers.isEmpty
            ? .nothing
            : .something(record: record, departure: departure, isCovered: isCovered, followers: followers)
    }

    /// The published record, if it differs from the received one: a retraction, a later version, or the result of a manual change.
    public var record: StoredRecord? {
        if case .something(let record, _, _, _) = further { record } else { nil }
    }

    /// The retraction that notifies the previous person of the record.
    public var departure: Departure? {
        if case .something(_, let departure, _, _) = further { departure } else { nil }
    }

    /// Whether a manual change hides the version: it is stored and published on no topic.
    public var isCovered: Bool {
        if case .something(_, _, let isCovered, _) = further { isCovered } else { false }
    }

    /// Records of its group that waited in the inbox and were assigned to the same person with it, by sequence number.
    public var followers: [Placement] {
        if case .something(_, _, _, let followers) = further { followers } else { [] }
    }

    /// The same placement with ``followers``.
    func followed(by followers: [Placement]) -> Placement {
        Placement(
            number: number, sequence: sequence, previous: previous, record: record, departure: departure,
            isCovered: isCovered, followers: followers)
    }

    /// The same placement with the received record, unless another one is published.
    func showing(_ intake: IntakeRecord) -> Placement {
        Placement(
            number: number, sequence: sequence, previous: previous, record: record ?? StoredRecord(intake, self),
            departure: departure, isCovered: isCovered)
    }

    /// Whether the record is now retracted.
    public var isRetraction: Bool { if case .retraction = record?.record { true } else { false } }
}

extension StoredRecord {
    /// The received record with its placement; not for a retraction, whose placement contains the record.
    public init(_ intake: IntakeRecord, _ placement: Placement) {
        let type: TypeID
        switch intake.record {
        case .sample(let sample): type = sample.type
        case .day(let day): type = day.type
        case .retraction: preconditionFailure("the store knows the type of a retracted record")
        }
        self.init(
            record: intake.record, number: placement.number, sequence: placement.sequence,
            assignment: intake.assignment, type: type, canonical: intake.canonical, implausible: intake.implausible)
    }
}

/// The result for one record.
public enum StoreResult: Hashable, Sendable {
    case stored(Placement)
    /// The store already has this content or a newer version.
    case duplicate(number: Int64, sequence: Int64)
    case rejected(RecordRejection)
}

/// Counts of an instance's records by result, updated in the transactions that store the records.
///
/// `received = stored + versions + retractions + duplicates + rejected`, always. Each of `stored`, `versions` and `retractions`
/// used one sequence number, so over all accounts their sum is the store's head.
public struct IntakeCounts: Hashable, Sendable {
    public var instance: String
    public var received: Int64 = 0
    /// Identities seen for the first time.
    public var stored: Int64 = 0
    /// New contents of known identities, and puts that undid the source's own retraction.
    public var versions: Int64 = 0
    public var retractions: Int64 = 0
    public var duplicates: Int64 = 0
    public var rejected: Int64 = 0
    /// The amounts that are limited.
    public var usage = InstanceUsage()

    /// The account for manual changes and for all retractions caused by departures.
    public static let hand = "hub"

    init(instance: String) { self.instance = instance }
}
