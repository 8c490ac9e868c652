/// The kind of a record as the bus names it.
public enum RecordKind: String, Hashable, Sendable, CaseIterable {
    /// A number with a unit.
    case quantity
    /// One of a type's named values.
    case category
    /// Samples that belong together, such as the two values of a blood pressure.
    case correlation
    /// An activity with its interval.
    case workout
    /// A fact about a person that does not change.
    case characteristic
    /// Anything else that a source can measure: series, documents, types that the registry does not know.
    case other
    /// The single value of a calendar day, made by a derived source.
    case day
    /// The withdrawal of a record of another kind.
    case retraction

    /// The kinds of samples.
    public static let samples = Set(allCases).subtracting([.day, .retraction])
}

/// The records that a filter selects by kind: the one rule for QUERY, WANT and the command line (R8.35).
public struct KindSelection: Hashable, Sendable {
    /// The kinds by name.
    ///
    /// The default is filled in if the client names none.
    public let kinds: Set<RecordKind>
    /// The kinds of samples and days that are selected while they are not withdrawn.
    public let standing: Set<RecordKind>
    /// The kinds whose retractions are selected.
    ///
    /// A retraction counts as the kind of the record it withdraws.
    public let takenBack: Set<RecordKind>

    /// Every kind, with its retractions.
    public static let everything = KindSelection(Set(RecordKind.allCases), followsChanges: true)

    /// Selects the records for a client that names these kinds.
    ///
    /// - Parameters:
    ///   - kinds: the kinds that the client names; `nil` selects every kind of sample. Days may be estimates, so a client must ask for them.
    ///   - followsChanges: whether the client keeps its copy up to date and therefore needs the retractions as well.
    public init(_ kinds: Set<RecordKind>?, followsChanges: Bool) {
        self.kinds = kinds ?? RecordKind.samples
        standing = self.kinds.subtracting([.retraction])
        takenBack =
            self.kinds.contains(.retraction)
            ? RecordKind.samples.union([.day]) : followsChanges ? standing : []
    }
}
