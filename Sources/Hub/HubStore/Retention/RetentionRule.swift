public import Samples

/// How long records of some types are kept.
public struct RetentionRule: Hashable, Sendable {
    /// The rule's name in `hub.conf`.
    public var name: String
    public var types: [TypeID]
    /// Kinds of plugins; `nil` for all.
    public var sources: Set<String>?
    /// Samples that ended this many days ago are replaced by one value per day with statistics.
    public var thinAfter: Int?
    /// Records that ended this many days ago are removed.
    public var removeAfter: Int?

    public init(
        name: String, types: [TypeID], sources: Set<String>? = nil, thinAfter: Int? = nil, removeAfter: Int? = nil
    ) {
        (self.name, self.types, self.sources) = (name, types, sources)
        (self.thinAfter, self.removeAfter) = (thinAfter, removeAfter)
    }
}

/// The number of records that a rule has processed, or would process.
public struct RetentionCount: Hashable, Sendable {
    /// Samples replaced by statistics.
    public var thinned: Int64 = 0
    /// Records removed completely.
    public var removed: Int64 = 0
    /// Samples that a rule would thin but that could not be added to their day, and the reason.
    public var left: Int64 = 0
    public var reason: String?
    /// Records that wait because sinks still have to receive them.
    public var waiting: Int64 = 0
    public var waitingFor: Set<SinkID> = []

    public init() {}
}
