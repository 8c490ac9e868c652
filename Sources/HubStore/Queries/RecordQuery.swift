public import Samples

/// What to read.
///
/// Every member that is `nil` leaves its side open; those that are set must all hold.
public struct RecordQuery: Hashable, Sendable {
    public enum Order: String, Hashable, Sendable {
        /// The order of change: the latest version of each record, retractions included.
        case sequence
        /// By start, then number.
        ///
        /// Retracted records are left out.
        case time
        /// By start downwards, then number downwards.
        ///
        /// Retracted records are left out.
        case newestFirst = "-time"
    }

    /// Whose records.
    public enum Owner: Hashable, Sendable {
        /// A person by uid or name.
        case person(String)
        /// Records that have no person yet.
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
    /// A day lasts from midnight to midnight UTC.
    public var from: Int64?
    /// Microseconds since 1970: records that start before it.
    public var to: Int64?
    /// With it a record must also start at or after `from`.
    public var strictStart = false
    /// With it a record must also end before `to`.
    public var strictEnd = false
    public var group: String?
    /// Only samples of which something is hardly true.
    public var isImplausible = false
    /// Records of these numbers only, at most 1,000; needs the order `sequence`.
    public var numbers: Set<Int64>?
    /// Changes after this place only; needs the order `sequence`.
    public var since: Cursor?
    public var order: Order = .sequence
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

    /// Oldest first.
    public var versions: [Version]
    /// What everyone sees: the newest version that is not covered.
    public var current: StoredRecord
    /// The sample or day that a retraction, where it is current, took back.
    public var retracted: StoredRecord?
    /// The last sequence on the topic of the current version, and how many versions that topic has carried.
    public var topicHead: Int64
    public var topicCount: Int64
    /// How the record stands with each sink that it concerns, by the sinks' names.
    public var deliveries: [SinkDelivery]
    /// The days that are made of the record now, by date and series.
    public var days: [BuiltDay]

    /// A day whose basis names the record.
    public struct BuiltDay: Hashable, Sendable {
        public var record: StoredRecord
        /// How the day stands with each sink that it concerns.
        public var deliveries: [SinkDelivery]
    }
}
