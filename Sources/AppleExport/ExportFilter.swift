public import Samples

/// Which records of an export are wanted; all conditions hold together.
public struct ExportFilter: Hashable, Sendable {
    /// Only these types; all where it is `nil`.
    ///
    /// A blood pressure or a food comes whole where it or one of its members is wanted.
    public var types: Set<TypeID>?
    /// Only what these sources have given, by name; capitals do not count.
    public var sources: Set<String>?
    /// Seconds since 1970: what ends at or after `from`, and begins before `to`.
    public var from: Int64?
    public var to: Int64?

    public init(types: Set<TypeID>? = nil, sources: Set<String>? = nil, from: Int64? = nil, to: Int64? = nil) {
        self.types = types
        self.sources = sources.map { Set($0.map { SourceName.normalized($0).lowercased() }) }
        (self.from, self.to) = (from, to)
    }

    func takes(_ start: Int64, _ end: Int64) -> Bool { from.map { end >= $0 } ?? true && to.map { start < $0 } ?? true }

    func takes(source: String) -> Bool { sources?.contains(source.lowercased()) ?? true }
}

/// What an importer adds to what an export says.
public struct ExportOptions: Hashable, Sendable {
    /// Whose export it is: a part of the identity of all its records, so that two people's never meet.
    public var account: String?
    /// The name of the person, where the hub is to find them by it.
    public var person: String?
    /// Where the person was when nothing else is said: the zone of records that have none.
    public var zone: String?
    /// The zone of the days of activity summaries, which an export gives without one.
    public var dayZone: String
    public var filter: ExportFilter

    public init(
        account: String? = nil, person: String? = nil, zone: String? = nil, dayZone: String = "UTC",
        filter: ExportFilter = ExportFilter()
    ) {
        (self.account, self.person, self.zone) = (account, person, zone)
        (self.dayZone, self.filter) = (dayZone, filter)
    }
}
