/// Why a WebSocket could not be opened, or has ended.
///
/// Neither the error nor its message contains a header, a query or a frame.
public struct WebSocketError: Error, Hashable, Sendable, CustomStringConvertible {
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Kind: Hashable {
            case unreachable, tls, silent, ended, malformed
            case refused(Int)
        }
        private let kind: Kind

        /// No connection: the name is unknown, the port is closed, or the network is down.
        public static let unreachable = Code(kind: .unreachable)
        /// The connection cannot be secured.
        public static let tls = Code(kind: .tls)
        /// No data arrived for as long as the caller waits.
        public static let silent = Code(kind: .silent)
        /// The server closed the connection, or it was lost.
        public static let ended = Code(kind: .ended)
        /// The data violates the WebSocket protocol, or a frame is too large.
        public static let malformed = Code(kind: .malformed)
        /// The server answered the handshake with this status instead.
        public static func refused(_ status: Int) -> Code { Code(kind: .refused(status)) }

        /// The status of a refusal.
        public var status: Int? { if case .refused(let status) = kind { status } else { nil } }

        public var description: String { if let status { "status \(status)" } else { "\(kind)" } }
    }

    public let code: Code
    /// The operation, the host and the cause, for people.
    public let message: String

    public var description: String { message }

    init(_ code: Code, _ message: String) { (self.code, self.message) = (code, message) }
}
