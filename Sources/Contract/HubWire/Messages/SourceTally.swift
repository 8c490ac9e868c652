import Samples

/// The numbers of one source for one type and person: an entry of the answer to `sources` (Protocol §8.1.3).
public struct SourceTally: Codable, Hashable, Sendable {
    public struct Origin: Codable, Hashable, Sendable {
        public var plugin: String
        public var device: String?
        public var account: String?

        public init(plugin: String, device: String? = nil, account: String? = nil) {
            (self.plugin, self.device, self.account) = (plugin, device, account)
        }
    }

    public var type: String
    /// `nil` for records without a person.
    public var person: String?
    public var personId: String?
    public var source: Origin
    /// The number of records.
    public var count: Int64
    /// The earliest start and the latest end, RFC 3339 in UTC.
    public var first: String
    public var last: String
    /// The source with the lowest rank of a person and type counts first in statistics; `nil` for records without a person.
    public var rank: Int64?

    public init(
        type: String, person: String?, personId: String?, source: Origin, count: Int64, first: String, last: String,
        rank: Int64? = nil
    ) {
        (self.type, self.person, self.personId, self.source) = (type, person, personId, source)
        (self.count, self.first, self.last, self.rank) = (count, first, last, rank)
    }
}

/// One page of the answer to `sources`: tallies of a part of the records, in the order of time.
public struct SourcesPage: Codable, Hashable, Sendable {
    public var sources: [SourceTally]
    public var next: String?

    public init(sources: [SourceTally], next: String?) { (self.sources, self.next) = (sources, next) }

    /// Adds a later page; merges entries of the same source, type and person.
    public mutating func add(_ later: SourcesPage) {
        var places: [[String?]: Int] = [:]
        func key(_ tally: SourceTally) -> [String?] {
            [tally.type, tally.personId, tally.source.plugin, tally.source.device, tally.source.account]
        }
        for (index, tally) in sources.enumerated() { places[key(tally)] = index }
        for tally in later.sources {
            guard let index = places[key(tally)] else {
                sources.append(tally)
                continue
            }
            sources[index].count += tally.count
            sources[index].rank = tally.rank
            // Do not compare them as texts: fractions have different numbers of digits.
            if SourcesPage.precedes(tally.first, sources[index].first) { sources[index].first = tally.first }
            if SourcesPage.precedes(sources[index].last, tally.last) { sources[index].last = tally.last }
        }
        next = later.next
    }

    private static func precedes(_ left: String, _ right: String) -> Bool {
        guard let left = try? Timestamp(parsing: left), let right = try? Timestamp(parsing: right) else { return false }
        return left.microseconds < right.microseconds
    }
}
