public import Samples

/// A query for records.
///
/// A member that is `nil` allows everything; all other members must match.
public struct RecordQuery: Hashable, Sendable {
    public enum Order: Hashable, Sendable {
        /// The order of change: the latest version of each record, including retractions.
        case sequence
        /// By start, then number.
        ///
        /// Retracted records are omitted.
        case time
        /// By descending start, then descending number.
        ///
        /// Retracted records are omitted.
        case newestFirst
        /// By one or two keys, then by number, in the direction of the first key.
        ///
        /// Retracted records are omitted.
        case sorted([SortKey])
        /// For each person and type only the sample with the latest end. If several have the same end, the one with the highest number.
        ///
        /// The types are in the order in which the store first saw them. Days and retracted samples are omitted.
        case latest
    }

    /// The owner of records.
    public enum Owner: Hashable, Sendable {
        /// A person by uid or name.
        case person(String)
        /// Records without a person.
        case nobody
    }

    /// The types of the records.
    ///
    /// A retraction has the type of the record that it retracts.
    public var types: Set<TypeID>?
    public var persons: Set<Owner>?
    /// Kinds of plugins, such as `ihealth-hs3`.
    public var sources: Set<String>?
    /// `nil` for all kinds.
    ///
    /// Retractions appear only in the order of change.
    public var kinds: KindSelection?
    /// Microseconds since 1970.
    ///
    /// Only records that end at or after it.
    ///
    /// A day lasts from midnight to midnight at ``fromOffset``.
    public var from: Int64?
    /// Microseconds since 1970.
    ///
    /// Only records that start before it.
    public var to: Int64?
    /// The UTC offset of ``from`` in minutes.
    ///
    /// The date at that offset limits the days.
    public var fromOffset: Int16 = 0
    /// The UTC offset of ``to`` in minutes.
    public var toOffset: Int16 = 0
    /// If set, a record must also start at or after `from`.
    public var strictStart = false
    /// If set, a record must also end before `to`.
    public var strictEnd = false
    public var group: String?
    /// Only implausible samples.
    public var isImplausible = false
    /// If `true`, only samples that a person has assigned to a guest; if `false`, only all others.
    public var isGuest: Bool?
    /// A further condition.
    ///
    /// With `since` it may not depend on other records of the group.
    public var condition: Where?
    /// The client's read permission; `nil` for everything.
    public var allowance: ReadAllowance?
    /// Only records with these numbers, at most 1,000; requires the order `sequence`.
    public var numbers: Set<Int64>?
    /// Only changes after this place; requires the order `sequence`.
    ///
    /// Changed records that do not match the query now are returned as retractions, whether they matched before or not.
    public var since: Cursor?
    public var order: Order = .sequence
    /// Whether each record lists the records of other sources that are the same event; not with `since`.
    public var marksMirrors = false
    /// Maximum number of records in a page, 1…1,000.
    ///
    /// A page may have fewer records and still have a `next`.
    public var limit = RecordQuery.maximumPage
    /// The `next` of the previous page.
    ///
    /// The rest of the query must be the same.
    public var next: String?

    /// The upper limit for ``limit``.
    public static let maximumPage = 1_000
    /// Approximate number of bytes of records after which a page ends.
    public static let pageBytes = 1_048_576

    /// All records, in the order of change.
    public init() {}

    /// Whether a record of the requested types, persons and sources can stop matching when it changes.
    var canBeCeased: Bool {
        condition != nil || from != nil || to != nil || group != nil || isImplausible || isGuest != nil
    }

    /// Sets the time span.
    ///
    /// A side that is `nil` is open.
    public mutating func setSpan(from: Timestamp?, to: Timestamp?) {
        (self.from, fromOffset) = (from?.microseconds, from?.offsetMinutes ?? 0)
        (self.to, toOffset) = (to?.microseconds, to?.offsetMinutes ?? 0)
    }

    /// The query with times limited to the range that RFC 3339 can express, so that sums of times cannot overflow.
    var bounded: RecordQuery {
        let times = (Timestamp.range.lowerBound - 1)...(Timestamp.range.upperBound + 1)
        func bounded(_ time: Int64) -> Int64 { min(max(time, times.lowerBound), times.upperBound) }
        var query = self
        query.allowance?.since = allowance?.since.map(bounded)
        // With `strictStart`, `from` applies to the start, while the permitted time applies to the end.
        query.from = [from, strictStart ? nil : allowance?.since].compactMap(\.self).max().map(bounded)
        if query.from != from.map(bounded) { query.fromOffset = 0 }
        query.to = to.map(bounded)
        return query
    }
}

/// One page of an answer, read in one snapshot of the store.
public struct RecordPage: Hashable, Sendable {
    public var records: [StoredRecord]
    /// The token for the next page; `nil` if this page is the last.
    ///
    /// A page may be empty and still have it.
    public var next: String?
    /// The store's head when the *first* page was read.
    ///
    /// Exactly the changes after it may be missing from this answer.
    public var cursor: Cursor
    /// In the order of change, if this page is not the last: the sequence number up to which the page has read.
    public var reached: Int64?

    public init(records: [StoredRecord], next: String?, cursor: Cursor) {
        (self.records, self.next, self.cursor) = (records, next, cursor)
    }
}

/// The history of a record, as far as the store knows it.
public struct RecordTrace: Hashable, Sendable {
    /// A version, and when the hub stored it, in microseconds since 1970.
    public struct Version: Hashable, Sendable {
        public var record: StoredRecord
        public var recordedAt: Int64
        /// The manual change that made it; `nil` for a version from its source.
        public var deed: ManualChangeKind?
        /// The reason, if the person gave one.
        ///
        /// For a retraction, it is in the record.
        public var reason: String?
        /// The rule that assigned the version to its person or to the inbox.
        ///
        /// `nil` if the source's account or a person decided, or if only one person was possible.
        public var ruling: Ruling?
        /// Whether a manual change hid the version when its source sent it.
        public var isCovered: Bool
    }

    /// The versions on this page, oldest first.
    ///
    /// The first page has the current version and the newest others; later pages have older ones.
    public var versions: [Version]
    /// The total number of versions.
    public var versionCount: Int64
    /// The version that clients see: the newest version that is not covered.
    public var current: StoredRecord
    /// The sample or day that the current version retracts, if it is a retraction.
    public var retracted: StoredRecord?
    /// The last sequence number on the topic of the current version, and the number of versions published on that topic.
    public var topicHead: Int64
    public var topicCount: Int64
    /// The state of the record at each sink that it concerns, sorted by the sinks' names.
    public var deliveries: [SinkDelivery]
    /// The days computed from the record, as far as this page has found them, by date and series.
    public var days: [BuiltDay]
    /// The place for the next page; `nil` if this is the last.
    public var next: Place?

    /// Adds the days found by a later page.
    public mutating func add(days more: RecordTrace) {
        func place(_ day: BuiltDay) -> (LocalDate, String)? {
            if case .day(let day) = day.record.record { (day.date, day.series) } else { nil }
        }
        days = (days + more.days).sorted { left, right in
            guard let left = place(left), let right = place(right) else { return false }
            return left < right
        }
        next = more.next
    }

    /// The history without the versions and days that a client may not read.
    ///
    /// Removed versions are missing from this page, but ``versionCount`` does not change.
    public func narrowed(to mayRead: (StoredRecord) -> Bool) -> RecordTrace {
        var story = self
        story.versions.removeAll { !mayRead($0.record) }
        story.days.removeAll { !mayRead($0.record) }
        if let retracted, !mayRead(retracted) { story.retracted = nil }
        return story
    }

    /// The history without the odds of rulings, which name other persons.
    public var withoutOdds: RecordTrace {
        var story = self
        for index in story.versions.indices {
            story.versions[index].ruling?.odds = nil
        }
        return story
    }

    /// The end of a page of a record's history.
    public struct Place: Hashable, Sendable {
        /// Versions below this sequence number have not been returned; 0 when all have.
        var sequence = Int64.max
        /// Days below this number have not been read; 0 when all have.
        var day = Int64.max

        static let beginning = Place()
        static let end = Place(sequence: 0, day: 0)

        /// Whether there are days left to read.
        public var hasDays: Bool { day > 0 }

        /// The place as text, valid for the same record only.
        public func text(of number: Int64) -> String { "\(number).\(sequence).\(day)" }

        init(sequence: Int64 = .max, day: Int64 = .max) { (self.sequence, self.day) = (sequence, day) }

        /// Reads the result of `text` for the record; `nil` for any other text.
        public init?(_ text: String, of number: Int64) {
            let parts = text.split(separator: ".", omittingEmptySubsequences: false).map { Int64($0) }
            guard parts.count == 3, parts[0] == number, let sequence = parts[1], let day = parts[2], sequence >= 0,
                day >= 0
            else { return nil }
            self.init(sequence: sequence, day: day)
            guard self.text(of: number) == text else { return nil }
        }
    }

    /// A day whose basis contains the record.
    public struct BuiltDay: Hashable, Sendable {
        public var record: StoredRecord
        /// The state of the day at each sink that it concerns.
        public var deliveries: [SinkDelivery]
    }
}

/// The time that a page may take before it ends with the records found so far.
///
/// It is short, so that a query that finds few of many records delays no other query and keeps no snapshot open for long.
struct PageTimeLimit {
    /// Rows that every page reads, regardless of time: enough for a full page if all records match.
    var rows: Int
    var duration: Duration
    /// Maximum number of rows read before the first result is certain, in an order that no index has.
    var widest = 50_000
    /// Maximum time for finding the first certain result.
    var longest = Duration.milliseconds(250)
    /// The number of rows between two checks of the clock.
    var step = 32

    static let usual = PageTimeLimit(rows: RecordQuery.maximumPage, duration: .milliseconds(10))

    /// A slice for rows that may be expensive to judge.
    var ofJudgedRows: PageTimeLimit {
        var slice = self
        (slice.rows, slice.step) = (1, 1)
        return slice
    }

    func begun() -> Begun { Begun(slice: self, end: .now + duration, limit: .now + longest) }

    struct Begun {
        fileprivate let slice: PageTimeLimit
        fileprivate let end: ContinuousClock.Instant
        fileprivate let limit: ContinuousClock.Instant

        func isOver(_ looked: Int) -> Bool {
            looked >= slice.rows && (looked - slice.rows) % slice.step == 0 && .now >= end
        }

        /// Whether too many rows have been read without a certain first result.
        func isOverLimit(_ looked: Int) -> Bool {
            looked > slice.widest || looked % slice.step == 0 && .now >= limit
        }

        /// Whether the time is over.
        ///
        /// Check it after each expensive step.
        var isSpent: Bool { .now >= end }
    }
}
