/// The kind of a record as the bus names it.
public enum RecordKind: String, Hashable, Sendable, CaseIterable {
    case quantity, category, correlation, workout, characteristic, other, day, retraction

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
