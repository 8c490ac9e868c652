public import Samples

/// A record on its way in, checked by the codec, with what the hub decided about it.
public struct IntakeRecord: Hashable, Sendable {
    public var record: Record
    /// Whose it is by the hub's rules.
    ///
    /// Ignored for a retraction, which concerns whom the retracted record concerns.
    public var assignment: Assignment
    /// A quantity in the unit of its type's registry entry; `nil` when the source wrote exactly that.
    public var canonical: StoredRecord.CanonicalValue?
    /// The implausible members of a sample.
    public var implausible: SampleMembers
    /// The bytes the source read the record from, kept with the version they made.
    public var rawPayload: [UInt8]?
    /// Who may have been measured, where that is to be found out; `assignment` is then what the source itself said.
    public var household: Household?

    /// A record and what the hub decided about it; `Store.commit` checks both.
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

/// Why one record was not stored.
public struct Rejection: Error, Hashable, Sendable {
    /// A code of the protocol, such as `value`, `group` or `unknown`.
    public var code: String
    /// What is wrong with which field, and what would be right.
    public var reason: String

    /// A reason under a code of the protocol.
    public init(code: String, reason: String) {
        self.code = code
        self.reason = reason
    }
}

/// One place of a batch.
public enum IntakeItem: Hashable, Sendable {
    case record(IntakeRecord)
    /// Refused before the store saw it: it is counted here, and the rest of its `group` is refused with it.
    case refused(Rejection, group: String?)
}

/// Whose records of which types an instance, or a person by hand, may write.
///
/// The hub judges new records by it. The store judges the record that has the same identity or number, which may be another's.
public struct WriteScope: Hashable, Sendable {
    /// `nil` for all.
    public var types: Set<String>?
    /// Those that are not within although ``types`` has them, or is `nil`.
    public var exceptTypes: Set<String>
    /// Names; `nil` for all.
    ///
    /// A record without a person is within the scope of every source.
    public var persons: Set<String>?
    /// Whether it bounds a command: then the present person of a record counts, and a record without a person is outside of narrowed persons.
    public var isByHand = false

    /// A scope; `nil` for all.
    public init(types: Set<String>? = nil, exceptTypes: Set<String> = [], persons: Set<String>? = nil) {
        (self.types, self.exceptTypes, self.persons) = (types, exceptTypes, persons)
    }

    /// Bounds a command to the records of one person.
    public static func byHand(of person: String) -> WriteScope {
        var scope = WriteScope(persons: [person])
        scope.isByHand = true
        return scope
    }

    /// What both allow.
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

    /// That a group has a record that the asker may not change, and is left as it is.
    static let refusalOfGroup = Rejection(
        code: "forbidden", reason: "another record of its group is of a person or type that the asker may not write")
    /// Says nothing of the record, which is not the instance's to know.
    static let refusal = Rejection(
        code: "forbidden",
        reason: "the record of this key is of a person or type that this instance may not write; use another key")
}

/// What one instance sent together and wants answered together.
public struct IntakeBatch: Hashable, Sendable {
    /// The `[plugin.<instance>]` whose account is charged.
    public var instance: String
    public var items: [IntakeItem]
    /// What it may change of what is there.
    public var scope: WriteScope
    /// What it may leave behind.
    public var limits: InstanceLimits

    /// A batch in which some records may have been refused already.
    public init(
        instance: String, items: [IntakeItem], scope: WriteScope = WriteScope(),
        limits: InstanceLimits = InstanceLimits()
    ) {
        self.instance = instance
        self.items = items
        self.scope = scope
        self.limits = limits
    }

    /// A batch in which every record passed the codec.
    public init(instance: String, records: [IntakeRecord]) {
        self.init(instance: instance, items: records.map(IntakeItem.record))
    }
}

/// Where a version of a record now stands.
public struct Placement: Hashable, Sendable {
    /// The sequence under which the identity was first stored.
    public var number: Int64
    /// The sequence of this version; greater than `number` for every version after the first.
    public var sequence: Int64
    /// The last sequence on this record's feed topic before this one; 0 when it is the first.
    public var previous: Int64
    /// What only some placements have, on the heap: a batch has a thousand of them.
    private var further: Rare

    private indirect enum Rare: Hashable, Sendable {
        case nothing
        case something(record: StoredRecord?, departure: Departure?, isCovered: Bool, followers: [Placement])
    }

    /// A record left a person.
    public struct Departure: Hashable, Sendable {
        /// A retraction under a sequence of its own, which comes before that of the version.
        public var record: StoredRecord
        /// The last sequence on the retraction's feed topic before this one.
        public var previous: Int64

        /// A departure; the store makes them, and tests of what depends on it.
        public init(record: StoredRecord, previous: Int64) { (self.record, self.previous) = (record, previous) }
    }

    /// A place; the store makes them, and tests of what depends on it.
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

    /// The record as it now stands, where that is not simply what came in: a retraction, a later version, or what a person did.
    public var record: StoredRecord? {
        if case .something(let record, _, _, _) = further { record } else { nil }
    }

    /// The retraction that tells the person whose the record was until now that it is so no more.
    public var departure: Departure? {
        if case .something(_, let departure, _, _) = further { departure } else { nil }
    }

    /// Whether it lies beneath what a person did: kept, and on no topic.
    public var isCovered: Bool {
        if case .something(_, _, let isCovered, _) = further { isCovered } else { false }
    }

    /// Records of its group that waited in the inbox and came to the same person with it, in the order of the sequence.
    public var followers: [Placement] {
        if case .something(_, _, _, let followers) = further { followers } else { [] }
    }

    /// The same with ``followers``.
    func followed(by followers: [Placement]) -> Placement {
        Placement(
            number: number, sequence: sequence, previous: previous, record: record, departure: departure,
            isCovered: isCovered, followers: followers)
    }

    /// Whether the record now stands retracted.
    public var isRetraction: Bool { if case .retraction = record?.record { true } else { false } }
}

extension StoredRecord {
    /// What came in, as it stands where it was put; not for a retraction, of which the placement has the record.
    public init(_ intake: IntakeRecord, _ placement: Placement) {
        let type: TypeID
        switch intake.record {
        case .sample(let sample): type = sample.type
        case .day(let day): type = day.type
        case .retraction: preconditionFailure("the store names the type of what was retracted")
        }
        self.init(
            record: intake.record, number: placement.number, sequence: placement.sequence,
            assignment: intake.assignment, type: type, canonical: intake.canonical, implausible: intake.implausible)
    }
}

/// What became of one record.
public enum StoreResult: Hashable, Sendable {
    case stored(Placement)
    /// This content was there already, or a newer version was.
    case duplicate(number: Int64, sequence: Int64)
    case rejected(Rejection)
}

/// The answer to one batch: a result per item, in the batch's order.
public struct CommitResult: Hashable, Sendable {
    public var results: [StoreResult]

    /// An answer; the store makes them, and tests of what depends on it.
    public init(results: [StoreResult]) { self.results = results }
}

/// What an instance sent and what became of it, kept in the transactions that store the records.
///
/// `received = stored + versions + retractions + duplicates + rejected`, always. Each of `stored`, `versions` and `retractions`
/// used one sequence, so over all accounts their sum is the store's head.
public struct Account: Hashable, Sendable {
    public var instance: String
    public var received: Int64 = 0
    /// Identities seen for the first time.
    public var stored: Int64 = 0
    /// New contents of known identities, and puts that undid the source's own retraction.
    public var versions: Int64 = 0
    public var retractions: Int64 = 0
    public var duplicates: Int64 = 0
    public var rejected: Int64 = 0
    /// What of it is limited.
    public var usage = InstanceUsage()

    /// The account that what a person does by hand is charged to, and every retraction that tells of a departure.
    public static let hand = "hub"

    init(instance: String) { self.instance = instance }
}
