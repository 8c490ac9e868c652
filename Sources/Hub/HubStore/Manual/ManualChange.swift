import GRDB
import HubWire
public import Samples

/// A manual change by a person: a layer over the data of sources, which no source can undo (Protocol §6.8, §6.9).
public indirect enum ManualChange: Hashable, Sendable {
    /// Enters the person's own records. Records of one group are stored together or not at all.
    case log([IntakeRecord])
    /// Changes a sample.
    case edit(number: Int64, SampleEdit)
    /// Changes samples of one group.
    case editTogether([NumberedEdit])
    /// Undoes edits, for a correlation or workout also those of its group: the source's last data is shown again.
    case undoEdit(numbers: [Int64])
    /// Retracts records.
    case retract(numbers: [Int64], reason: String?)
    /// Undoes manual retractions: the version without the retraction is shown again.
    case undoRetraction(numbers: [Int64])
    /// Assigns samples to a person, or marks their person as unknown. With `wholeGroups` it includes everything measured together with them.
    case assign(numbers: [Int64], to: Assignment, wholeGroups: Bool, reason: String?)
    /// Undoes manual assignments: the last assignment by the rules applies again.
    case undoAssignment(numbers: [Int64], wholeGroups: Bool)
    /// Assigns samples of the inbox by the hub's rules, unless a person has put them there.
    case assignByRules([RuledRecord])
    /// Erases some of the records that `Store.beginErasure` has chosen; returns no results when none are left.
    case eraseNext
    /// Replaces the samples of a day by their sum if the type is cumulative, or else their mean. The samples are removed gradually.
    case thin(ThinnedDay, isCumulative: Bool)
    /// A change of those records whose sequence number is still the given one, by number (0: any); the others are unchanged (R8.186).
    case unlessChanged([Int64: Int64], ManualChange)
    /// A change of only those records within a scope when it is carried out; the client does not learn about the others (R8.187).
    case within(WriteScope, ManualChange)

    /// A person's change of one of several samples.
    public struct NumberedEdit: Hashable, Sendable {
        public var number: Int64
        public var edit: SampleEdit

        /// Creates an edit of the sample with that number.
        public init(number: Int64, edit: SampleEdit) { (self.number, self.edit) = (number, edit) }
    }

    /// A record of the inbox and its assignment by the current rules.
    public struct RuledRecord: Hashable, Sendable {
        public var number: Int64
        /// The assignment by the source's subject.
        public var assignment: Assignment
        /// The household for assignment by group or weight, if the subject is not enough.
        public var household: Household?

        /// Creates the input of the rules for a record.
        public init(number: Int64, assignment: Assignment, household: Household? = nil) {
            (self.number, self.assignment, self.household) = (number, assignment, household)
        }
    }

    /// The records that the change names.
    public var named: [Int64] {
        switch self {
        case .log, .assignByRules, .eraseNext, .thin: []
        case .edit(let number, _): [number]
        case .editTogether(let edits): edits.map(\.number)
        case .undoEdit(let numbers), .retract(let numbers, _), .undoRetraction(let numbers),
            .assign(let numbers, _, _, _), .undoAssignment(let numbers, _):
            numbers
        case .unlessChanged(_, let change), .within(_, let change): change.named
        }
    }

    /// Named records, and those that are changed together with them.
    ///
    /// - Parameter alone: numbers whose groups are not included.
    func taken(with numbers: [Int64], but alone: Set<Int64> = [], in db: Database) throws -> [Int64] {
        switch self {
        case .undoEdit, .retract, .undoRetraction: try RecordGroup.withMembers(numbers, but: alone, in: db)
        case .assign(_, _, true, _), .undoAssignment(_, true):
            try RecordGroup.withGroups(numbers, but: alone, in: db)
        case .unlessChanged(_, let change), .within(_, let change):
            try change.taken(with: numbers, but: alone, in: db)
        case .log, .edit, .editTogether, .assign, .undoAssignment, .assignByRules, .eraseNext, .thin: numbers
        }
    }

    /// Maximum number of records changed by one action, groups included.
    public static let maximumRecords = 10_000
}

/// A person's change of a sample.
///
/// Members that are `nil` stay unchanged.
///
/// It is applied to the sample's version at the time when it is carried out.
public struct SampleEdit: Hashable, Sendable {
    /// The type for which the value was checked.
    ///
    /// The edit is refused if the sample's type has changed.
    public var type: TypeID
    public var value: SampleValue?
    /// A quantity in the unit of its type's registry entry; `nil` if `value` is in that unit.
    public var canonical: StoredRecord.CanonicalValue?
    /// For an instant, this also moves the end, unless an end is given.
    public var start: Timestamp?
    public var end: Timestamp?
    public var metadata: JSONObject?
    /// The reason, for people.
    public var reason: String?

    /// Creates an edit without changes.
    public init(type: TypeID) { self.type = type }
}

/// The result of a manual change for one record.
public struct ManualResult: Hashable, Sendable {
    /// The requested number; 0 for a new record that was rejected.
    public var number: Int64
    public var result: StoreResult
    /// Whether the record is a day whose value is removed because it was computed from an erased record.
    public var isDerived = false

    /// Creates a result.
    ///
    /// Only the store makes results, and callers that know that the record does not exist.
    public init(number: Int64, result: StoreResult, isDerived: Bool = false) {
        (self.number, self.result, self.isDerived) = (number, result, isDerived)
    }

    /// The result for a record that is not changed, because something is no longer as the client saw it.
    static func changed(_ number: Int64, _ what: String) -> ManualResult {
        ManualResult(
            number: number, result: .rejected(RecordRejection(.init(received: "changed"), "\(what): look at it again")))
    }
}

/// How a person made a version of a record.
///
/// The raw values are stored.
public enum ManualChangeKind: Int64, Hashable, Sendable {
    case logged = 1
    case edited
    case editUndone
    case retracted
    case retractionUndone
    case assigned
    case assignmentUndone
}
