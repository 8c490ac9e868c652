/// Why a WebSocket was not opened, or has ended.
///
/// Neither it nor its message holds a header, a query or a frame.
public struct WebSocketError: Error, Hashable, Sendable, CustomStringConvertible {
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Kind: Hashable {
            case unreachable, tls, silent, ended, malformed
            case refused(Int)
        }
        private let kind: Kind

        /// No connection: the name is unknown, the port is closed, or the network is away.
        public static let unreachable = Code(kind: .unreachable)
        /// The connection cannot be made safe.
        public static let tls = Code(kind: .tls)
        /// Nothing came for as long as the caller waits.
        public static let silent = Code(kind: .silent)
        /// The other side has closed it, or the connection was cut.
        public static let ended = Code(kind: .ended)
        /// What came breaks the rules of WebSockets, or is a frame that is too large.
        public static let malformed = Code(kind: .malformed)
        /// The handshake was answered with this status instead.
        public static func refused(_ status: Int) -> Code { Code(kind: .refused(status)) }

        /// The status of a refusal.
        public var status: Int? { if case .refused(let status) = kind { status } else { nil } }

        public var description: String { if let status { "status \(status)" } else { "\(kind)" } }
    }

    public let code: Code
    /// What failed, where and why, for a person.
    public let message: String

    public var description: String { message }

    init(_ code: Code, _ message: String) { (self.code, self.message) = (code, message) }
}
