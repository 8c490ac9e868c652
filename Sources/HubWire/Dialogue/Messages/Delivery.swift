public import Samples

/// WANT: a sink opens its durable subscription (Protocol §10, specified).
public struct WantRequest: Hashable, Sendable {
    /// Where a new subscription begins; of no meaning for one that exists.
    public enum Start: Hashable, Sendable {
        case now
        case beginning
        case after(Cursor)
    }

    /// The subscription's name, the sink's choice.
    public var want: String
    public var types: [String]?
    public var kinds: [QueryRequest.Kind]?
    public var persons: [String]?
    public var start: Start
    /// What the hub may have on its way to the sink.
    public var credit: Credit

    public init(
        want: String, types: [String]? = nil, kinds: [QueryRequest.Kind]? = nil, persons: [String]? = nil, start: Start,
        credit: Credit
    ) {
        (self.want, self.types, self.kinds) = (want, types, kinds)
        (self.persons, self.start, self.credit) = (persons, start, credit)
    }
}

extension WantRequest: BodyCoding {
    init(reading object: ObjectReader) throws(WireError) {
        want = try object.text("want")
        types = try object.textsIfPresent("types")
        kinds = try QueryRequest.Kind.list("kinds", in: object)
        persons = try object.textsIfPresent("persons")
        start = try object.required("start", "\"now\", \"beginning\" or a cursor", show: .text) { value in
            switch object.string(value) {
            case "now"?: .now
            case "beginning"?: .beginning
            case let text?: Cursor(text).map(Start.after)
            case nil: nil
            }
        }
        credit = try object.object("credit")
    }

    func write(to body: inout ObjectWriter) {
        body.member("want", text: want)
        body.member("types", texts: types)
        body.member("kinds", texts: kinds?.map(\.rawValue))
        body.member("persons", texts: persons)
        switch start {
        case .now: body.member("start", text: "now")
        case .beginning: body.member("start", text: "beginning")
        case .after(let cursor): body.member("start", text: cursor.description)
        }
        body.member("credit", object: credit)
    }
}

/// DELIVER: records for a sink (Protocol §10, specified).
public struct Delivery: Hashable, Sendable {
    /// The subscription's name.
    public var want: String
    /// The hub's number of the delivery; comes back in DONE.
    public var delivery: Int64
    public var records: RawRecords

    public init(want: String, delivery: Int64, records: RawRecords) {
        (self.want, self.delivery, self.records) = (want, delivery, records)
    }
}

extension Delivery: BodyCoding {
    init(reading object: ObjectReader) throws(WireError) {
        want = try object.text("want")
        delivery = try object.integer("delivery")
        records = try object.records("records")
    }

    func write(to body: inout ObjectWriter) {
        body.member("want", text: want)
        body.member("delivery", integer: delivery)
        body.member("records", records: records)
    }
}

/// What a sink did with one record of a delivery.
public enum DeliveryResult: Hashable, Sendable {
    /// The target has it; `receipt` is the target's own name for it.
    case delivered(receipt: String?)
    /// Try again after so many milliseconds.
    case retry(after: Int64, reason: String?)
    /// The target will never take it.
    case refused(reason: String)
    /// The sink's log-in at the target has failed; a person must repair it.
    case unauthorized(reason: String)
}

/// DONE: a sink's answer to a delivery (Protocol §10, specified).
public struct DeliveryReport: Hashable, Sendable {
    public var want: String
    public var delivery: Int64
    /// One per record, in their order.
    public var results: [DeliveryResult]
    /// What the hub may send in addition.
    public var credit: Credit

    public init(want: String, delivery: Int64, results: [DeliveryResult], credit: Credit) {
        (self.want, self.delivery, self.results, self.credit) = (want, delivery, results, credit)
    }
}

extension DeliveryReport: BodyCoding {
    init(reading object: ObjectReader) throws(WireError) {
        want = try object.text("want")
        delivery = try object.integer("delivery")
        results = try object.objects("results")
        credit = try object.object("credit")
    }

    func write(to body: inout ObjectWriter) {
        body.member("want", text: want)
        body.member("delivery", integer: delivery)
        body.member("results", objects: results)
        body.member("credit", object: credit)
    }
}

extension DeliveryResult: BodyCoding {
    private enum Word: String, CaseIterable { case delivered, retry, refused, auth }

    init(reading object: ObjectReader) throws(WireError) {
        switch try object.word("result", as: Word.self) {
        case .delivered: self = .delivered(receipt: try object.textIfPresent("receipt"))
        case .retry: self = .retry(after: try object.integer("after"), reason: try object.textIfPresent("reason"))
        case .refused: self = .refused(reason: try object.text("reason"))
        case .auth: self = .unauthorized(reason: try object.text("reason"))
        }
    }

    func write(to body: inout ObjectWriter) {
        switch self {
        case .delivered(let receipt):
            body.member("result", text: Word.delivered.rawValue)
            body.member("receipt", text: receipt)
        case .retry(let after, let reason):
            body.member("result", text: Word.retry.rawValue)
            body.member("after", integer: after)
            body.member("reason", text: reason)
        case .refused(let reason):
            body.member("result", text: Word.refused.rawValue)
            body.member("reason", text: reason)
        case .unauthorized(let reason):
            body.member("result", text: Word.auth.rawValue)
            body.member("reason", text: reason)
        }
    }
}
