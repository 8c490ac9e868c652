import CZeroMQ
import Dispatch
import Glibc
import Synchronization

/// The I/O threads and the `inproc://` name space that sockets live in.
///
/// One per process is the rule; tests make their own.
///
/// Any thread may hold, share and shut down a context. It ends with its last reference, and every ``Socket`` holds one, so it never ends before
/// its sockets. Ending waits at most for the longest ``SocketOption/linger`` of sockets closed with unsent messages (zero unless set). It never
/// waits indefinitely, because an endless linger cannot be set.
public final class Context: Sendable {
    /// libzmq documents contexts as thread-safe, which the pointer's type cannot express.
    nonisolated(unsafe) let raw: UnsafeMutableRawPointer
    private let isFinished = Atomic(false)

    /// Creates a context.
    /// - Parameters:
    ///   - ioThreads: threads that move bytes; one serves about a gigabyte a second. Zero allows `inproc://` only.
    ///   - maxSockets: the most sockets open at a time; one more is ``ZeroMQError/Code/tooManySockets``.
    /// - Throws: ``ZeroMQError/Code/unsupportedLibrary`` when the installed libzmq is older than 4.3;
    ///   ``ZeroMQError/Code/invalidArgument`` for a count out of range.
    public init(ioThreads: Int = 1, maxSockets: Int = 1023) throws(ZeroMQError) {
        try LibraryVersion.installed.require(LibraryVersion(major: 4, minor: 3, patch: 0))
        guard let threads = CInt(exactly: ioThreads), threads >= 0 else {
            throw .invalid("zmq_ctx_set", "ioThreads", "\(ioThreads) is not a count from 0 to \(CInt.max)")
        }
        guard let sockets = CInt(exactly: maxSockets), sockets > 0 else {
            throw .invalid("zmq_ctx_set", "maxSockets", "\(maxSockets) is not a count from 1 to \(CInt.max)")
        }
        guard let raw = zmq_ctx_new() else { throw .last("zmq_ctx_new") }
        self.raw = raw
        guard zmq_ctx_get(raw, ZMQ_MSG_T_SIZE) == MemoryLayout<zmq_msg_t>.size else {
            throw ZeroMQError(
                "zmq_ctx_get", "ZMQ_MSG_T_SIZE", number: ENOTSUP, code: .unsupportedLibrary,
                reason: "the installed libzmq lays out messages differently from the zmq.h this was built with; rebuild"
            )
        }
        try call("zmq_ctx_set", "ioThreads") { zmq_ctx_set(raw, ZMQ_IO_THREADS, threads) }
        try call("zmq_ctx_set", "maxSockets") { zmq_ctx_set(raw, ZMQ_MAX_SOCKETS, sockets) }
    }

    deinit {
        if !isFinished.load(ordering: .acquiring) { Context.terminate(raw) }
    }

    private static func terminate(_ raw: UnsafeMutableRawPointer) {
        while zmq_ctx_term(raw) == -1, zmq_errno() == EINTR {}
    }

    /// Waits until the messages of closed sockets have been sent, at most for their linger and never longer than `limit`.
    ///
    /// Call it at the end of a program: messages in transit are lost when the process ends, and the time at which the last reference is
    /// released is unknown. It blocks the calling thread. Open no more sockets in this context; a socket that is still open makes the call last
    /// for all of `limit`.
    public func finish(within limit: Duration) {
        guard !isFinished.exchange(true, ordering: .acquiringAndReleasing) else { return }
        let (raw, isOver) = (UInt(bitPattern: raw), DispatchSemaphore(value: 0))
        DispatchQueue.global().async {
            if let raw = UnsafeMutableRawPointer(bitPattern: raw) { Context.terminate(raw) }
            isOver.signal()
        }
        _ = isOver.wait(timeout: .now() + .milliseconds(Int(limit / .milliseconds(1))))
    }

    /// Makes every operation on this context's sockets throw ``ZeroMQError/Code/contextTerminated``, including operations that are waiting.
    ///
    /// It may be called from any thread and more than once. The sockets stay open until their owners release them. A ``PollLoop`` notifies each
    /// watcher of such a socket once, with ``Readiness/terminated``.
    public func shutdown() {
        zmq_ctx_shutdown(raw)
    }
}

/// A version of libzmq.
public struct LibraryVersion: Comparable, Hashable, Sendable, CustomStringConvertible {
    public let major: Int
    public let minor: Int
    public let patch: Int

    /// A version from its three numbers.
    public init(major: Int, minor: Int, patch: Int) {
        (self.major, self.minor, self.patch) = (major, minor, patch)
    }

    /// The libzmq this process runs with, which may differ from the one it was compiled with.
    public static var installed: LibraryVersion {
        var (major, minor, patch): (CInt, CInt, CInt) = (0, 0, 0)
        zmq_version(&major, &minor, &patch)
        return LibraryVersion(major: Int(major), minor: Int(minor), patch: Int(patch))
    }

    public static func < (left: LibraryVersion, right: LibraryVersion) -> Bool {
        (left.major, left.minor, left.patch) < (right.major, right.minor, right.patch)
    }

    public var description: String { "\(major).\(minor).\(patch)" }

    /// Throws an error that contains the version found, the version required and the package to install.
    func require(_ minimum: LibraryVersion) throws(ZeroMQError) {
        guard self < minimum else { return }
        throw ZeroMQError(
            "zmq_version", "libzmq \(self)", number: ENOTSUP, code: .unsupportedLibrary,
            reason: "\(minimum) or newer is needed; on Debian and Ubuntu install libzmq5 and libzmq3-dev")
    }
}
