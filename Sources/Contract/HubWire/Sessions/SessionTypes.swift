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
