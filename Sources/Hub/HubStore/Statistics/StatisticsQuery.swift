public import Samples

/// A query for statistics of the samples of one person and type (Docs/Statistics.md).
public struct StatisticsQuery: Sendable {
    /// By uid or name.
    public var person: String
    public var type: TypeID
    /// The unit in which the type's values are stored.
    ///
    /// Samples in another unit are ignored.
    public var unit: String
    public var style: AggregationStyle
    /// Kinds of plugins, such as `ihealth-hs3`; `nil` for all.
    public var sources: Set<String>?
    /// The ranking of sources, the best first: kinds of plugins, or `kind/device`.
    ///
    /// Sources that are not listed follow in the order of their first samples, and manual entries are last.
    public var priority: [String] = []
    /// Whether to compute each source separately too.
    public var isBySource = false
    /// Microseconds since 1970.
    ///
    /// Earlier times do not count.
    public var from: Int64?
    /// Microseconds since 1970.
    ///
    /// This and later times do not count.
    public var to: Int64?
    /// Microseconds since 1970.
    ///
    /// Samples that ended earlier are treated as if they did not exist.
    public var since: Int64?
    /// `nil` for one interval that covers everything.
    public var intervals: Intervals?
    /// Maximum number of intervals of an answer, 1 or more.
    public var limit: Int
    /// The beginning of the interval to continue with, from ``StatisticsWalk/next``.
    public var first: Int64?
    /// Whether to find out if there is more after the last row of the answer.
    public var reportsNext = true
    /// Whether to report the days that retention has thinned.
    public var reportsThinned = false
    /// The IANA time zone for the days of `from` and `to`.
    public var zone = "UTC"
    /// Whether stored figures may be used; the answer is the same.
    var usesRollups = true

    public init(
        of person: String, _ type: TypeID, unit: String, _ style: AggregationStyle, intervals: Intervals? = nil,
        limit: Int = RecordQuery.maximumPage
    ) {
        (self.person, self.type, self.unit, self.style) = (person, type, unit, style)
        (self.intervals, self.limit) = (intervals, limit)
    }
}

/// The statistics of one interval.
public struct StatisticsRow: Sendable {
    /// Microseconds since 1970; `to` is exclusive.
    public var from, to: Int64
    /// All sources together.
    public var total: Tally
    /// The sources, if requested, the best first.
    public var sources: [(source: Source, tally: Tally)]
}

/// A query for statistics, and the progress of its answer.
///
/// The answer is computed in steps, each in its own snapshot. Records stored in the meantime count if their time has not been processed yet.
public struct StatisticsWalk: Sendable {
    public let query: StatisticsQuery
    /// The rows, in order of time.
    ///
    /// Intervals without data before the first and after the last row are omitted.
    public internal(set) var rows: [StatisticsRow] = []
    /// On the first page of an answer: the days whose samples no longer count; `nil` if there are none.
    public internal(set) var thinned: ThinnedDays?
    /// Whether everything was processed, or enough was found.
    public internal(set) var isOver = false
    /// The beginning of the next interval; `nil` if no data is left.
    public internal(set) var next: Int64?

    var course: Course?

    public init(_ query: StatisticsQuery) {
        self.query = query
        next = query.first
    }

    /// The answer for a client without permission to read the data.
    public static func empty(_ query: StatisticsQuery) -> StatisticsWalk {
        var walk = StatisticsWalk(query)
        (walk.isOver, walk.next) = (true, nil)
        return walk
    }

    /// Ends the walk with the current rows, as soon as it is known whether there is more.
    public mutating func conclude() {
        guard course != nil, !rows.isEmpty else { return }
        course?.isFull = true
        if course?.figures.isEmpty == false { isOver = true }
    }

    /// The position of the walk.
    struct Course: Sendable {
        /// The time up to which the walk has processed data, in microseconds since 1970.
        var place: Int64
        /// The end of the data.
        let end: Int64
        /// The current interval, and the first interval without a row, which may be an earlier one.
        var number, reported: Int
        /// Whether intervals without data get rows.
        var hasBegun: Bool
        /// Whether the answer is full, and the walk only finds out whether there is more.
        var isFull = false
        /// The length of the next stretch.
        var stride = Course.strides.lowerBound
        /// The latest end of the samples processed so far.
        var reach = Int64.min
        /// The figures of the current interval.
        var figures = Figures()
        /// Set while the walk finds only samples of other sources.
        var search: SourceSearch?

        static let strides: ClosedRange<Int64> = 3_600_000_000...2_764_800_000_000
    }
}
