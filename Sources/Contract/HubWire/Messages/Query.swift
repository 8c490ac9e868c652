public import Samples

/// QUERY: a question for one page of an answer (Protocol §8.1).
public struct QueryRequest: Hashable, Sendable {
    /// The subject of a question.
    public enum Subject: String, Hashable, Sendable, CaseIterable {
        case records, sources, statistics, status, plugins, persons, accounts, trace, logs

        /// Whether it is about the hub, which only the owner may ask; the others are about records that the session may read.
        public var isOfOwner: Bool { ![.records, .sources, .statistics].contains(self) }
    }

    public typealias Kind = RecordKind

    public enum Order: Hashable, Sendable {
        /// By the hub's sequence, the order in which records were stored or changed.
        case sequence
        /// By one key, or by start and end in either order; then by number in the direction of the first key.
        case by([SortKey])

        public static let time = Order.by([.time])
        public static let newestFirst = Order.by([.newestFirst])
    }

    /// The records that a question is about; they must meet every condition that is set.
    public struct Filter: Hashable, Sendable {
        /// Type ids in the client's spelling, aliases included.
        public var types: [String]?
        public var persons: [String]?
        /// Plugin kinds.
        public var sources: [String]?
        /// Kinds as ``KindSelection`` reads them: every kind but `day` if there are none.
        public var kinds: [Kind]?
        /// Only records without a person; with ``isGuest`` `false`, only the inbox.
        public var isOfNoPerson = false
        /// With `true` only samples that a person has assigned to a guest; with `false` only all others.
        public var isGuest: Bool?
        /// Only implausible samples.
        public var isImplausible = false
        /// Records that end at or after this.
        public var from: Timestamp?
        /// Records that start before this.
        public var to: Timestamp?
        /// The ends of a record that must themselves lie within `from` and `to`.
        public var strict: Set<SpanEnd> = []
        public var group: String?
        /// The hub's numbers of records.
        public var numbers: [Int64]?
        /// `where`: a further condition on records.
        public var condition: Condition?

        public init() {}
    }

    /// The client's number of the query; the answer returns it.
    public var id: Int64
    public var want: Subject
    public var filter: Filter
    /// Asks for the latest version of everything that changed after it, including retractions.
    public var since: Cursor?
    /// The order; `nil` leaves it to the hub, which uses `sequence`.
    public var order: Order?
    /// Whether to return only the sample with the latest end for each person and type.
    public var isLatest = false
    /// Whether each record should list records of other sources about the same event.
    public var marksMirrors = false
    /// Maximum number of records in all pages together.
    public var limit: Int64?
    /// The mark of the previous page, exactly as received.
    public var next: String?
    /// With `trace`: the record.
    public var number: Int64?
    /// With `statistics`: the names of the figures; by default those that fit the type best.
    public var figures: [String]?
    /// With `statistics`: the interval of each result; by default one result for the whole span.
    public var interval: StatisticsInterval?
    /// With `logs`: the instance.
    public var instance: String?

    public init(
        id: Int64, want: Subject = .records, filter: Filter = Filter(), since: Cursor? = nil, order: Order? = nil,
        limit: Int64? = nil, next: String? = nil, number: Int64? = nil
    ) {
        (self.id, self.want, self.filter, self.since) = (id, want, filter, since)
        (self.order, self.limit, self.next, self.number) = (order, limit, next, number)
    }

    /// The records that the kinds of the filter select; with `since` also their retractions.
    public var selection: KindSelection { KindSelection(filter.kinds.map(Set.init), followsChanges: since != nil) }
}

extension QueryRequest: BodyCoding {
    private static let members =
        ["id", "want"] + Filter.members
        + ["since", "order", "latest", "mirrors", "limit", "next", "number", "figures", "interval", "instance"]
    /// The members that a question about statistics may have.
    private static let statisticsMembers = [
        "id", "want", "types", "persons", "sources", "from", "to", "limit", "next", "figures", "interval",
    ]

    /// The members that a question about a log may have.
    private static let logMembers = ["id", "want", "instance", "limit", "from"]

    init(reading object: ObjectReader) throws(WireError) {
        try object.refuseOthers(than: Self.members)
        id = try object.integer("id")
        want = try object.word("want", as: Subject.self, code: .query)
        filter = try Filter(reading: object)
        since = try object.optional("since", "a string", object.string).map { text throws(WireError) in
            guard let cursor = Cursor(text) else {
                throw object.fault(
                    "since", "a cursor, <epoch>-<sequence>, as RESULT gives it", object.value("since"), show: .text,
                    code: .cursor)
            }
            return cursor
        }
        order = try Order.ifPresent(in: object)
        isLatest = try object.truthIfPresent("latest") ?? false
        marksMirrors = try object.truthIfPresent("mirrors") ?? false
        limit = try object.integerIfPresent("limit", in: 1...ObjectReader.safeIntegers.upperBound)
        next = try object.textIfPresent("next")
        number = try object.integerIfPresent("number")
        figures = try object.textsIfPresent("figures")
        interval = try object.objectIfPresent("interval")
        instance = try object.textIfPresent("instance")
        try check(object)
    }

    private func check(_ object: ObjectReader) throws(WireError) {
        if isLatest {
            let others = ["since", "order", "group", "implausible", "numbers"]
            if let other = others.first(where: { object.value($0) != nil }) {
                throw object.fault("latest", "no \(other) beside it", object.value("latest"), code: .query)
            }
            if filter.kinds?.contains(where: { !RecordKind.samples.contains($0) }) == true {
                throw object.fault("latest", "kinds of samples alone beside it", object.value("latest"), code: .query)
            }
        }
        if object.value("mirrors") != nil, since != nil || want != .records {
            let reason = want == .records ? "no since beside it" : "it only with want \"records\""
            throw object.fault("mirrors", reason, object.value("mirrors"), code: .query)
        }
        if since != nil, let order, order != .sequence {
            throw object.fault(
                "order", "\"sequence\" together with since", object.value("order"), show: .text, code: .query)
        }
        if want == .sources {
            let others = ["since", "order", "latest", "limit", "numbers"]
            if let other = others.first(where: { object.value($0) != nil }) {
                throw object.fault(other, "none with sources", object.value(other), code: .query)
            }
            if filter.kinds?.contains(.retraction) == true {
                throw object.fault("kinds", "no \"retraction\" with sources", object.value("kinds"), code: .query)
            }
        }
        if want == .statistics {
            try object.refuseOthers(than: Self.statisticsMembers)
        } else if let name = ["figures", "interval"].first(where: { object.value($0) != nil }) {
            throw object.fault(name, "it only with want \"statistics\"", object.value(name))
        }
        if want == .logs {
            try object.refuseOthers(than: Self.logMembers)
            guard let instance, PeerName.isValid(instance) else {
                throw object.fault("instance", "the instance whose log it is", object.value("instance"))
            }
            guard limit ?? 1 <= LogPage.maximumLines else {
                throw object.fault("limit", "at most \(LogPage.maximumLines) lines", object.value("limit"))
            }
        } else if instance != nil {
            throw object.fault("instance", "it only with want \"logs\"", object.value("instance"))
        }
        if want == .trace, number == nil {
            throw object.fault("number", "the number of the record to trace", nil)
        }
        if filter.isOfNoPerson, filter.persons != nil {
            throw object.fault("nobody", "no persons beside it", object.value("nobody"), code: .query)
        }
        if filter.isGuest == true, filter.persons != nil {
            throw object.fault("guest", "no persons beside true", object.value("guest"), code: .query)
        }
        try ConditionReader.check(filter.from, filter.to, object)
        guard let condition = filter.condition else { return }
        // A retraction meets no condition. A record does not change itself when its group changes, so a follower would miss that.
        if filter.kinds?.contains(.retraction) == true {
            throw object.fault("where", "no kind \"retraction\" beside it", object.value("where"), code: .query)
        }
        if since != nil, condition.isOfGroup {
            throw object.fault(
                "where", "no total, partOf or contains with since", object.value("where"), code: .query)
        }
    }

    func write(to body: inout ObjectWriter) {
        body.member("id", integer: id)
        body.member("want", text: want.rawValue)
        filter.write(to: &body)
        body.member("since", text: since?.description)
        order?.write(to: &body)
        body.member("latest", truth: isLatest ? true : nil)
        body.member("mirrors", truth: marksMirrors ? true : nil)
        body.member("limit", integer: limit)
        body.member("next", text: next)
        body.member("number", integer: number)
        body.member("figures", texts: figures)
        body.member("interval", object: interval)
        body.member("instance", text: instance)
    }
}

extension QueryRequest.Order {
    private static let allowed =
        "\"sequence\", or one of \(SortKey.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")), or an array of one by time and one by end"

    fileprivate static func ifPresent(in object: ObjectReader) throws(WireError) -> QueryRequest.Order? {
        try object.optional("order", allowed, show: .text) { value throws(WireError) in
            if let word = object.string(value) {
                return word == "sequence" ? .sequence : SortKey(rawValue: word).map { .by([$0]) }
            }
            let words = try object.elements(value)?.compactMap(object.string) ?? []
            let keys = words.compactMap(SortKey.init(rawValue:))
            guard try object.elements(value)?.count == keys.count, (1...2).contains(keys.count),
                Set(keys.map(\.end)).count == keys.count
            else { return nil }
            return .by(keys)
        }
    }

    fileprivate func write(to body: inout ObjectWriter) {
        switch self {
        case .sequence: body.member("order", text: "sequence")
        case .by(let keys) where keys.count == 1: body.member("order", text: keys[0].rawValue)
        case .by(let keys): body.member("order", texts: keys.map(\.rawValue))
        }
    }
}

extension QueryRequest.Filter: BodyCoding {
    fileprivate static let members = [
        "types", "persons", "sources", "kinds", "nobody", "guest", "implausible", "from", "to", "strict", "group",
        "numbers",
        "where",
    ]

    init(reading object: ObjectReader) throws(WireError) {
        types = try object.textsIfPresent("types")
        persons = try object.textsIfPresent("persons")
        sources = try object.textsIfPresent("sources")
        kinds = try QueryRequest.Kind.list("kinds", in: object)
        isOfNoPerson = try object.truthIfPresent("nobody") ?? false
        isGuest = try object.truthIfPresent("guest")
        isImplausible = try object.truthIfPresent("implausible") ?? false
        from = try object.timeIfPresent("from")
        to = try object.timeIfPresent("to")
        strict = try ConditionReader.strict(object)
        group = try object.textIfPresent("group")
        numbers = try object.integersIfPresent("numbers")
        condition = try ConditionReader.condition(of: object)
    }

    func write(to body: inout ObjectWriter) {
        body.member("types", texts: types)
        body.member("persons", texts: persons)
        body.member("sources", texts: sources)
        body.member("kinds", texts: kinds?.map(\.rawValue))
        body.member("nobody", truth: isOfNoPerson ? true : nil)
        body.member("guest", truth: isGuest)
        body.member("implausible", truth: isImplausible ? true : nil)
        body.member("from", time: from)
        body.member("to", time: to)
        body.member("strict", texts: SpanEnd.texts(strict))
        body.member("group", text: group)
        body.member("numbers", integers: numbers)
        body.member("where", raw: condition?.json)
    }
}

extension QueryRequest.Kind {
    static func list(_ name: String, in object: ObjectReader) throws(WireError) -> [QueryRequest.Kind]? {
        guard let words = try object.textsIfPresent(name) else { return nil }
        let kinds = words.compactMap(QueryRequest.Kind.init(rawValue:))
        guard kinds.count == words.count else {
            throw object.fault(name, "an array of \(object.oneOf(QueryRequest.Kind.self))", object.value(name))
        }
        return kinds
    }
}

/// RESULT: one page of an answer, or the answer to one of the owner's questions (Protocol §8.1).
public struct QueryResult: Hashable, Sendable {
    public enum Content: Hashable, Sendable {
        /// `next` is present exactly if there may be more; then `cursor` is not that of the last page.
        case records(RawRecords, next: String?, cursor: Cursor?)
        /// Any JSON value, in a member with the name of `want`.
        case answer(QueryRequest.Subject, RawJSON)
    }

    /// The id of the QUERY.
    public var id: Int64
    public var content: Content

    public init(id: Int64, content: Content) {
        (self.id, self.content) = (id, content)
    }
}

extension QueryResult: BodyCoding {
    init(reading object: ObjectReader) throws(WireError) {
        id = try object.integer("id")
        for subject in QueryRequest.Subject.allCases where subject != .records {
            guard let value = object.value(subject.rawValue) else { continue }
            content = .answer(subject, object.raw(value))
            return
        }
        let cursor: Cursor? = try object.optional("cursor", "a cursor, <epoch>-<sequence>", show: .text) { value in
            object.string(value).flatMap { Cursor($0) }
        }
        content = .records(try object.records("records"), next: try object.textIfPresent("next"), cursor: cursor)
    }

    func write(to body: inout ObjectWriter) {
        body.member("id", integer: id)
        switch content {
        case .records(let records, let next, let cursor):
            body.member("records", records: records)
            body.member("next", text: next)
            body.member("cursor", text: cursor?.description)
        case .answer(let subject, let value): body.member(subject.rawValue, raw: value)
        }
    }
}
