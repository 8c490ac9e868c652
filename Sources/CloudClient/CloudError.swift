public import PluginKit

/// Why there is no answer to use.
///
/// Neither it nor its message ever holds a token, a query, a header or a body. A request whose task is cancelled throws
/// `CancellationError` instead.
public struct CloudError: Error, Hashable, Sendable, CustomStringConvertible {
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Kind: Hashable {
            case unreachable, tls, timedOut, cut, tooLarge, malformed, throttled, request
            case answered(Int)
        }
        private let kind: Kind

        /// No connection: the name is unknown, the port is closed, or the network is away.
        public static let unreachable = Code(kind: .unreachable)
        /// The connection cannot be made safe: certificate, host name or versions.
        public static let tls = Code(kind: .tls)
        /// The service took too long to take the connection, or to answer.
        public static let timedOut = Code(kind: .timedOut)
        /// The connection ended before the answer had.
        public static let cut = Code(kind: .cut)
        /// The answer is larger than the client takes.
        public static let tooLarge = Code(kind: .tooLarge)
        /// What came is not HTTP, or not what was asked for.
        public static let malformed = Code(kind: .malformed)
        /// Nothing was sent, because the budget of requests is used up for longer than the caller waits.
        public static let throttled = Code(kind: .throttled)
        /// The request itself cannot be sent, such as a header with a line break.
        public static let request = Code(kind: .request)
        /// The service answered with another status than a success.
        public static func answered(_ status: Int) -> Code { Code(kind: .answered(status)) }

        public var description: String {
            if case .answered(let status) = kind { "status \(status)" } else { "\(kind)" }
        }
    }

    public let code: Code
    /// What failed, where and why, for a person.
    public let message: String
    /// Whether the service may have done what was asked.
    ///
    /// False where nothing can have been sent, and for requests that change nothing.
    public let mayHaveHadEffect: Bool
    /// When the budget allows another request, of `throttled`.
    public let retryAfter: Duration?

    /// Whether the same request can succeed a little later; repeat it only where that is harmless.
    public var mayPass: Bool { [.unreachable, .timedOut, .cut, .throttled].contains(code) }

    public var description: String { message }

    init(_ code: Code, _ message: String, mayHaveHadEffect: Bool, retryAfter: Duration? = nil) {
        (self.code, self.message, self.mayHaveHadEffect, self.retryAfter) =
            (code, message, mayHaveHadEffect, retryAfter)
    }
}

extension PluginFailure {
    /// The end of a `--check`, or of a plugin: `unavailable` where the service could not be talked to.
    public init(_ error: CloudError) {
        self.init([.unreachable, .tls, .timedOut, .cut].contains(error.code) ? .unavailable : .failed, error.message)
    }
}
