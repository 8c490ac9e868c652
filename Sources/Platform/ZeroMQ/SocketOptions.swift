import CZeroMQ

// MARK: - Queues and sizes

extension SocketOption where Value == Int {
    /// Most messages (not bytes) queued towards each peer before a send would block or, for PUB and XPUB, drop; 0 is no
    /// limit.
    ///
    /// Default 1000.
    public static var sendHighWaterMark: Self { count(ZMQ_SNDHWM, "sendHighWaterMark") }
    /// Most messages queued from each peer before it is no longer read; 0 means no limit.
    ///
    /// Default 1000. Over `inproc://` the marks of both ends add up.
    public static var receiveHighWaterMark: Self { count(ZMQ_RCVHWM, "receiveHighWaterMark") }
    /// Connections the system queues for `tcp://` and `ipc://` before they are accepted.
    ///
    /// Default 100.
    public static var backlog: Self { count(ZMQ_BACKLOG, "backlog") }
    /// Probes without an answer before TCP ends a connection.
    ///
    /// Write it together with ``tcpKeepalive``.
    public static var tcpKeepaliveCount: Self { count(ZMQ_TCP_KEEPALIVE_CNT, "tcpKeepaliveCount") }
    /// Seconds without traffic before the first TCP probe.
    public static var tcpKeepaliveIdle: Self { count(ZMQ_TCP_KEEPALIVE_IDLE, "tcpKeepaliveIdle") }
    /// Seconds between TCP probes.
    public static var tcpKeepaliveInterval: Self { count(ZMQ_TCP_KEEPALIVE_INTVL, "tcpKeepaliveInterval") }

    private static func count(_ number: CInt, _ name: String) -> Self {
        Self(
            number: number, name: name, layout: .int, encode: { CInt(exactly: $0).map(OptionValue.int) },
            decode: { if case .int(let value) = $0 { Int(value) } else { nil } })
    }
}

extension SocketOption where Value == Int64? {
    /// Largest frame in bytes accepted from a peer; nil means no limit.
    ///
    /// A larger one ends the connection without an answer. Not applied to `inproc://` (libzmq 4.3.4).
    public static var maxMessageSize: Self {
        Self(
            number: ZMQ_MAXMSGSIZE, name: "maxMessageSize", layout: .long,
            encode: { size in size.map { $0 < 0 } == true ? nil : .long(size ?? -1) },
            decode: { if case .long(let value) = $0 { .some(value < 0 ? nil : value) } else { nil } })
    }
}

// MARK: - Behaviour

extension SocketOption where Value == Bool {
    /// ROUTER: report unknown peers and full queues instead of dropping.
    ///
    /// Off by default. Write only.
    public static var routerMandatory: Self { flag(ZMQ_ROUTER_MANDATORY, "routerMandatory") }
    /// ROUTER: a new peer with a routing id in use replaces the old one.
    ///
    /// Off by default. Write only.
    public static var routerHandover: Self { flag(ZMQ_ROUTER_HANDOVER, "routerHandover") }
    /// XPUB: subscriptions arrive as messages and take effect only by ``Socket/subscribe(_:)-(Sequence<UInt8>)``.
    ///
    /// Off by default. Write only.
    public static var xpubManual: Self { flag(ZMQ_XPUB_MANUAL, "xpubManual") }
    /// XPUB: report every subscription, also repeated ones.
    ///
    /// Off by default. Write only.
    public static var xpubVerbose: Self { flag(ZMQ_XPUB_VERBOSE, "xpubVerbose") }
    /// XPUB: report every subscription and every unsubscription.
    ///
    /// Off by default. Write only.
    public static var xpubVerboser: Self { flag(ZMQ_XPUB_VERBOSER, "xpubVerboser") }
    /// XPUB: a full subscriber's queue makes the send block for all instead of dropping for one.
    ///
    /// Off by default. Write only.
    public static var xpubNoDrop: Self { flag(ZMQ_XPUB_NODROP, "xpubNoDrop") }
    /// Queue only for connections that are complete.
    ///
    /// Off by default.
    public static var immediate: Self { flag(ZMQ_IMMEDIATE, "immediate") }
    /// `tcp://`: also IPv6 addresses.
    ///
    /// Off by default.
    public static var ipv6: Self { flag(ZMQ_IPV6, "ipv6") }
    /// Keep only the newest message, of one frame.
    ///
    /// Set it before bind or connect. Off by default.
    public static var conflate: Self { flag(ZMQ_CONFLATE, "conflate") }
    /// Greet a ROUTER with an empty message when connected, so that it knows the peer.
    ///
    /// Off by default. Write only.
    public static var probeRouter: Self { flag(ZMQ_PROBE_ROUTER, "probeRouter") }
    /// Be the PLAIN server: peers need a user name and password, checked by the ZAP handler (``ZAPRequest``).
    ///
    /// *Without a handler everyone is let in.* Off by default; false sets the mechanism back to NULL.
    public static var plainServer: Self { flag(ZMQ_PLAIN_SERVER, "plainServer") }
    /// Be the CURVE server.
    ///
    /// Off by default; needs ``SocketOption/curveSecretKey``.
    public static var curveServer: Self { flag(ZMQ_CURVE_SERVER, "curveServer") }

    private static func flag(_ number: CInt, _ name: String) -> Self {
        Self(
            number: number, name: name, layout: .int, encode: { .int($0 ? 1 : 0) },
            decode: { if case .int(let value) = $0 { value != 0 } else { nil } })
    }
}

extension SocketOption where Value == Bool? {
    /// TCP's own probes (`SO_KEEPALIVE`); nil leaves the system's default.
    public static var tcpKeepalive: Self {
        Self(
            number: ZMQ_TCP_KEEPALIVE, name: "tcpKeepalive", layout: .int,
            encode: { .int($0.map { $0 ? 1 : 0 } ?? -1) },
            decode: { if case .int(let value) = $0 { .some(value < 0 ? nil : value != 0) } else { nil } })
    }
}

// MARK: - Times, whole milliseconds, rounded up

extension SocketOption where Value == Duration {
    /// How long unsent messages are kept after the socket closes; also how long the context's end may wait for them.
    ///
    /// Zero by default here (libzmq's own default is for ever, which cannot be set).
    public static var linger: Self { duration(ZMQ_LINGER, "linger") }
    /// Between ZMTP pings on an idle connection; zero is none.
    ///
    /// Default zero.
    public static var heartbeatInterval: Self { duration(ZMQ_HEARTBEAT_IVL, "heartbeatInterval") }
    /// How long the *peer* should wait for our traffic before it ends the connection.
    ///
    /// Tenths of a second, at most 6553.5 s; zero: its own choice.
    public static var heartbeatTTL: Self { duration(ZMQ_HEARTBEAT_TTL, "heartbeatTTL") }
    /// Longest wait before a reconnect: the wait doubles up to it.
    ///
    /// Zero: always ``reconnectInterval``. Default zero.
    public static var reconnectIntervalMax: Self { duration(ZMQ_RECONNECT_IVL_MAX, "reconnectIntervalMax") }
    /// Longest a connection may take to complete its handshake, log-in included; zero means no limit.
    ///
    /// Default 30 s.
    public static var handshakeInterval: Self { duration(ZMQ_HANDSHAKE_IVL, "handshakeInterval") }
    /// Longest a TCP connect may take; zero leaves it to the system.
    ///
    /// Default zero.
    public static var connectTimeout: Self { duration(ZMQ_CONNECT_TIMEOUT, "connectTimeout") }

    private static func duration(_ number: CInt, _ name: String) -> Self {
        Self(
            number: number, name: name, layout: .int,
            encode: { value in
                CInt(exactly: value.millisecondsRoundedUp).flatMap { $0 < 0 ? nil : .int($0) }
            },
            decode: { if case .int(let value) = $0 { .milliseconds(Int64(value)) } else { nil } })
    }
}

extension SocketOption where Value == Duration? {
    /// Wait before reconnecting; nil: never reconnect.
    ///
    /// Default 100 ms.
    public static var reconnectInterval: Self { optionalDuration(ZMQ_RECONNECT_IVL, "reconnectInterval") }
    /// Silence after a ping that ends the connection; nil: as long as ``heartbeatInterval``.
    ///
    /// Default nil. libzmq takes no nil back once a time was set.
    public static var heartbeatTimeout: Self { optionalDuration(ZMQ_HEARTBEAT_TIMEOUT, "heartbeatTimeout") }

    private static func optionalDuration(_ number: CInt, _ name: String) -> Self {
        Self(
            number: number, name: name, layout: .int,
            encode: { value in
                guard let value else { return .int(-1) }
                return CInt(exactly: value.millisecondsRoundedUp).flatMap { $0 < 0 ? nil : .int($0) }
            },
            decode: {
                if case .int(let value) = $0 { .some(value < 0 ? nil : .milliseconds(Int64(value))) } else { nil }
            })
    }
}

// MARK: - Log-in and encryption

extension SocketOption where Value == String {
    /// PLAIN client: the user name, 1 to 255 bytes of UTF-8.
    ///
    /// Selects PLAIN.
    public static var plainUsername: Self { text(ZMQ_PLAIN_USERNAME, "plainUsername", 1...255) }
    /// PLAIN client: the password, 0 to 255 bytes of UTF-8.
    ///
    /// Selects PLAIN.
    public static var plainPassword: Self { text(ZMQ_PLAIN_PASSWORD, "plainPassword", 0...255) }
    /// The name passed to the ZAP handler; empty (default) asks it for PLAIN and CURVE only, never for NULL.
    public static var zapDomain: Self { text(ZMQ_ZAP_DOMAIN, "zapDomain", 0...255) }

    static var lastEndpoint: Self { text(ZMQ_LAST_ENDPOINT, "lastEndpoint", 0...255) }

    /// libzmq stores these with their length and reports them with a final NUL.
    private static func text(_ number: CInt, _ name: String, _ size: ClosedRange<Int>) -> Self {
        Self(
            number: number, name: name, layout: .bytes(capacity: 1024),
            encode: { size.contains($0.utf8.count) && !$0.utf8.contains(0) ? .bytes(Array($0.utf8)) : nil },
            decode: {
                guard case .bytes(let bytes) = $0 else { return nil }
                return String(validating: bytes.prefix { $0 != 0 }, as: UTF8.self)
            })
    }
}

extension SocketOption where Value == [UInt8] {
    /// The id by which a ROUTER knows this socket, 1 to 255 bytes, the first not zero.
    ///
    /// Leave it to the ROUTER: of two peers with the same id it silently ignores one.
    public static var routingID: Self {
        Self(
            number: ZMQ_ROUTING_ID, name: "routingID", layout: .bytes(capacity: 255),
            // libzmq names peers without an id itself, by a first byte of zero, and does not check here that no
            // other name begins with one.
            encode: { (1...255).contains($0.count) && $0.first != 0 ? .bytes($0) : nil },
            decode: { if case .bytes(let bytes) = $0 { bytes } else { nil } })
    }
}

extension SocketOption where Value == CurveKey {
    /// CURVE: the public key of this socket (client).
    public static var curvePublicKey: Self { key(ZMQ_CURVE_PUBLICKEY, "curvePublicKey") }
    /// CURVE client: the public key of the server.
    public static var curveServerKey: Self { key(ZMQ_CURVE_SERVERKEY, "curveServerKey") }

    private static func key(_ number: CInt, _ name: String) -> Self {
        Self(
            number: number, name: name, layout: .bytes(capacity: CurveKey.size), encode: { .bytes($0.bytes) },
            decode: { if case .bytes(let bytes) = $0 { CurveKey(bytes: bytes) } else { nil } })
    }
}

extension SocketOption where Value == CurveSecretKey {
    /// CURVE: the secret key of this socket.
    public static var curveSecretKey: Self {
        Self(
            number: ZMQ_CURVE_SECRETKEY, name: "curveSecretKey", layout: .bytes(capacity: CurveKey.size),
            encode: { .bytes($0.bytes) },
            decode: { if case .bytes(let bytes) = $0 { CurveSecretKey(bytes: bytes) } else { nil } })
    }
}

extension SocketOption where Value == CInt {
    static var events: Self {
        Self(
            number: ZMQ_EVENTS, name: "events", layout: .int, encode: { .int($0) },
            decode: { if case .int(let value) = $0 { value } else { nil } })
    }
}
