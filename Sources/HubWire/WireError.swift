/// What an ERROR message says (Protocol §9.1): why a message was not accepted, and whether the session has ended.
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

        /// A code as another peer spells it; codes of a later version are kept as they are.
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

        /// No session: say HELLO and send again what was not STORED.
        public static let helloFirst = Code(.helloFirst)
        /// A newer session of this instance has begun.
        public static let replaced = Code(.replaced)
        /// No common protocol version.
        public static let version = Code(.version)
        /// The instance or plugin name has a wrong form, or is not configured.
        public static let instance = Code(.instance)
        /// Not allowed on this endpoint or by grant.
        public static let forbidden = Code(.forbidden)
        /// Too few frames, or frames a verb does not have.
        public static let frames = Code(.frames)
        /// A verb this protocol does not have.
        public static let verb = Code(.verb)
        /// A body that is not one JSON object.
        public static let json = Code(.json)
        /// A member that is missing or has the wrong type.
        public static let field = Code(.field)
        /// Beyond the credit that was given.
        public static let credit = Code(.credit)
        /// Beyond a limit of WELCOME.
        public static let limit = Code(.limit)
        /// Too many open queries or commands.
        public static let busy = Code(.busy)
        /// A question that cannot be answered as put.
        public static let query = Code(.query)
        /// A cursor or page mark of another form.
        public static let cursor = Code(.cursor)
        /// A cursor of another epoch.
        public static let epoch = Code(.epoch)
        /// Specified, but not served by this hub.
        public static let unsupported = Code(.unsupported)
        /// The store cannot commit now; send again.
        public static let store = Code(.store)
        /// The hub is stopping; keep the records.
        public static let stopping = Code(.stopping)
        /// The hub's own fault; it is in its log.
        public static let `internal` = Code(.internal)

        public var description: String { rawValue }

        /// Whether an ERROR of this code ends the session; `forbidden` and the codes of §3 also do when they refuse a HELLO.
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
    /// A sentence for people.
    ///
    /// Never holds a health value or a token (R12.1).
    public var reason: String
    /// Whether the session has ended with this message.
    public var closed: Bool
    /// The `batch`, `id` or `delivery` of the message this answers.
    public var ref: Int64?
    /// The subscription of the WANT or DONE this answers.
    public var want: String?
    /// With `store`: milliseconds to wait before sending the batch again.
    public var after: Int64?
    /// Credit that comes back, because the batch it was spent on was not accepted.
    public var credit: Credit?
    /// With `epoch`: the hub's own.
    public var epoch: String?

    /// - Parameter closed: as the table of Protocol §9.1 says for `code`, unless given.
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
