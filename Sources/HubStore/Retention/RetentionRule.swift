public import Samples

/// How long records of some types are kept.
public struct RetentionRule: Hashable, Sendable {
    /// As `hub.conf` calls it.
    public var name: String
    public var types: [TypeID]
    /// Kinds of plugins; `nil` for all.
    public var sources: Set<String>?
    /// Of samples that ended so many days ago a value a day stays, with what they were in numbers.
    public var thinAfter: Int?
    /// Records that ended so many days ago are removed.
    public var removeAfter: Int?

    public init(
        name: String, types: [TypeID], sources: Set<String>? = nil, thinAfter: Int? = nil, removeAfter: Int? = nil
    ) {
        (self.name, self.types, self.sources) = (name, types, sources)
        (self.thinAfter, self.removeAfter) = (thinAfter, removeAfter)
    }
}

/// What a rule has done so far, or would do.
public struct RetentionCount: Hashable, Sendable {
    /// Samples of which the statistics stay.
    public var thinned: Int64 = 0
    /// Records of which nothing stays.
    public var removed: Int64 = 0
    /// Samples that a rule would thin, and that could not be counted in their day, and why not.
    public var left: Int64 = 0
    public var reason: String?
    /// Records that sinks are still to be given, which wait for that.
    public var waiting: Int64 = 0
    public var waitingFor: Set<SinkID> = []

    public init() {}
}

/// Samples of one person, type, plugin kind and day that become one value.
public struct ThinnedDay: Hashable, Sendable {
    var personID: Int64
    var person: Person
    public let type: TypeID
    var plugin: String
    var date: LocalDate
    var samples: [Version]

    struct Version: Hashable, Sendable {
        var number: Int64
        var sequence: Int64
    }
}
