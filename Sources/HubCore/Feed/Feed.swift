import HubWire
import ZeroMQ

/// One XPUB socket, and what those who listen on it subscribe to.
///
/// The owner has one, and each instance that may listen has its own: what an instance may read is decided for each message before it
/// is sent (``ReadGrant``), and one instance's listeners share nothing with those of another. A single socket in XPUB's manual mode would do
/// with fewer of them, but in libzmq 4.3.4 a message other than a subscription gives one peer's subscription to another, and a listener that
/// leaves too soon crashes the process (`LibraryFactsTests` shows the first).
///
/// Used on the door's thread only, as ``Feeds`` is.
final class Feed {
    /// Who may connect.
    enum Security: Hashable {
        /// All who may open the socket.
        case open
        /// The processes of one instance, by launch token; the gate is told this domain.
        case token(domain: String)
        /// The instance on another machine, by its key; this is the hub's own.
        case key(CurveSecretKey, domain: String)
        /// Any program of this machine, where `insecure = true`.
        case anyone(domain: String)
    }

    let endpoint: String
    /// What its listeners may read; `nil` is everything.
    var grant: ReadGrant? { didSet { changes.note() } }
    /// What `previous` is on topics of which its listeners may not read all.
    var shared: SharedTopics
    private let security: Security
    private(set) var audience: Subscriptions { didSet { changes.note() } }
    private let changes: FeedChanges
    private var socket: Socket?
    /// What may wait for a listener that does not read.
    private(set) var volume = FeedVolume(ofLast: 0)
    /// Whether the log says that it cannot be opened.
    var hasFailed = false

    /// - Parameter head: of the store.
    init(_ endpoint: String, _ security: Security, grant: ReadGrant? = nil, from head: Int64, changes: FeedChanges) {
        (self.endpoint, self.security, self.grant, self.changes) = (endpoint, security, grant, changes)
        shared = SharedTopics(from: head)
        audience = Subscriptions(grant == nil ? .owner : .instance)
    }

    /// Whether other machines reach it.
    var isOnNetwork: Bool {
        switch security {
        case .open, .token: false
        case .key, .anyone: true
        }
    }

    var isOpen: Bool { socket != nil }

    /// Binds the socket; `subscribed` is called on the loop when there are subscriptions to read.
    ///
    /// - Parameter queue: so many messages wait for a listener at most; what exceeds it is dropped for that listener alone (R7.5).
    func open(in context: Context, on loop: PollLoop, queue: Int, _ subscribed: @escaping () -> Void)
        throws(ZeroMQError)
    {
        let socket = try Socket(.xpub, in: context)
        try socket.set(.maxMessageSize, to: 4_096)  // Only subscriptions come in.
        try socket.set(.sendHighWaterMark, to: queue)
        volume = FeedVolume(ofLast: queue)
        try socket.set(.linger, to: .milliseconds(500))
        switch security {
        case .open: try socket.set(.zapDomain, to: LaunchTokens.ownerDomain)
        case .token(let domain):
            try socket.set(.zapDomain, to: domain)
            try socket.set(.plainServer, to: true)
        case .key(let key, let domain):
            try socket.set(.zapDomain, to: domain)
            try socket.set(.curveServer, to: true)
            try socket.set(.curveSecretKey, to: key)
            try socket.set(.handshakeInterval, to: Network.patience)
            try socket.set(.backlog, to: Network.queue)
            try socket.set(.tcpKeepalive, to: true)
        case .anyone(let domain): try socket.set(.zapDomain, to: domain)
        }
        try socket.set(.ipv6, to: endpoint.hasPrefix("tcp://["))
        try socket.bind(endpoint)
        loop.watch(socket) { _ in subscribed() }
        self.socket = consume socket
        changes.note()
    }

    /// Ends the connections of all that listen here.
    func close() {
        socket = nil
        volume = FeedVolume(ofLast: 0)
        audience = Subscriptions(audience.bound)
    }

    /// Reads what listeners subscribed to, some of it at a time.
    ///
    /// - Returns: prefixes that are new.
    func readSubscriptions() throws(ZeroMQError) -> [[UInt8]] {
        var message = Message()
        var new: [[UInt8]] = []
        for _ in 0..<PollLoop.messagesPerTurn {
            guard try socket?.receive(into: &message) == true else {
                if !audience.isKnown { audience.isKnown = true }
                return new
            }
            if let prefix = audience.heard(message.bytes) { new.append(prefix) }
        }
        audience.isKnown = false
        return new
    }

    /// Whether there is a listener that wants it and may read it, by the hub's clock.
    func wants(_ topic: Topic, for readership: Readership, by clock: HubClock) -> Bool {
        socket != nil && audience.wants(topic) && grant?.allows(readership, by: clock) ?? true
    }

    /// Whether a listener wants topics that may carry what it may not read.
    var listensToSharedTopics: Bool {
        guard socket != nil, !audience.isEmpty else { return false }
        return grant?.history != nil || audience.canWant(ReadGrant.sharedPrefixes)
    }

    /// Sends what is wanted; a listener that does not read loses it, and no other (R7.5).
    func send(_ frames: inout Multipart) throws(ZeroMQError) {
        volume.add(messages: 1, bytes: frames.byteCount)
        _ = try socket?.sendMultipart(&frames)
    }

    /// Sends several messages of so many frames each, as if they were sent one by one.
    func send(_ messages: inout Multipart, framesEach frames: Int) throws(ZeroMQError) {
        volume.add(messages: messages.count / frames, bytes: messages.byteCount)
        try socket?.sendMessages(&messages, framesEach: frames)
    }
}

/// Counts what changes who gets which message, on all feeds together: what was decided at another count is to be decided again.
final class FeedChanges {
    private(set) var count = 0

    func note() { count += 1 }
}
