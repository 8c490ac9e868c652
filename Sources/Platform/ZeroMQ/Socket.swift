import CZeroMQ
import Glibc

/// A ZeroMQ socket, closed when its owner releases it.
///
/// **Threads.** Not `Sendable`: create, use and close it on one thread, normally that of a ``PollLoop``, inside an actor that runs on it. Debug
/// builds check this on every call. Use ``adopt()`` to take over a socket created elsewhere, such as in an actor's `init`.
///
/// **Never blocks.** Sending and receiving return immediately; full queues are results. Only ``wait(for:upTo:)`` waits.
///
/// **Errors.** Once the context was shut down, everything throws ``ZeroMQError/Code/contextTerminated``.
public struct Socket: ~Copyable {
    /// The messaging pattern of a socket.
    public enum Kind: Sendable, Hashable, CaseIterable {
        case pair, pub, sub, req, rep, dealer, router, pull, push, xpub, xsub
        /// The raw bytes of connections: each message consists of the name of its connection, and bytes.
        case stream

        var number: CInt {
            switch self {
            case .pair: ZMQ_PAIR
            case .pub: ZMQ_PUB
            case .sub: ZMQ_SUB
            case .req: ZMQ_REQ
            case .rep: ZMQ_REP
            case .dealer: ZMQ_DEALER
            case .router: ZMQ_ROUTER
            case .pull: ZMQ_PULL
            case .push: ZMQ_PUSH
            case .xpub: ZMQ_XPUB
            case .xsub: ZMQ_XSUB
            case .stream: ZMQ_STREAM
            }
        }
    }

    /// The pattern this socket was made for.
    public let kind: Kind
    let handle: SocketHandle

    /// Opens a socket with a linger of zero: closing it drops unsent messages.
    /// - Throws: ``ZeroMQError/Code/tooManySockets``, ``ZeroMQError/Code/contextTerminated``.
    public init(_ kind: Kind, in context: Context) throws(ZeroMQError) {
        self.kind = kind
        handle = try SocketHandle(kind, in: context)
    }

    deinit {
        handle.close()
    }

    /// Closes the socket now.
    ///
    /// Unsent messages are kept for the linger, then dropped.
    public consuming func close() {}

    /// Makes the calling thread this socket's owner.
    ///
    /// For a socket that was made on one thread and handed to another (an actor's `init` runs on its caller's thread):
    /// call it once, first thing on the new thread. The hand-over itself must be a synchronisation, which calling an
    /// actor is. Ends a watch of the old loop.
    public func adopt() {
        handle.adopt()
    }

    // MARK: - Endpoints

    /// Waits for connections at `endpoint`, and gives back the endpoint with wildcards filled in (`tcp://127.0.0.1:*`).
    ///
    /// Options apply to endpoints bound or connected *afterwards*: one socket can have a plain and an encrypted
    /// endpoint.
    ///
    /// An `ipc://` path that another socket has bound is *taken over without an error* (libzmq 4.3.4 removes the file
    /// first): keep such files in a directory of your own and hold a lock on it.
    /// - Throws: ``ZeroMQError/Code/addressInUse`` (`tcp://`, `inproc://`), ``ZeroMQError/Code/endpointTooLong`` (an
    ///   `ipc://` path over 107 bytes), ``ZeroMQError/Code/accessDenied``, ``ZeroMQError/Code/noSuchEndpoint``,
    ///   ``ZeroMQError/Code/invalidArgument``.
    @discardableResult
    public func bind(_ endpoint: String) throws(ZeroMQError) -> String {
        try onEndpoint("zmq_bind", endpoint) { zmq_bind(handle.raw, $0) }
        return try lastEndpoint
    }

    /// Connects to `endpoint`, now or once it is bound.
    ///
    /// Success says nothing about the peer: use ``monitor(_:)``.
    public func connect(_ endpoint: String) throws(ZeroMQError) {
        try onEndpoint("zmq_connect", endpoint) { zmq_connect(handle.raw, $0) }
    }

    /// Stops listening at `endpoint`, given as ``bind(_:)`` returned it.
    ///
    /// Existing connections end.
    public func unbind(_ endpoint: String) throws(ZeroMQError) {
        try onEndpoint("zmq_unbind", endpoint) { zmq_unbind(handle.raw, $0) }
    }

    /// Ends the connection to `endpoint`; messages queued for it are dropped after the linger.
    public func disconnect(_ endpoint: String) throws(ZeroMQError) {
        try onEndpoint("zmq_disconnect", endpoint) { zmq_disconnect(handle.raw, $0) }
    }

    /// The endpoint bound or connected last, with wildcards filled in; empty before that.
    public var lastEndpoint: String {
        get throws(ZeroMQError) { try get(.lastEndpoint) }
    }

    private func onEndpoint(
        _ operation: String, _ endpoint: String, _ body: (UnsafePointer<CChar>) -> CInt
    ) throws(ZeroMQError) {
        handle.assertOwned()
        guard !endpoint.utf8.contains(0) else {
            throw .invalid(operation, endpoint.debugDescription, "an endpoint has no NUL character")
        }
        try call(operation, endpoint) { endpoint.withCString(body) }
    }

    // MARK: - Readiness

    /// The operations that would not block now (`ZMQ_EVENTS`).
    public var readiness: Readiness {
        get throws(ZeroMQError) { Readiness(rawValue: CShort(truncatingIfNeeded: try get(.events))) }
    }

    /// Blocks the thread until the socket is ready for `interest` or `timeout` has passed (`nil`: no limit); returns the readiness.
    ///
    /// For tests and plain programs with a thread to spare; on a ``PollLoop`` use ``PollLoop/watch(_:for:_:)``.
    public func wait(for interest: Readiness, upTo timeout: Duration?) throws(ZeroMQError) -> Readiness {
        handle.assertOwned()
        let deadline = timeout.map { ContinuousClock.now + $0 }
        var item = zmq_pollitem_t(socket: handle.raw, fd: 0, events: interest.rawValue, revents: 0)
        while true {
            let left = deadline.map { max(ContinuousClock.now.duration(to: $0), .zero).millisecondsRoundedUp } ?? -1
            if zmq_poll(&item, 1, left) >= 0 { return Readiness(rawValue: item.revents) }
            if zmq_errno() != EINTR { throw .last("zmq_poll") }
        }
    }
}

/// The operations that a socket or file descriptor can do without blocking.
public struct Readiness: OptionSet, Hashable, Sendable {
    public let rawValue: CShort

    /// Readiness from the bits of `zmq_pollitem_t`.
    public init(rawValue: CShort) { self.rawValue = rawValue }

    /// A whole message, or bytes of a file, can be read.
    public static let readable = Readiness(rawValue: CShort(ZMQ_POLLIN))
    /// At least one message, or bytes, can be written.
    public static let writable = Readiness(rawValue: CShort(ZMQ_POLLOUT))
    /// A file descriptor hung up, failed or is not open.
    ///
    /// Cancel its watch, or the loop reports it each turn.
    public static let failed = Readiness(rawValue: CShort(ZMQ_POLLERR))
    /// The socket's context was shut down; the watch has ended, and every operation throws.
    public static let terminated = Readiness(rawValue: 1 << 12)
}

extension Duration {
    /// For timeouts: never earlier than asked, and never a spin of zero-length waits before a deadline.
    var millisecondsRoundedUp: Int {
        let (seconds, attoseconds) = components
        let (whole, overflow) = Int(seconds).multipliedReportingOverflow(by: 1000)
        let fraction = attoseconds / 1_000_000_000_000_000
        let rest = attoseconds % 1_000_000_000_000_000 > 0 ? 1 : 0
        return overflow ? (seconds > 0 ? .max : .min) : whole + Int(fraction) + rest
    }
}

/// The part of a ``Socket`` shared with the loop that watches it and with its monitor: the pointer, and whether it is still open.
///
/// Exactly one `Socket` owns it and closes it; the others hold it to learn that it was closed, not to use it.
final class SocketHandle {
    let raw: UnsafeMutableRawPointer
    let context: Context
    private(set) var isOpen = true
    /// The loop's watch on this socket, ended when the socket closes so that no loop polls a dead pointer.
    weak var registration: PollLoop.Registration?
    /// Whether libzmq sends this socket's events to a monitor; stopped before the receiving end closes, because an I/O thread would otherwise
    /// wait forever.
    private var isMonitored = false
    private var owner = ThreadOwner()

    init(_ kind: Socket.Kind, in context: Context) throws(ZeroMQError) {
        guard let raw = zmq_socket(context.raw, kind.number) else { throw .last("zmq_socket", "\(kind)") }
        (self.raw, self.context) = (raw, context)
        var linger: CInt = 0
        guard zmq_setsockopt(raw, ZMQ_LINGER, &linger, MemoryLayout<CInt>.size) == 0 else {
            let error = ZeroMQError.last("zmq_setsockopt", "linger")
            zmq_close(raw)
            throw error
        }
    }

    /// Debug builds stop a use from a foreign thread here, because libzmq would corrupt memory instead.
    @inline(__always)
    func assertOwned(_ operation: StaticString = #function) {
        assert(owner.isCurrent, "\(operation): a socket is used only on the thread that made or adopted it")
    }

    func adopt() {
        registration?.cancel()
        owner = ThreadOwner()
    }

    func startMonitor(at endpoint: String, _ events: CInt) throws(ZeroMQError) {
        try call("zmq_socket_monitor", endpoint) { zmq_socket_monitor(raw, endpoint, events) }
        isMonitored = true
    }

    func stopMonitor() {
        guard isOpen, isMonitored else { return }
        isMonitored = false
        zmq_socket_monitor(raw, nil, 0)
    }

    func close() {
        assert(
            owner.mayClose, "a socket is closed only on the thread that made or adopted it, or after its loop stopped")
        stopMonitor()
        registration?.cancel()
        isOpen = false
        zmq_close(raw)
    }
}

/// The thread that a socket belongs to.
///
/// A loop is recorded as such: after it has stopped, its sockets may be closed elsewhere, because joining its thread is the memory barrier that
/// libzmq requires.
struct ThreadOwner {
    private let thread = pthread_self()
    private let loop = PollLoop.current

    var isCurrent: Bool {
        if let loop { loop.isOnLoopThread } else { pthread_equal(thread, pthread_self()) != 0 }
    }

    var mayClose: Bool { isCurrent || (loop?.hasEnded ?? false) }
}
