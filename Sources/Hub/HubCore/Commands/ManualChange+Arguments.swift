import HubStore
import HubWire
import Samples

extension ManualChange {
    /// Whether it changes all of its records or none.
    var isWhole: Bool {
        switch self {
        case .editTogether: true
        case .unlessChanged(_, let change), .within(_, let change): change.isWhole
        default: false
        }
    }

    /// The same change for some of its records.
    func narrowed(to numbers: [Int64]) -> ManualChange {
        switch self {
        case .undoEdit: .undoEdit(numbers: numbers)
        case .retract(_, let reason): .retract(numbers: numbers, reason: reason)
        case .undoRetraction: .undoRetraction(numbers: numbers)
        case .assign(_, let assignment, let wholeGroups, let reason):
            .assign(numbers: numbers, to: assignment, wholeGroups: wholeGroups, reason: reason)
        case .undoAssignment(_, let wholeGroups): .undoAssignment(numbers: numbers, wholeGroups: wholeGroups)
        case .unlessChanged(let sequences, let change): .unlessChanged(sequences, change.narrowed(to: numbers))
        case .within(let scope, let change): .within(scope, change.narrowed(to: numbers))
        case .log, .edit, .editTogether, .assignByRules, .eraseNext, .thin: self
        }
    }

    /// The same change within a scope; narrows the scope that it already has.
    func bound(to scope: WriteScope) -> ManualChange {
        if case .within(let own, let change) = self { return .within(own.narrowed(to: scope), change) }
        return .within(scope, self)
    }

    /// The records that it enters.
    var logged: [IntakeRecord]? {
        switch self {
        case .log(let records): records
        case .within(_, let change), .unlessChanged(_, let change): change.logged
        default: nil
        }
    }

    // MARK: - Expected versions (R8.186)

    /// The expected version of each of `numbers`, from `seqs`.
    ///
    /// - Parameter what: the name of `numbers` in the failure if the counts differ.
    static func sequences(
        _ given: [Int64]?, of numbers: [Int64], _ what: String = "numbers"
    ) throws -> [Int64: Int64]? {
        guard let given else { return nil }
        guard given.count == numbers.count else {
            throw OwnCommandFailure(problems: ["seqs: expected one for each of \(what): \(numbers.count)"])
        }
        let pairs = Dictionary(zip(numbers, given).map { ($0, [$1]) }, uniquingKeysWith: +)
        return try pairs.mapValues { sequences in
            guard Set(sequences).count == 1 else {
                throw OwnCommandFailure(problems: [
                    "seqs: a record that is named twice has two different ones; give the same one twice"
                ])
            }
            return sequences[0]
        }
    }

    /// The same change without expected versions.
    var unconditional: ManualChange {
        switch self {
        case .unlessChanged(_, let change): change
        case .within(let scope, let change): .within(scope, change.unconditional)
        default: self
        }
    }

    /// The same change, on condition that its records still have these sequences.
    func expecting(_ sequences: [Int64: Int64]?) -> ManualChange {
        sequences.map { .unlessChanged($0, self) } ?? self
    }

    // MARK: - Expected owner (R8.187)

    /// The same change, limited to records that belong to one person when it is carried out.
    ///
    /// - Throws: `person` for a name that `hub.conf` does not have.
    func concerning(_ person: String?, _ facts: HubContext, _ scope: CommandScope?) throws(OwnCommandFailure)
        -> ManualChange
    {
        guard let person else { return self }
        let known = try facts.person(person, in: "of", allowed: scope?.persons)
        return .within(.byHand(of: known.name), self)
    }
}
