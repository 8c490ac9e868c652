public import Samples

/// What to read.
///
/// Every member that is `nil` leaves its side open; those that are set must all hold.
public struct RecordQuery: Hashable, Sendable {
    public enum Order: Hashable, Sendable {
        /// The order of change: the latest version of each record, retractions included.
        case sequence
        /// By start, then number.
        ///
        /// Retracted records are left out.
        case time
        /// By start downwards, then number downwards.
        ///
        /// Retracted records are left out.
        case newestFirst
        /// By one or two keys, then number, up or down as the first key.
        ///
        /// Retracted records are left out.
        case sorted([SortKey])
        /// Of each person and type only the sample with the latest end, of several that with the highest number.
        ///
        /// The types come in the order in which the store met them. Days and retracted samples are left out.
        case latest
    }

    /// Whose records.
    public enum Owner: Hashable, Sendable {
        /// A person by uid or name.
        case person(String)
        /// Records that have no person.
        case nobody
    }

    /// What the records measure; a retraction counts as what it takes back.
    public var types: Set<TypeID>?
    public var persons: Set<Owner>?
    /// Kinds of plugins, such as `ihealth-hs3`.
    public var sources: Set<String>?
    /// `nil` for everything, retractions in the order of change alone.
    public var kinds: KindSelection?
    /// Microseconds since 1970: records that end at or after it.
    ///
    /// A day lasts from midnight to midnight by ``fromOffset``.
    public var from: Int64?
    /// Microseconds since 1970: records that start before it.
    public var to: Int64?
    /// How many minutes the clocks that ``from`` is meant by are ahead of UTC: their date bounds the days.
    public var fromOffset: Int16 = 0
    /// The same of ``to``.
    public var toOffset: Int16 = 0
    /// With it a record must also start at or after `from`.
    public var strictStart = false
    /// With it a record must also end before `to`.
    public var strictEnd = false
    public var group: String?
    /// Only implausible samples.
    public var isImplausible = false
    /// Only samples that a person has assigned to a guest; with `false` only all others.
    public var isGuest: Bool?
    /// What else a record must meet; with `since` nothing that depends on others of its group.
    public var condition: Where?
    /// What the asker may read; `nil` for everything.
    public var allowance: ReadAllowance?
    /// Records of these numbers only, at most 1,000; needs the order `sequence`.
    public var numbers: Set<Int64>?
    /// Changes after this place only; needs the order `sequence`.
    ///
    /// What has changed and does not meet the query now comes as a retraction, whether it met the query before or not.
    public var since: Cursor?
    public var order: Order = .sequence
    /// Whether each record is to say which others are the same event by other sources; without `since`.
    public var marksMirrors = false
    /// Records in a page, 1…1,000; a page may hold fewer and yet have a `next`.
    public var limit = RecordQuery.maximumPage
    /// Where the page before ended, from its `next`; the rest of the query must be the same.
    public var next: String?

    /// The most records of one page.
    public static let maximumPage = 1_000
    /// About how many bytes of records end a page.
    public static let pageBytes = 1_048_576

    /// Everything, in the order of change.
    public init() {}

    /// Whether a record of the asked types, persons and sources can cease to meet it when it changes.
    var canBeCeased: Bool {
        condition != nil || from != nil || to != nil || group != nil || isImplausible || isGuest != nil
    }

    /// Sets the span; a side that is `nil` stays open.
    public mutating func setSpan(from: Timestamp?, to: Timestamp?) {
        (self.from, fromOffset) = (from?.microseconds, from?.offsetMinutes ?? 0)
        (self.to, toOffset) = (to?.microseconds, to?.offsetMinutes ?? 0)
    }

    /// Beyond all that RFC 3339 can write there is nothing, and sums of times cannot overflow.
    var bounded: RecordQuery {
        let times = (Timestamp.range.lowerBound - 1)...(Timestamp.range.upperBound + 1)
        func bounded(_ time: Int64) -> Int64 { min(max(time, times.lowerBound), times.upperBound) }
        var query = self
        query.allowance?.since = allowance?.since.map(bounded)
        // What must itself begin at or after `from` may have begun before what may be read does.
        query.from = [from, strictStart ? nil : allowance?.since].compactMap(\.self).max().map(bounded)
        if query.from != from.map(bounded) { query.fromOffset = 0 }
        query.to = to.map(bounded)
        return query
    }
}

/// One page of an answer, read in one snapshot of the store.
public struct RecordPage: Hashable, Sendable {
    public var records: [StoredRecord]
    /// Ask again with it for the rest; `nil` when this page is the last.
    ///
    /// A page may be empty and yet have it.
    public var next: String?
    /// The store's head when the *first* page was read: changes since it are exactly those this answer may lack.
    public var cursor: Cursor
    /// In the order of change, where this page is not the last: up to which sequence it has looked.
    public var reached: Int64?

    public init(records: [StoredRecord], next: String?, cursor: Cursor) {
        (self.records, self.next, self.cursor) = (records, next, cursor)
    }
}

/// A record's life, as far as the store knows it.
public struct RecordTrace: Hashable, Sendable {
    /// A version, and when the hub stored it, in microseconds since 1970.
    public struct Version: Hashable, Sendable {
        public var record: StoredRecord
        public var recordedAt: Int64
        /// What a person did to make it; `nil` for what its source sent.
        public var deed: ManualChangeKind?
        /// Why, where the person said so; of a retraction the record says it.
        public var reason: String?
        /// The rule by which it came to its person, or into the inbox; `nil` where its source's account or a hand said so, or only one person
        /// came into question.
        public var ruling: Ruling?
        /// Whether its source sent it while something a person did was in its place: it was not shown.
        public var isCovered: Bool
    }

    /// Those of this page, oldest first: on the first page the current one and the newest of the others, then older ones.
    public var versions: [Version]
    /// How many there are in all.
    public var versionCount: Int64
    /// What everyone sees: the newest version that is not covered.
    public var current: StoredRecord
    /// The sample or day that a retraction, where it is current, took back.
    public var retracted: StoredRecord?
    /// The last sequence on the topic of the current version, and how many versions that topic has carried.
    public var topicHead: Int64
    public var topicCount: Int64
    /// How the record stands with each sink that it concerns, by the sinks' names.
    public var deliveries: [SinkDelivery]
    /// The days that are made of the record now, as far as this page has found them, by date and series.
    public var days: [BuiltDay]
    /// From where the next page goes on; `nil` when this is the last.
    public var next: Place?

    /// Takes over what a later look found of the days.
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

    /// The story as one may read it who may not read all: without versions and days that are out of their reach.
    ///
    /// Of the versions that are left out none is counted among those of this page; how many there are in all is not changed.
    public func narrowed(to mayRead: (StoredRecord) -> Bool) -> RecordTrace {
        var story = self
        story.versions.removeAll { !mayRead($0.record) }
        story.days.removeAll { !mayRead($0.record) }
        if let retracted, !mayRead(retracted) { story.retracted = nil }
        return story
    }

    /// Without the probabilities by which a version came to its person, which name others.
    public var withoutOdds: RecordTrace {
        var story = self
        for index in story.versions.indices {
            story.versions[index].ruling?.odds = nil
        }
        return story
    }

    /// Where a page of a record's story ends.
    public struct Place: Hashable, Sendable {
        /// Versions below this sequence have not been told; 0 when all have.
        var sequence = Int64.max
        /// Days below this number have not been looked at; 0 when all have.
        var day = Int64.max

        static let beginning = Place()
        static let end = Place(sequence: 0, day: 0)

        /// Whether days are still to be looked for.
        public var hasDays: Bool { day > 0 }

        /// As text that is good for the same record.
        public func text(of number: Int64) -> String { "\(number).\(sequence).\(day)" }

        init(sequence: Int64 = .max, day: Int64 = .max) { (self.sequence, self.day) = (sequence, day) }

        /// Reads what `text` gave for the record; `nil` for any other text.
        public init?(_ text: String, of number: Int64) {
            let parts = text.split(separator: ".", omittingEmptySubsequences: false).map { Int64($0) }
            guard parts.count == 3, parts[0] == number, let sequence = parts[1], let day = parts[2], sequence >= 0,
                day >= 0
            else { return nil }
            self.init(sequence: sequence, day: day)
            guard self.text(of: number) == text else { return nil }
        }
    }

    /// A day whose basis names the record.
    public struct BuiltDay: Hashable, Sendable {
        public var record: StoredRecord
        /// How the day stands with each sink that it concerns.
        public var deliveries: [SinkDelivery]
    }
}

/// How long a page may look for what is asked before it ends with what it has.
///
/// So short that a question which finds little in much never makes others wait, and no snapshot stays open for long.
struct PageSlice {
    /// Rows that every page looks at, however long that takes: so many that a page of records that all fit is whole.
    var rows: Int
    var duration: Duration
    /// Rows that may be read before the first of them is known to be the next, in an order that no index has.
    var widest = 50_000
    /// How long that may take.
    var longest = Duration.milliseconds(250)
    /// How many rows are looked at between two looks at the clock.
    var step = 32

    static let usual = PageSlice(rows: RecordQuery.maximumPage, duration: .milliseconds(10))

    /// The same for rows of which each may cost much to judge.
    var ofJudgedRows: PageSlice {
        var slice = self
        (slice.rows, slice.step) = (1, 1)
        return slice
    }

    func begun() -> Begun { Begun(slice: self, end: .now + duration, limit: .now + longest) }

    struct Begun {
        fileprivate let slice: PageSlice
        fileprivate let end: ContinuousClock.Instant
        fileprivate let limit: ContinuousClock.Instant

        func isOver(_ looked: Int) -> Bool {
            looked >= slice.rows && (looked - slice.rows) % slice.step == 0 && .now >= end
        }

        /// Whether too much has been looked at without a first row that is known to be the next.
        func isTooMuch(_ looked: Int) -> Bool {
            looked > slice.widest || looked % slice.step == 0 && .now >= limit
        }

        /// Whether the time is over, for what is so dear that it is asked each time.
        var isSpent: Bool { .now >= end }
    }
}
