import HubSettings
import HubStore
import HubWire

extension ManualChange {
    /// The records that it names; `nil` where it names none.
    var numbers: [Int64]? {
        switch self {
        case .log, .assignByRules, .eraseNext, .thin: nil
        case .edit(let number, _): [number]
        case .editTogether(let edits): edits.map(\.number)
        case .undoEdit(let numbers), .retract(let numbers, _), .undoRetraction(let numbers),
            .assign(let numbers, _, _, _):
            numbers
        case .unlessChanged(_, let change): change.numbers
        }
    }

    /// Whether it changes all of its records or none.
    var isWhole: Bool {
        switch self {
        case .editTogether: true
        case .unlessChanged(_, let change): change.isWhole
        default: false
        }
    }

    /// The same of some of its records.
    func narrowed(to numbers: [Int64]) -> ManualChange {
        switch self {
        case .undoEdit: .undoEdit(numbers: numbers)
        case .retract(_, let reason): .retract(numbers: numbers, reason: reason)
        case .undoRetraction: .undoRetraction(numbers: numbers)
        case .assign(_, let assignment, let wholeGroups, let reason):
            .assign(numbers: numbers, to: assignment, wholeGroups: wholeGroups, reason: reason)
        case .unlessChanged(let sequences, let change): .unlessChanged(sequences, change.narrowed(to: numbers))
        case .log, .edit, .editTogether, .assignByRules, .eraseNext, .thin: self
        }
    }

    // MARK: - What it expects (R8.186)

    static let sequenceArgument = SettingDeclaration(
        "seq", .integer(Bounds(1)), help: "The version to change: at another the record stays as it is (changed).")
    static let sequencesArgument = sequencesArgument("one for each of numbers")

    static func sequencesArgument(_ which: String) -> SettingDeclaration {
        SettingDeclaration(
            "seqs", .list(of: .integer(Bounds(0))),
            help: "The versions to change, \(which) (0: any): at another a record stays as it is (changed).")
    }

    /// What `seqs` says of each of `numbers`.
    ///
    /// - Parameter what: how these are called in the answer where there are not as many.
    static func sequences(
        _ given: [Int64]?, of numbers: [Int64], _ what: String = "numbers"
    ) throws -> [Int64: Int64]? {
        guard let given else { return nil }
        guard given.count == numbers.count else {
            throw CommandFailure(problems: ["seqs: expected one for each of \(what): \(numbers.count)"])
        }
        let pairs = Dictionary(zip(numbers, given).map { ($0, [$1]) }, uniquingKeysWith: +)
        return try pairs.mapValues { sequences in
            guard Set(sequences).count == 1 else {
                throw CommandFailure(problems: ["seqs: a record that is named twice has two of them"])
            }
            return sequences[0]
        }
    }

    /// The same, whatever its records have become.
    var unconditional: ManualChange {
        if case .unlessChanged(_, let change) = self { change } else { self }
    }

    /// The same, where its records still have these sequences.
    func expecting(_ sequences: [Int64: Int64]?) -> ManualChange {
        sequences.map { .unlessChanged($0, self) } ?? self
    }
}
