public import Samples

/// WANT: a sink opens its durable subscription (Protocol §10.1).
public struct WantRequest: Hashable, Sendable {
    /// The start of a new subscription; ignored for an existing one.
    public enum Start: Hashable, Sendable {
        case now
        case beginning
        case after(Cursor)
    }

    /// The abilities of the sink's target; the hub offers nothing beyond them.
    public struct SinkAccepts: Hashable, Sendable {
        /// Whether it takes records of past days.
        public var pastDates = true
        /// Whether it takes new versions of delivered records.
        public var edits = true
        /// Whether it takes retractions of delivered records.
        public var deletions = true
        /// Whether it takes values that were not measured.
        public var filled = true

        public init() {}
    }

    /// The least number of bytes that WANT must grant, so that any record fits (R10.1).
    public static let leastCreditBytes = 131_072

    /// The subscription's name, chosen by the sink, of the form ``PeerName``.
    public var want: String
    /// Type ids in the sink's spelling, aliases included.
    public var types: [String]?
    /// Kinds as ``KindSelection`` reads them: every kind but `day` if there are none.
    public var kinds: [QueryRequest.Kind]?
    public var persons: [String]?
    public var takes: SinkAccepts
    /// The sink's account at its target; records from that account are not sent back (R10.5).
    public var account: String?
    public var start: Start
    /// Maximum number of records in a delivery; `nil`: the hub's `batchRecords`.
    public var batch: Int?
    /// Maximum number of deliveries each hour; `nil`: no limit.
    public var perHour: Int?
    /// The amount that the hub may have in flight to the sink.
    public var credit: Credit

    public init(
        want: String, types: [String]? = nil, kinds: [QueryRequest.Kind]? = nil, persons: [String]? = nil,
        takes: SinkAccepts = SinkAccepts(), account: String? = nil, start: Start, batch: Int? = nil,
        perHour: Int? = nil, credit: Credit
    ) {
        (self.want, self.types, self.kinds, self.persons) = (want, types, kinds, persons)
        (self.takes, self.account, self.start) = (takes, account, start)
        (self.batch, self.perHour, self.credit) = (batch, perHour, credit)
    }

    /// The records that the kinds select; a sink follows changes.
    public var selection: KindSelection { KindSelection(kinds.map(Set.init), followsChanges: true) }
}

extension WantRequest: BodyCoding {
    private static let members = [
        "want", "types", "kinds", "persons", "takes", "account", "start", "batch", "perHour", "credit",
    ]

    init(reading object: ObjectReader) throws(WireError) {
        try object.refuseOthers(than: Self.members)
        want = try object.name("want", PeerName.expected) { PeerName.isValid($0) }
        types = try object.textsIfPresent("types")
        kinds = try QueryRequest.Kind.list("kinds", in: object)
        persons = try object.textsIfPresent("persons")
        takes = try object.objectIfPresent("takes") ?? SinkAccepts()
        account = try object.textIfPresent("account")
        start = try object.required("start", "\"now\", \"beginning\" or a cursor", show: .text) { value in
            switch object.string(value) {
            case "now"?: .now
            case "beginning"?: .beginning
            case let text?: Cursor(text).map(Start.after)
            case nil: nil
            }
        }
        batch = try object.integerIfPresent("batch", in: 1...Int64(Int32.max)).map { Int($0) }
        perHour = try object.integerIfPresent("perHour", in: 1...3_600_000).map { Int($0) }
        credit = try object.object("credit")
        guard credit.records >= 1, credit.bytes >= Self.leastCreditBytes else {
            throw WireError(
                .field,
                "\(object.path).credit: expected at least 1 record and \(Self.leastCreditBytes) bytes, found \(credit.records) and \(credit.bytes)",
                closed: false)
        }
    }

    func write(to body: inout ObjectWriter) {
        body.member("want", text: want)
        body.member("types", texts: types)
        body.member("kinds", texts: kinds?.map(\.rawValue))
        body.member("persons", texts: persons)
        body.member("takes", object: takes == SinkAccepts() ? nil : takes)
        body.member("account", text: account)
        switch start {
        case .now: body.member("start", text: "now")
        case .beginning: body.member("start", text: "beginning")
        case .after(let cursor): body.member("start", text: cursor.description)
        }
        body.member("batch", integer: batch.map(Int64.init))
        body.member("perHour", integer: perHour.map(Int64.init))
        body.member("credit", object: credit)
    }
}

extension WantRequest.SinkAccepts: BodyCoding {
    init(reading object: ObjectReader) throws(WireError) {
        try object.refuseOthers(than: ["pastDates", "edits", "deletions", "filled"])
        pastDates = try object.truthIfPresent("pastDates") ?? true
        edits = try object.truthIfPresent("edits") ?? true
        deletions = try object.truthIfPresent("deletions") ?? true
        filled = try object.truthIfPresent("filled") ?? true
    }

    func write(to body: inout ObjectWriter) {
        body.member("pastDates", truth: pastDates ? nil : false)
        body.member("edits", truth: edits ? nil : false)
        body.member("deletions", truth: deletions ? nil : false)
        body.member("filled", truth: filled ? nil : false)
    }
}

/// WANT from the hub: the subscription is open (R10.8).
///
/// In a session of mode `once` it is sent again whenever nothing is left to deliver now (R10.21).
public struct WantAnswer: Hashable, Sendable {
    public var want: String
    /// Whether the name was new, so that `start` applied.
    public var isNew: Bool
    /// Everything up to here was delivered or decided, except the records that `pending` counts.
    public var cursor: Cursor
    /// The number of wanted records that are not delivered yet.
    public var pending: Int64
    /// Whether no delivery is open and nothing can be delivered now.
    public var isCaughtUp: Bool

    public init(want: String, isNew: Bool, cursor: Cursor, pending: Int64, isCaughtUp: Bool) {
        (self.want, self.isNew, self.cursor) = (want, isNew, cursor)
        (self.pending, self.isCaughtUp) = (pending, isCaughtUp)
    }
}

extension WantAnswer: BodyCoding {
    init(reading object: ObjectReader) throws(WireError) {
        want = try object.text("want")
        isNew = try object.truth("new")
        cursor = try object.required("cursor", "a cursor, <epoch>-<sequence>", show: .text) { value in
            object.string(value).flatMap { Cursor($0) }
        }
        pending = try object.integer("pending")
        isCaughtUp = try object.truthIfPresent("caughtUp") ?? false
    }

    func write(to body: inout ObjectWriter) {
        body.member("want", text: want)
        body.member("new", truth: isNew)
        body.member("cursor", text: cursor.description)
        body.member("pending", integer: pending)
        body.member("caughtUp", truth: isCaughtUp ? true : nil)
    }
}
