/// What an ERROR message says (Protocol §9.1): why a message was not accepted, and whether the session has ended.
public struct WireError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The codes of Protocol §9.1.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The word on the wire.
        public let rawValue: String

        private init(_ rawValue: String) { self.rawValue = rawValue }

        /// A code as another peer spells it; codes of a later version are kept as they are.
        public init(received rawValue: String) { self.rawValue = rawValue }

        /// No session: say HELLO and send again what was not STORED.
        public static let helloFirst = Code("hello-first")
        /// A newer session of this instance has begun.
        public static let replaced = Code("replaced")
        /// No common protocol version.
        public static let version = Code("version")
        /// The instance or plugin name has a wrong form, or is not configured.
        public static let instance = Code("instance")
        /// Not allowed on this endpoint or by grant.
        public static let forbidden = Code("forbidden")
        /// Too few frames, or frames a verb does not have.
        public static let frames = Code("frames")
        /// A verb this protocol does not have.
        public static let verb = Code("verb")
        /// A body that is not one JSON object.
        public static let json = Code("json")
        /// A member that is missing or has the wrong type.
        public static let field = Code("field")
        /// Beyond the credit that was given.
        public static let credit = Code("credit")
        /// Beyond a limit of WELCOME.
        public static let limit = Code("limit")
        /// Too many open queries.
        public static let busy = Code("busy")
        /// A question that cannot be answered as put.
        public static let query = Code("query")
        /// A cursor or page mark of another form.
        public static let cursor = Code("cursor")
        /// A cursor of another epoch.
        public static let epoch = Code("epoch")
        /// Specified, but not served by this hub.
        public static let unsupported = Code("unsupported")
        /// The store cannot commit now.
        public static let store = Code("store")
        /// The hub is stopping; keep the records.
        public static let stopping = Code("stopping")
        /// The hub's own fault.
        public static let `internal` = Code("internal")

        public var description: String { rawValue }
    }

    public var code: Code
    /// A sentence for people.
    ///
    /// Never holds a health value or a token.
    public var reason: String
    /// Whether the session has ended with this message.
    public var closed: Bool
    /// The `batch` or `id` of the message this answers.
    public var ref: Int64?

    public init(_ code: Code, _ reason: String, closed: Bool = false, ref: Int64? = nil) {
        self.code = code
        self.reason = reason
        self.closed = closed
        self.ref = ref
    }

    public var description: String { "\(code): \(reason)" }
}
