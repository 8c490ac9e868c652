/// The endpoint through which a peer came (Protocol §2).
public enum Endpoint: Hashable, Sendable {
    /// Opening the socket proves ownership of the data; no log-in.
    case owner
    /// Logged in with this instance's launch token.
    case plugin(user: String)
    /// Over the network, with this instance's key; nil if no key is required, and only remote instances may come.
    case remote(user: String?)

    public var isRemote: Bool { if case .remote = self { true } else { false } }

    /// The only instance that may say HELLO here; nil if it is not known.
    public var user: String? {
        switch self {
        case .owner: nil
        case .plugin(let user): user
        case .remote(let user): user
        }
    }
}

/// The policy that all sessions of a hub share.
public struct SessionPolicy: Hashable, Sendable {
    public var limits: Limits
    public var credit: Credit
    public var heartbeat: Heartbeat
    public var serves: Set<Verb>
    /// Maximum number of commands that a session may have open at a time; one more is `busy`.
    public var commands: Int
    /// Maximum number of TOKEN and TOKEN-PUT messages that a session may have open at a time; one more is `busy`.
    public var tokens: Int
    /// Why the hub takes no records now; nil if it takes them.
    public var recordsRefusal: String?

    public init(
        limits: Limits = Limits(), credit: Credit = .window, heartbeat: Heartbeat = Heartbeat(),
        serves: Set<Verb> = Verb.fromClient, commands: Int = 16, tokens: Int = 8
    ) {
        (self.limits, self.credit, self.heartbeat) = (limits, credit, heartbeat)
        (self.serves, self.commands, self.tokens) = (serves, commands, tokens)
    }
}

/// Action of the hub on an event of a session; the actions of an array are carried out in order.
public enum SessionAction: Hashable, Sendable {
    /// Send this to the peer, and report its size by `sent`.
    case reply(HubMessage)
    /// Act on this message: LIVE and EVENT within the allowance, WANT, DONE, QUERY, COMMAND, PROGRESS, OUTCOME and, once served, TOKEN.
    case admit(ClientMessage)
    /// Store the batch and answer it.
    case store(batch: Int64)
    /// Forget the session, which is over, and everything that waits for it.
    case end(SessionEnd)
}

/// Why a session is over.
public enum SessionEnd: Hashable, Sendable {
    /// The peer said BYE and was answered.
    case bye
    /// The hub sent the peer an ERROR with this code.
    case refused(WireError.Code)
    /// A newer session of the instance began, here or on another routing id.
    case replaced
    /// Nothing was heard for `heartbeat.timeout` (R4.6).
    case silent
    /// The peer has not proved to have read 4 MiB that were sent (R4.20).
    case unread
    /// The transport says that the peer is gone.
    case gone
}

/// A request that the hub still has to answer.
public enum SessionRequest: Hashable, Sendable {
    case batch(Int64)
    case query(Int64)
    case command(Int64)
    case token(Int64)
}

/// The ROUTER's name for a peer.
///
/// The names that libzmq makes have five bytes. Up to seven bytes fit into one word, because every message is looked up by its sender.
public struct RoutingID: Hashable, Sendable, ExpressibleByArrayLiteral {
    /// The bytes, then their number; `beyond` for a longer name.
    private let word: UInt64
    private let long: [UInt8]?

    private static let beyond = UInt64.max
    private static let longestWord = 7

    /// The name that these bytes spell.
    public init(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count <= Self.longestWord else {
            (word, long) = (Self.beyond, Array(bytes))
            return
        }
        word = bytes.reduce(0) { $0 << 8 | UInt64($1) } << 8 | UInt64(bytes.count)
        long = nil
    }

    public init(arrayLiteral bytes: UInt8...) { self = bytes.withUnsafeBytes { RoutingID($0) } }

    /// Lends the bytes for the length of `body`.
    public func withUnsafeBytes<Value>(_ body: (UnsafeRawBufferPointer) -> Value) -> Value {
        if let long { return long.withUnsafeBytes(body) }
        let count = Int(word & 0xFF)
        return Swift.withUnsafeBytes(of: word.bigEndian) { bytes in
            body(UnsafeRawBufferPointer(rebasing: bytes[(Self.longestWord - count)..<Self.longestWord]))
        }
    }

    public static func == (left: RoutingID, right: RoutingID) -> Bool {
        left.word == right.word && (left.word != beyond || left.long == right.long)
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(word)
        if let long { hasher.combine(long) }
    }
}
