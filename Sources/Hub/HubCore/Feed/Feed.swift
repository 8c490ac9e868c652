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
    func wants(_ topic: Topic, for readership: AllowedReaders, by clock: HubClock) -> Bool {
        socket != nil && audience.wants(topic) && grant?.allows(readership, by: clock) ?? true
    }

    /// Whether a listener wants topics that may also carry records which it may not read.
    var listensToSharedTopics: Bool {
        guard socket != nil, !audience.isEmpty else { return false }
        return grant?.history != nil || audience.canMatchAny(ReadGrant.sharedPrefixes)
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

/// The subscriptions of one feed, as XPUB reports them: the first subscription to a prefix, and the end of the last.
///
/// They save work and detect excess; XPUB itself decides which listener gets a message. If it is not certain, a topic counts as wanted.
struct Subscriptions {
    /// Maximum number of different prefixes, and of their bytes together.
    ///
    /// libzmq keeps them in a tree with a node per byte, without a limit.
    struct Bound: Hashable {
        var prefixes: Int
        var bytes: Int

        /// About 60 MB of libzmq's memory, at worst.
        static let owner = Bound(prefixes: 100_000, bytes: 1_048_576)
        /// About 4 MB.
        static let instance = Bound(prefixes: 1_000, bytes: 65_536)
    }

    /// Maximum number of prefixes that are examined; more would cost every record more than encoding it in vain.
    static let examined = 256

    let bound: Bound
    private(set) var prefixes: Set<[UInt8]> = []
    private var bytes = 0
    /// Whether all reports of XPUB were read.
    var isKnown = true

    init(_ bound: Bound) { self.bound = bound }

    /// Whether there are more subscriptions than the bound allows.
    var isTooLarge: Bool { prefixes.count > bound.prefixes || bytes > bound.bytes }

    /// Takes a message that a subscriber caused: 1 or 0, and a prefix.
    ///
    /// Any other message means nothing to a publisher, and is ignored.
    /// - Returns: the prefix, if there was no subscription to it before.
    @discardableResult
    mutating func heard(_ message: [UInt8]) -> [UInt8]? {
        let prefix = Array(message.dropFirst())
        switch message.first {
        case 1:
            guard prefixes.insert(prefix).inserted else { return nil }
            bytes += prefix.count
            return prefix
        case 0:
            if prefixes.remove(prefix) != nil { bytes -= prefix.count }
            return nil
        default: return nil
        }
    }

    /// Whether it is certain that no listener wants anything.
    var isEmpty: Bool { isKnown && prefixes.isEmpty }

    /// Whether a listener may want a topic that begins with one of these.
    func canMatchAny(_ beginnings: [[UInt8]]) -> Bool {
        guard isKnown, prefixes.count <= Self.examined else { return true }
        return prefixes.contains { prefix in
            beginnings.contains { prefix.starts(with: $0) || $0.starts(with: prefix) }
        }
    }

    func wants(_ topic: Topic) -> Bool {
        guard isKnown, prefixes.count <= Self.examined else { return true }
        return prefixes.contains { topic.text.utf8.starts(with: $0) }
    }
}

/// The values of `previous` on an instance's feed for topics that also carry records which it may not read; they hide those records (R7.30).
struct SharedTopics {
    /// The head at the beginning: earlier sequences of topics are not known, so a follower that began earlier has to ask.
    private var base: Int64
    /// The last sequence after ``base`` that the instance may read, by topic.
    private var last: [Topic: Int64] = [:]

    /// Maximum number of topics that are remembered.
    static let most = 10_000

    /// - Parameter head: the head of the store; a record that is published later may still be of an earlier commit.
    init(from head: Int64) { base = head }

    /// Notes a record that the instance may read, whether it is published or not.
    ///
    /// - Returns: the previous sequence on its topic, as the instance sees it.
    mutating func pass(_ topic: Topic, _ sequence: Int64) -> Int64 {
        let previous = min(max(base, last[topic] ?? 0), sequence - 1)
        if last.count >= Self.most, last[topic] == nil {
            base = max(base, last.values.max() ?? 0)
            last.removeAll()
        }
        last[topic] = sequence
        return previous
    }
}

/// The bytes of the last messages of a feed, which is the maximum that may wait for a listener that does not read.
///
/// libzmq only bounds the number of messages that wait for a listener. The bytes are counted in pieces, at almost no cost per message.
struct FeedVolume {
    private static let pieces = 16

    /// Minimum number of messages that are counted.
    private let messages: Int
    private var newest = (messages: 0, bytes: 0)
    private var older = FIFO<Int>()
    private var olderCount = 0
    private(set) var bytes = 0

    /// - Parameter messages: the maximum number of messages that wait for a listener.
    init(ofLast messages: Int) { self.messages = max(Self.pieces, messages) }

    mutating func add(messages count: Int, bytes added: Int) {
        newest.messages += count
        newest.bytes += added
        bytes += added
        guard newest.messages >= messages / Self.pieces else { return }
        older.append(newest.bytes)
        olderCount += 1
        newest = (0, 0)
        if olderCount > Self.pieces {
            bytes -= older.popFirst() ?? 0
            olderCount -= 1
        }
    }
}
