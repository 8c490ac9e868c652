public import Samples

/// The records of an export to import; all conditions must hold.
public struct ExportFilter: Hashable, Sendable {
    /// The types to import; `nil` for all.
    ///
    /// A blood pressure or a food is imported as a whole if the type or one of its members is selected.
    public var types: Set<TypeID>?
    /// The names of the sources to import, ignoring case.
    public var sources: Set<String>?
    /// Seconds since 1970: selects records that end at or after `from` and begin before `to`.
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

/// The data that an importer adds to an export.
public struct ExportOptions: Hashable, Sendable {
    /// The owner of the export: part of the identity of all its records, so that two people's records never collide.
    public var account: String?
    /// The person's name, if the hub is to assign the records by it.
    public var person: String?
    /// The zone of the person, used for records without one.
    public var zone: String?
    /// The zone of the days of activity summaries, which the export does not give.
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
