/// DELIVER: records for a sink (Protocol §10.2).
public struct Delivery: Hashable, Sendable {
    /// The subscription's name.
    public var want: String
    /// The hub's number of the delivery; DONE returns it.
    public var delivery: Int64
    public var records: RawRecords

    public init(want: String, delivery: Int64, records: RawRecords) {
        (self.want, self.delivery, self.records) = (want, delivery, records)
    }

    /// The credit of the sink that it uses: its records, and the bytes of its body (R10.1).
    public var cost: Credit {
        let envelope = Delivery(want: want, delivery: delivery, records: RawRecords()).encoded()
        return Credit(records: records.count, bytes: envelope.count + records.joined.count)
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

/// A sink's result for one record of a delivery.
public enum DeliveryResult: Hashable, Sendable {
    /// The target has it; `receipt` is the target's name for it.
    case delivered(receipt: String?)
    /// Try again after this many milliseconds by the hub's clock.
    case retry(after: Int64, reason: String?)
    /// The target will never take it.
    case refused(reason: String)
    /// The sink's log-in at the target has failed; a person must repair it.
    case unauthorized(reason: String)

    /// Delivered to a target that gives no name for it.
    public static let delivered = DeliveryResult.delivered(receipt: nil)

    /// The bounds of `after`, in milliseconds; values outside are replaced by the nearer bound (R10.16).
    public static let retryBounds: ClosedRange<Int64> = 100...604_800_000
    /// Maximum number of bytes that the hub keeps of a receipt or reason (R10.15).
    public static let textBytes = 1_024
}

/// DONE: a sink's answer to a delivery (Protocol §10.2).
public struct DeliveryReport: Hashable, Sendable {
    public var want: String
    public var delivery: Int64
    /// One per record, in order.
    public var results: [DeliveryResult]
    /// The additional credit for the hub.
    public var credit: Credit
    /// The sink wants nothing of this subscription for this many milliseconds by the hub's clock, because its target is unreachable.
    public var pause: Int64?

    public init(want: String, delivery: Int64, results: [DeliveryResult], credit: Credit, pause: Int64? = nil) {
        (self.want, self.delivery, self.results, self.credit) = (want, delivery, results, credit)
        self.pause = pause
    }
}

extension DeliveryReport: BodyCoding {
    init(reading object: ObjectReader) throws(WireError) {
        want = try object.text("want")
        delivery = try object.integer("delivery")
        results = try object.objects("results")
        credit = try object.object("credit")
        pause = try object.integerIfPresent("pause")
    }

    func write(to body: inout ObjectWriter) {
        body.member("want", text: want)
        body.member("delivery", integer: delivery)
        body.member("results", objects: results)
        body.member("credit", object: credit)
        body.member("pause", integer: pause)
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
