import CZeroMQ
import Glibc

/// A failure of libzmq: the operation, its subject and the reason.
///
/// "Would block" and "unroutable" are not here in normal use: ``Socket/send(_:more:)-(Message,_)`` and
/// ``Socket/receive()`` return them as results. Interrupted system calls (EINTR) are retried inside the module and
/// never reach a caller.
public struct ZeroMQError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of failure; compare with the static members.
    public let code: Code
    /// The libzmq call that failed, such as `zmq_bind`.
    public let operation: String
    /// The endpoint or the name of the option concerned.
    ///
    /// Never the value of an option, which may be a secret.
    public let subject: String?
    /// The `errno` of libzmq.
    public let number: CInt
    /// The reason in words: libzmq's own text (`zmq_strerror`), with the remedy if it is known.
    public let reason: String

    init(_ operation: String, _ subject: String? = nil, number: CInt, code: Code? = nil, reason: String? = nil) {
        self.code = code ?? Code(errno: number)
        self.operation = operation
        self.subject = subject
        self.number = number
        self.reason = reason ?? String(cString: zmq_strerror(number))
    }

    /// The error libzmq reported last on this thread.
    static func last(_ operation: String, _ subject: String? = nil) -> ZeroMQError {
        ZeroMQError(operation, subject, number: zmq_errno())
    }

    /// An argument this module refuses before libzmq sees it.
    static func invalid(_ operation: String, _ subject: String, _ reason: String) -> ZeroMQError {
        ZeroMQError(operation, subject, number: EINVAL, reason: reason)
    }

    /// Whether the same call may succeed later with the same arguments, once another party has released a resource.
    public var mayRetry: Bool {
        switch code {
        case .wouldBlock, .addressInUse, .addressNotAvailable, .tooManySockets, .outOfMemory, .unroutable: true
        default: false
        }
    }

    public var description: String {
        let target = subject.map { " \($0)" } ?? ""
        return "\(operation)\(target): \(reason) (\(code))"
    }

    /// The kind of a failure.
    ///
    /// Members may be added; keep a `default` when you switch.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Value: String {
            case interrupted, wouldBlock, contextTerminated, addressInUse, addressNotAvailable, accessDenied
            case endpointTooLong, invalidArgument, noSuchEndpoint, unsupportedTransport, incompatibleTransport
            case wrongState, unroutable, tooManySockets, notSupported, notASocket, badAddress, outOfMemory
            case unsupportedLibrary, systemCall, unknown
        }
        private let value: Value

        /// EINTR: a signal arrived.
        ///
        /// It is retried internally; it is listed because a name for every errno makes logs readable.
        public static let interrupted = Code(value: .interrupted)
        /// EAGAIN in the middle of a message, if it cannot be an outcome.
        public static let wouldBlock = Code(value: .wouldBlock)
        /// ETERM: the socket's context was shut down.
        ///
        /// Close the socket; no other operation works any more.
        public static let contextTerminated = Code(value: .contextTerminated)
        /// EADDRINUSE: the endpoint is bound already.
        ///
        /// For `ipc://` libzmq does not report this: see ``Socket/bind(_:)``.
        public static let addressInUse = Code(value: .addressInUse)
        /// EADDRNOTAVAIL, ENODEV: this machine has no such address or interface.
        public static let addressNotAvailable = Code(value: .addressNotAvailable)
        /// EACCES, EPERM: the file system or the kernel refuses the endpoint.
        public static let accessDenied = Code(value: .accessDenied)
        /// ENAMETOOLONG: an `ipc://` path longer than 107 bytes on Linux.
        public static let endpointTooLong = Code(value: .endpointTooLong)
        /// EINVAL: malformed endpoint, value out of range, or an option this kind of socket does not have.
        public static let invalidArgument = Code(value: .invalidArgument)
        /// ENOENT: no such endpoint, file or directory.
        public static let noSuchEndpoint = Code(value: .noSuchEndpoint)
        /// EPROTONOSUPPORT: this libzmq does not know the transport.
        public static let unsupportedTransport = Code(value: .unsupportedTransport)
        /// ENOCOMPATPROTO: the transport does not fit the kind of socket.
        public static let incompatibleTransport = Code(value: .incompatibleTransport)
        /// EFSM: REQ and REP alternate strictly, and it is the other one's turn.
        public static let wrongState = Code(value: .wrongState)
        /// EHOSTUNREACH, if it cannot be an outcome.
        public static let unroutable = Code(value: .unroutable)
        /// EMFILE, EMTHREAD: the context's `maxSockets` or the process's descriptors are used up.
        public static let tooManySockets = Code(value: .tooManySockets)
        /// ENOTSUP: not with this kind of socket or this build of libzmq.
        public static let notSupported = Code(value: .notSupported)
        /// ENOTSOCK: a programmer error this module's ownership rules exclude; seeing it means memory was damaged.
        public static let notASocket = Code(value: .notASocket)
        /// EFAULT: as ``notASocket``.
        public static let badAddress = Code(value: .badAddress)
        /// ENOMEM.
        public static let outOfMemory = Code(value: .outOfMemory)
        /// The installed libzmq is older than 4.3, or laid out differently from the header this was compiled with.
        public static let unsupportedLibrary = Code(value: .unsupportedLibrary)
        /// A call of the operating system failed (eventfd, thread creation).
        public static let systemCall = Code(value: .systemCall)
        /// Any other errno; see ``ZeroMQError/number``.
        public static let unknown = Code(value: .unknown)

        public var description: String { value.rawValue }
    }
}

extension ZeroMQError.Code {
    init(errno number: CInt) {
        self =
            switch number {
            case EINTR: .interrupted
            case EAGAIN: .wouldBlock
            case ETERM: .contextTerminated
            case EADDRINUSE: .addressInUse
            case EADDRNOTAVAIL, ENODEV: .addressNotAvailable
            case EACCES, EPERM: .accessDenied
            case ENAMETOOLONG: .endpointTooLong
            case EINVAL: .invalidArgument
            case ENOENT: .noSuchEndpoint
            case EPROTONOSUPPORT: .unsupportedTransport
            case ENOCOMPATPROTO: .incompatibleTransport
            case EFSM: .wrongState
            case EHOSTUNREACH: .unroutable
            case EMFILE, EMTHREAD: .tooManySockets
            case ENOTSUP: .notSupported
            case ENOTSOCK: .notASocket
            case EFAULT: .badAddress
            case ENOMEM: .outOfMemory
            default: .unknown
            }
    }
}

/// The single wrapper of libzmq calls that return −1: retries after a signal, throws otherwise.
@discardableResult
func call(
    _ operation: String, _ subject: String? = nil, _ body: () -> CInt
) throws(ZeroMQError) -> CInt {
    while true {
        let result = body()
        if result != -1 { return result }
        if zmq_errno() != EINTR { throw .last(operation, subject) }
    }
}
