import CZeroMQ
import Glibc

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
