import CZeroMQ
import Synchronization

/// An event on a connection of a monitored socket (`tcp://` and `ipc://` only; `inproc://` has no such events).
public struct ConnectionEvent: Hashable, Sendable {
    /// The kind of event.
    public let kind: Kind
    /// The endpoint concerned, as libzmq prints it.
    public let endpoint: String

    /// A kind of event, with libzmq's details.
    public enum Kind: Hashable, Sendable {
        /// The byte connection is established; the handshake follows.
        case connected, accepted
        /// The first attempt continues in the background.
        case connectDelayed
        /// The next attempt follows after the given number of milliseconds.
        case connectRetried(milliseconds: Int)
        case listening
        /// Failures, with their `errno`.
        case bindFailed(CInt), acceptFailed(CInt), closeFailed(CInt)
        /// The endpoint's listener or a connection attempt was closed.
        case closed
        /// A connection was lost.
        case disconnected
        /// The peer is connected, including its log-in.
        case handshakeSucceeded
        /// The ZAP handler rejected the peer, with its status: 300 (later), 400 (refused), 500 (handler failed).
        case handshakeRefused(status: Int)
        /// One end requires a different kind of log-in than the other uses.
        case handshakeMismatched
        /// The two ends do not speak the same protocol; one of libzmq's `ZMQ_PROTOCOL_ERROR_…` numbers.
        case handshakeProtocolError(number: Int)
        /// The connection broke during the handshake, with its `errno` (0: the peer closed it).
        ///
        /// It also occurs instead of ``handshakeMismatched`` if the peer has read this end's greeting before it has sent its own:
        /// ``PeerGreeting`` finds out.
        case handshakeFailed(CInt)
        /// The socket closed or stopped being monitored; nothing follows.
        case monitorStopped
        /// An event this module has no name for.
        case other(number: Int, value: Int)
    }
}

/// The events of one socket's connections, in order.
///
/// It ends when it is released, or with ``ConnectionEvent/Kind/monitorStopped``.
///
/// Events queue without a limit until received, some hundred bytes each. A limit would make libzmq's I/O thread, and so every socket of the
/// context, wait for the receiver. Read them on the socket's own thread, at least every few seconds.
public struct SocketMonitor: ~Copyable {
    /// The receiving end; pass it to ``PollLoop/watch(_:for:_:)`` to learn when events wait.
    public let events: Socket
    private let monitored: SocketHandle

    private static let lastNumber = Atomic<Int>(0)

    init(_ handle: SocketHandle) throws(ZeroMQError) {
        let number = Self.lastNumber.wrappingAdd(1, ordering: .relaxed).newValue
        let endpoint = "inproc://socket-monitor-\(number)"
        let events = try Socket(.pair, in: handle.context)
        try events.set(.receiveHighWaterMark, to: 0)
        try handle.startMonitor(at: endpoint, ZMQ_EVENT_ALL)
        do {
            try events.connect(endpoint)
        } catch {
            handle.stopMonitor()
            throw error
        }
        self.monitored = handle
        self.events = events
    }

    deinit {
        // Before `events` closes: libzmq's sending end waits for a receiver, on the I/O thread.
        monitored.stopMonitor()
    }

    /// The next event, or `nil` if none waits.
    public func receive() throws(ZeroMQError) -> ConnectionEvent? {
        var message = Multipart()
        guard case .complete = try events.receiveMultipart(into: &message, maxFrames: 2), message.count == 2 else {
            return nil
        }
        // uint16 event, uint32 value, both in the machine's byte order (zmq_socket_monitor(3)).
        let fields = message.bytes(of: 0)
        guard fields.count == 6 else { return nil }
        let (number, value) = fields.withUnsafeBytes {
            (Int($0.loadUnaligned(as: UInt16.self)), $0.loadUnaligned(fromByteOffset: 2, as: UInt32.self))
        }
        return ConnectionEvent(
            kind: ConnectionEvent.Kind(number: number, value: value),
            endpoint: String(decoding: message.bytes(of: 1), as: UTF8.self))
    }
}

extension Socket {
    /// Reports events on this socket's connections from now on.
    ///
    /// Only one monitor is allowed at a time; call it before bind and connect, so that no event is missed.
    public func monitor() throws(ZeroMQError) -> SocketMonitor {
        handle.assertOwned()
        return try SocketMonitor(handle)
    }
}

extension ConnectionEvent.Kind {
    fileprivate init(number: Int, value: UInt32) {
        let errno = CInt(truncatingIfNeeded: value)
        self =
            switch CInt(truncatingIfNeeded: number) {
            case ZMQ_EVENT_CONNECTED: .connected
            case ZMQ_EVENT_CONNECT_DELAYED: .connectDelayed
            case ZMQ_EVENT_CONNECT_RETRIED: .connectRetried(milliseconds: Int(value))
            case ZMQ_EVENT_LISTENING: .listening
            case ZMQ_EVENT_BIND_FAILED: .bindFailed(errno)
            case ZMQ_EVENT_ACCEPTED: .accepted
            case ZMQ_EVENT_ACCEPT_FAILED: .acceptFailed(errno)
            case ZMQ_EVENT_CLOSED: .closed
            case ZMQ_EVENT_CLOSE_FAILED: .closeFailed(errno)
            case ZMQ_EVENT_DISCONNECTED: .disconnected
            case ZMQ_EVENT_MONITOR_STOPPED: .monitorStopped
            case ZMQ_EVENT_HANDSHAKE_SUCCEEDED: .handshakeSucceeded
            case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH: .handshakeRefused(status: Int(value))
            case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL where errno == ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH:
                .handshakeMismatched
            case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL: .handshakeProtocolError(number: Int(value))
            case ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL: .handshakeFailed(errno)
            default: .other(number: number, value: Int(value))
            }
    }
}
