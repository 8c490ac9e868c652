/// The kind of a record as the bus names it.
public enum RecordKind: String, Hashable, Sendable, CaseIterable {
    /// A number with a unit.
    case quantity
    /// One of a type's named values.
    case category
    /// Samples that belong together, such as the two of a blood pressure.
    case correlation
    /// An activity with its interval.
    case workout
    /// A fact about a person that does not change.
    case characteristic
    /// Everything else that a source can measure: series, documents, types that the registry does not know.
    case other
    /// The one value of a calendar day, made by a derived source.
    case day
    /// The end of any of the others.
    case retraction

    /// The kinds of samples.
    public static let samples = Set(allCases).subtracting([.day, .retraction])
}

/// Which records a filter selects by their kind: the one place that decides it, for QUERY, WANT and the command line (R8.35).
public struct KindSelection: Hashable, Sendable {
    /// The kinds by name, with what their absence means filled in.
    public let kinds: Set<RecordKind>
    /// Which kinds of samples and days are selected, as long as they are not taken back.
    public let standing: Set<RecordKind>
    /// Which kinds are those whose retractions are selected; a retraction has the kind of what it takes back.
    public let takenBack: Set<RecordKind>

    /// All there is: every kind, and what was taken back of it.
    public static let everything = KindSelection(Set(RecordKind.allCases), followsChanges: true)

    /// What a client that names these kinds gets.
    ///
    /// - Parameters:
    ///   - kinds: as a client names them; `nil` for every kind of sample: a day may be a guess, and comes to who asks for days.
    ///   - followsChanges: whether the asker keeps what it gets up to date, and so must learn what was taken back of it.
    public init(_ kinds: Set<RecordKind>?, followsChanges: Bool) {
        self.kinds = kinds ?? RecordKind.samples
        standing = self.kinds.subtracting([.retraction])
        takenBack =
            self.kinds.contains(.retraction)
            ? RecordKind.samples.union([.day]) : followsChanges ? standing : []
    }
}
