public import HealthStatistics
public import Samples

/// What is to be computed of the samples of one person and type (Docs/Statistics.md).
public struct StatisticsQuery: Sendable {
    /// By uid or name.
    public var person: String
    public var type: TypeID
    /// In which values of the type are kept; samples in another unit do not count.
    public var unit: String
    public var style: AggregationStyle
    /// Kinds of plugins, such as `ihealth-hs3`; `nil` for all.
    public var sources: Set<String>?
    /// Which sources count before which, the best first: kinds of plugins, or `kind/device`.
    ///
    /// Those that are not named come after them, as the hub had their first sample, and what was entered by hand at last.
    public var priority: [String] = []
    /// Each source by itself, too.
    public var isBySource = false
    /// Microseconds since 1970: what lies before it does not count.
    public var from: Int64?
    /// Microseconds since 1970: what lies at or after it does not count.
    public var to: Int64?
    /// Microseconds since 1970: what ended before it is as if it did not exist.
    public var since: Int64?
    /// `nil`: one interval, all of it.
    public var intervals: Intervals?
    /// Intervals of an answer, 1 or more.
    public var limit: Int
    /// Where the interval begins to go on with, from ``StatisticsWalk/next``.
    public var first: Int64?
    /// Whether to find out if there is more after the last row that an answer may have.
    public var tellsNext = true
    /// Whether to tell which days retention has thinned.
    public var tellsThinned = false
    /// IANA: by which clock `from` and `to` are days.
    public var zone = "UTC"
    /// Whether figures that are kept may answer it; the answer is the same.
    var usesRollups = true

    public init(
        of person: String, _ type: TypeID, unit: String, _ style: AggregationStyle, intervals: Intervals? = nil,
        limit: Int = RecordQuery.maximumPage
    ) {
        (self.person, self.type, self.unit, self.style) = (person, type, unit, style)
        (self.intervals, self.limit) = (intervals, limit)
    }
}

/// What was computed of one interval.
public struct StatisticsRow: Sendable {
    /// Microseconds since 1970; the end is not part of it.
    public var from, to: Int64
    /// Of all sources together.
    public var total: Tally
    /// Where that was asked for: the best source first.
    public var sources: [(source: Source, tally: Tally)]
}

/// A question about statistics, and how far its answer has come.
///
/// It is answered in pieces, each in a snapshot of its own: what is stored meanwhile counts where it has not been looked yet.
public struct StatisticsWalk: Sendable {
    public let query: StatisticsQuery
    /// In the order of time.
    ///
    /// Intervals without anything are left out before the first and after the last.
    public internal(set) var rows: [StatisticsRow] = []
    /// With the first page of an answer: the days whose samples do not count any more; `nil` where there are none.
    public internal(set) var thinned: ThinnedDays?
    /// Whether there is nothing more to look at, or enough was found.
    public internal(set) var isOver = false
    /// Where the interval begins with which the rest begins; `nil` when nothing that counts is left.
    public internal(set) var next: Int64?

    var course: Course?

    public init(_ query: StatisticsQuery) {
        self.query = query
        next = query.first
    }

    /// The answer to one who may not read what is asked.
    public static func empty(_ query: StatisticsQuery) -> StatisticsWalk {
        var walk = StatisticsWalk(query)
        (walk.isOver, walk.next) = (true, nil)
        return walk
    }

    /// Ends it with the rows that there are, as soon as it is known whether there is more.
    public mutating func conclude() {
        guard course != nil, !rows.isEmpty else { return }
        course?.isFull = true
        if course?.figures.isEmpty == false { isOver = true }
    }

    /// Where it is.
    struct Course: Sendable {
        /// Up to where it has looked, in microseconds since 1970.
        var place: Int64
        /// Where there is nothing more.
        let end: Int64
        /// The interval under way; the first that has no row yet, which may be an earlier one.
        var number, reported: Int
        /// Whether intervals without anything get rows.
        var hasBegun: Bool
        /// Whether no more rows come into this answer: it is only to be found out whether there are any.
        var isFull = false
        /// How much is looked at together.
        var stride = Course.strides.lowerBound
        /// Where the last of what has been looked at ends.
        var reach = Int64.min
        /// Of the interval under way.
        var figures = Figures()
        /// For as long as only samples of other sources are met.
        var search: SourceSearch?

        static let strides: ClosedRange<Int64> = 3_600_000_000...2_764_800_000_000
    }
}
