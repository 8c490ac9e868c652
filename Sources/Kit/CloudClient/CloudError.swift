public import PluginKit

/// Why there is no usable answer.
///
/// Neither the error nor its message ever contains a token, a query, a header or a body. A request whose task is cancelled throws
/// `CancellationError` instead.
public struct CloudError: Error, Hashable, Sendable, CustomStringConvertible {
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Kind: Hashable {
            case unreachable, tls, timedOut, cut, tooLarge, malformed, throttled, request
            case answered(Int)
        }
        private let kind: Kind

        /// No connection: the name is unknown, the port is closed, or the network is down.
        public static let unreachable = Code(kind: .unreachable)
        /// The connection cannot be secured: wrong certificate, host name or versions.
        public static let tls = Code(kind: .tls)
        /// The service took too long to accept the connection or to answer.
        public static let timedOut = Code(kind: .timedOut)
        /// The connection ended before the end of the answer.
        public static let cut = Code(kind: .cut)
        /// The answer is larger than the client accepts.
        public static let tooLarge = Code(kind: .tooLarge)
        /// The data is not HTTP, or not in the expected form.
        public static let malformed = Code(kind: .malformed)
        /// The request was not sent, because the budget is used up for longer than the caller waits.
        public static let throttled = Code(kind: .throttled)
        /// The request cannot be sent, for example because a header contains a line break.
        public static let request = Code(kind: .request)
        /// The service answered with a status that is not a success.
        public static func answered(_ status: Int) -> Code { Code(kind: .answered(status)) }

        public var description: String {
            if case .answered(let status) = kind { "status \(status)" } else { "\(kind)" }
        }
    }

    public let code: Code
    /// The operation, the host and the cause, for people.
    public let message: String
    /// Whether the service may have executed the request.
    ///
    /// False if nothing can have been sent, and for requests that change nothing.
    public let mayHaveHadEffect: Bool
    /// For `throttled`: the time until the budget allows another request.
    public let retryAfter: Duration?

    /// Whether the same request can succeed a little later; repeat it only if that is harmless.
    public var mayPass: Bool { [.unreachable, .timedOut, .cut, .throttled].contains(code) }

    public var description: String { message }

    init(_ code: Code, _ message: String, mayHaveHadEffect: Bool, retryAfter: Duration? = nil) {
        (self.code, self.message, self.mayHaveHadEffect, self.retryAfter) =
            (code, message, mayHaveHadEffect, retryAfter)
    }
}

extension PluginFailure {
    /// The failure of a `--check` or of a plugin: `unavailable` if there was no communication with the service.
    public init(_ error: CloudError) {
        self.init([.unreachable, .tls, .timedOut, .cut].contains(error.code) ? .unavailable : .failed, error.message)
    }
}
