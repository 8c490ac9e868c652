import HubWire
import ZeroMQ

/// One XPUB socket, and the subscriptions of its listeners.
///
/// The owner has one feed, and each instance that may listen has its own: ``ReadGrant`` decides for each message whether an instance may
/// read it, and the listeners of different instances share nothing. A single socket in XPUB's manual mode would need fewer sockets. But in
/// libzmq 4.3.4 a message other than a subscription gives one peer's subscription to another, and a listener that leaves too soon crashes
/// the process (`LibraryFactsTests` shows the former).
///
/// Used on the door's thread only, as ``Feeds`` is.
final class Feed {
    /// The peers that may connect.
    enum Security: Hashable {
        /// All peers that can open the socket.
        case open
        /// The processes of one instance, by launch token; the gate gets this domain.
        case token(domain: String)
        /// The instance on another machine, by its key; the secret key is the hub's.
        case key(CurveSecretKey, domain: String)
        /// Any program of this machine, with `insecure = true`.
        case anyone(domain: String)
    }

    let endpoint: String
    /// The records that its listeners may read; `nil` for all.
    var grant: ReadGrant? { didSet { changes.note() } }
    /// The values of `previous` for topics that also carry records which its listeners may not read.
    var shared: SharedTopics
    private let security: Security
    private(set) var audience: Subscriptions { didSet { changes.note() } }
    private let changes: FeedChanges
    private var socket: Socket?
    /// The bytes that may wait for a listener that does not read.
    private(set) var volume = FeedVolume(ofLast: 0)
    /// Whether the log already has the failure to open the feed.
    var hasFailed = false

    /// - Parameter head: the head of the store.
    init(_ endpoint: String, _ security: Security, grant: ReadGrant? = nil, from head: Int64, changes: FeedChanges) {
        (self.endpoint, self.security, self.grant, self.changes) = (endpoint, security, grant, changes)
        shared = SharedTopics(from: head)
        audience = Subscriptions(grant == nil ? .owner : .instance)
    }

    /// Whether other machines can reach it.
    var isOnNetwork: Bool {
        switch security {
        case .open, .token: false
        case .key, .anyone: true
        }
    }

    var isOpen: Bool { socket != nil }

    /// Binds the socket; `subscribed` is called on the loop when there are subscriptions to read.
    ///
    /// - Parameter queue: the maximum number of messages that wait for a listener; messages beyond it are dropped for that listener alone (R7.5).
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

    /// Closes the socket, which ends the connections of all listeners.
    func close() {
        socket = nil
        volume = FeedVolume(ofLast: 0)
        audience = Subscriptions(audience.bound)
    }

    /// Reads subscriptions of listeners, a limited number at a time.
    ///
    /// - Returns: the prefixes that are new.
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

    /// Whether a listener wants the topic and may read it, by the hub's clock.
    func wants(_ topic: Topic, for readership: Readership, by clock: HubClock) -> Bool {
        socket != nil && audience.wants(topic) && grant?.allows(readership, by: clock) ?? true
    }

    /// Whether a listener wants topics that may also carry records which it may not read.
    var listensToSharedTopics: Bool {
        guard socket != nil, !audience.isEmpty else { return false }
        return grant?.history != nil || audience.canWant(ReadGrant.sharedPrefixes)
    }

    /// Sends a message to the listeners; a listener that does not read may lose it, without effect on others (R7.5).
    func send(_ frames: inout Multipart) throws(ZeroMQError) {
        volume.add(messages: 1, bytes: frames.byteCount)
        _ = try socket?.sendMultipart(&frames)
    }

    /// Sends several messages with the same number of frames, as if they were sent one by one.
    func send(_ messages: inout Multipart, framesEach frames: Int) throws(ZeroMQError) {
        volume.add(messages: messages.count / frames, bytes: messages.byteCount)
        try socket?.sendMessages(&messages, framesEach: frames)
    }
}

/// Counts the changes on all feeds that affect which listener gets which message; decisions made at an older count are invalid.
final class FeedChanges {
    private(set) var count = 0

    func note() { count += 1 }
}
