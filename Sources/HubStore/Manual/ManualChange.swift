import GRDB
public import Samples

/// What a person does by hand: a layer over what sources say, which no source can undo (Protocol §6.8, §6.9).
public indirect enum ManualChange: Hashable, Sendable {
    /// Enters records of one's own; those of one group are stored together or not at all.
    case log([IntakeRecord])
    /// Changes a sample.
    case edit(number: Int64, SampleEdit)
    /// Changes samples of one group.
    case editTogether([NumberedEdit])
    /// Takes edits away, of a correlation or workout those of its group as well: what the source said last shows again.
    case undoEdit(numbers: [Int64])
    /// Takes records back.
    case retract(numbers: [Int64], reason: String?)
    /// Takes retractions by hand back: what would stand without them shows again.
    case undoRetraction(numbers: [Int64])
    /// Says whose samples are, or that it is not known yet; with `wholeGroups` of everything they were measured together with.
    case assign(numbers: [Int64], to: Assignment, wholeGroups: Bool, reason: String?)
    /// Takes assignments by hand back: each sample is whose the rules had last found.
    case undoAssignment(numbers: [Int64], wholeGroups: Bool)
    /// Says whose samples are by the hub's rules, for those of the inbox that no hand has put there.
    case assignByRules([RuledRecord])
    /// Erases some of the records that `Store.beginErasure` has chosen; no results when none are left.
    case eraseNext
    /// Keeps what samples of a day were in numbers: their sum where it is cumulative, else their mean; the samples go by and by.
    case thin(ThinnedDay, isCumulative: Bool)
    /// A change of those of its records that have these sequences still, by number (0: any); the others stay as they are (R8.186).
    case unlessChanged([Int64: Int64], ManualChange)
    /// A change of only those of its records that are within a scope when its turn comes; the others are unknown to the asker (R8.187).
    case within(WriteScope, ManualChange)

    /// What a person changes of one of several samples.
    public struct NumberedEdit: Hashable, Sendable {
        public var number: Int64
        public var edit: SampleEdit

        /// An edit of the sample with that number.
        public init(number: Int64, edit: SampleEdit) { (self.number, self.edit) = (number, edit) }
    }

    /// A record of the inbox and whose it is by the rules as they are now.
    public struct RuledRecord: Hashable, Sendable {
        public var number: Int64
        /// By what its source said of whom it measured.
        public var assignment: Assignment
        /// Whom its group or its weight may tell, where that did not.
        public var household: Household?

        /// What the rules have to go by.
        public init(number: Int64, assignment: Assignment, household: Household? = nil) {
            (self.number, self.assignment, self.household) = (number, assignment, household)
        }
    }

    /// The records that it names.
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

    /// The records that it takes along with one that it names.
    func taken(with number: Int64, in db: Database) throws -> [Int64] {
        switch self {
        case .undoEdit, .retract, .undoRetraction: try RecordGroup.withMembers([number], in: db)
        case .assign(_, _, let wholeGroups, _), .undoAssignment(_, let wholeGroups):
            wholeGroups ? try RecordGroup.withGroups([number], in: db) : []
        case .unlessChanged(_, let change), .within(_, let change): try change.taken(with: number, in: db)
        case .log, .edit, .editTogether, .assignByRules, .eraseNext, .thin: []
        }
    }

    /// The most records that one action may concern, groups included.
    public static let maximumRecords = 10_000
}

/// What a person changes of a sample; what is `nil` stays as it is.
///
/// Applied to the sample as it stands when its turn comes.
public struct SampleEdit: Hashable, Sendable {
    /// The type the value was checked for; an edit of a sample that has become of another type is refused.
    public var type: TypeID
    public var value: SampleValue?
    /// A quantity in the unit of its type's registry entry; `nil` where `value` is exactly that.
    public var canonical: StoredRecord.CanonicalValue?
    /// Of an instant it moves the end as well, where that is not given.
    public var start: Timestamp?
    public var end: Timestamp?
    public var metadata: JSONObject?
    /// Why, in words for people.
    public var reason: String?

    /// An edit that changes nothing yet.
    public init(type: TypeID) { self.type = type }
}

/// What became of one record that a person had to do with.
public struct ManualResult: Hashable, Sendable {
    /// As it was asked for; of a new record that was rejected 0.
    public var number: Int64
    public var result: StoreResult
    /// Whether it is a day whose value goes because it was made of an erased record.
    public var isDerived = false

    /// A result; the store makes them, and a caller that knows that there is no such record.
    public init(number: Int64, result: StoreResult, isDerived: Bool = false) {
        (self.number, self.result, self.isDerived) = (number, result, isDerived)
    }

    /// Of a record that stays as it is, since something is not as who asked has seen it.
    static func changed(_ number: Int64, _ what: String) -> ManualResult {
        ManualResult(
            number: number, result: .rejected(Rejection(code: "changed", reason: "\(what): look at it again")))
    }
}

/// How a person made a version of a record; the raw values stand in the store.
public enum ManualChangeKind: Int64, Hashable, Sendable {
    case logged = 1
    case edited
    case editUndone
    case retracted
    case retractionUndone
    case assigned
    case assignmentUndone
}
