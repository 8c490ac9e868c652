/// The content of an ERROR message (Protocol §9.1): the reason for refusing a message, and whether the session has ended.
public struct WireError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The codes of Protocol §9.1.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Word: String {
            case helloFirst = "hello-first"
            case replaced, version, instance, forbidden, frames, verb, json, field, credit, limit, busy, query, cursor
            case epoch, unsupported, store, stopping, `internal`
        }
        private enum Value: Hashable {
            case known(Word)
            case other(String)
        }
        private let value: Value

        private init(_ word: Word) { value = .known(word) }

        /// A code in another peer's spelling; codes of a later version are kept.
        public init(received rawValue: String) {
            value = Word(rawValue: rawValue).map(Value.known) ?? .other(rawValue)
        }

        /// The word on the wire.
        public var rawValue: String {
            switch value {
            case .known(let word): word.rawValue
            case .other(let text): text
            }
        }

        /// No session: send HELLO and send again everything without STORED.
        public static let helloFirst = Code(.helloFirst)
        /// A newer session of this instance has begun.
        public static let replaced = Code(.replaced)
        /// No common protocol version.
        public static let version = Code(.version)
        /// The instance or plugin name has an invalid form or is not configured.
        public static let instance = Code(.instance)
        /// Not allowed on this endpoint, or not granted.
        public static let forbidden = Code(.forbidden)
        /// Too few frames, or frames that a verb does not have.
        public static let frames = Code(.frames)
        /// A verb that this protocol does not have.
        public static let verb = Code(.verb)
        /// A body that is not one JSON object.
        public static let json = Code(.json)
        /// A member that is missing or has the wrong type.
        public static let field = Code(.field)
        /// The client exceeded its credit.
        public static let credit = Code(.credit)
        /// The client exceeded a limit of WELCOME.
        public static let limit = Code(.limit)
        /// Too many open queries or commands.
        public static let busy = Code(.busy)
        /// A question that cannot be answered in this form.
        public static let query = Code(.query)
        /// A cursor or page mark with an invalid form.
        public static let cursor = Code(.cursor)
        /// A cursor of another epoch.
        public static let epoch = Code(.epoch)
        /// Specified, but not served by this hub.
        public static let unsupported = Code(.unsupported)
        /// The store cannot commit now; send again.
        public static let store = Code(.store)
        /// The hub is stopping; keep the records.
        public static let stopping = Code(.stopping)
        /// An internal fault of the hub; details are in its log.
        public static let `internal` = Code(.internal)

        public var description: String { rawValue }

        /// Whether an ERROR with this code ends the session; `forbidden` and the codes of §3 also do if they refuse a HELLO.
        public var closesSession: Bool {
            switch value {
            case .known(.helloFirst), .known(.replaced), .known(.version), .known(.instance), .known(.credit),
                .known(.limit):
                true
            default: false
            }
        }
    }

    public var code: Code
    /// One sentence for people.
    ///
    /// It never contains a health value or a token (R12.1).
    public var reason: String
    /// Whether this message ends the session.
    public var closed: Bool
    /// The `batch`, `id` or `delivery` of the message that it answers.
    public var ref: Int64?
    /// The subscription of the WANT or DONE that it answers.
    public var want: String?
    /// With `store`: milliseconds to wait before sending the batch again.
    public var after: Int64?
    /// Returned credit, because the batch that used it was not accepted.
    public var credit: Credit?
    /// With `epoch`: the hub's epoch.
    public var epoch: String?

    /// - Parameter closed: by default as in the table of Protocol §9.1 for `code`.
    public init(
        _ code: Code, _ reason: String, closed: Bool? = nil, ref: Int64? = nil, want: String? = nil,
        after: Int64? = nil, credit: Credit? = nil, epoch: String? = nil
    ) {
        (self.code, self.reason, self.closed, self.ref) = (code, reason, closed ?? code.closesSession, ref)
        self.want = want
        (self.after, self.credit, self.epoch) = (after, credit, epoch)
    }

    public var description: String { "\(code): \(reason)" }
}

extension WireError: BodyCoding {
    init(reading object: ObjectReader) throws(WireError) {
        self.init(
            Code(received: try object.text("code")), try object.text("reason"), closed: try object.truth("closed"),
            ref: try object.integerIfPresent("ref"), want: try object.textIfPresent("want"),
            after: try object.integerIfPresent("after"),
            credit: try object.objectIfPresent("credit"), epoch: try object.textIfPresent("epoch"))
    }

    func write(to body: inout ObjectWriter) {
        body.member("code", text: code.rawValue)
        body.member("reason", text: reason)
        body.member("closed", truth: closed)
        body.member("ref", integer: ref)
        body.member("want", text: want)
        body.member("after", integer: after)
        body.member("credit", object: credit)
        body.member("epoch", text: epoch)
    }
}
