/// The reason why no token is available.
public struct TokenError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of failure, for programs.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Kind: String { case missing, refused, unreachable }
        private let kind: Kind

        /// There is no log-in, or it has expired and cannot be renewed; a person has to run `hub login`.
        public static let missing = Code(kind: .missing)
        /// The service refuses to renew the token; a person has to run `hub login`.
        public static let refused = Code(kind: .refused)
        /// The token could not be renewed now; try again later.
        public static let unreachable = Code(kind: .unreachable)

        /// The code's name.
        public var description: String { kind.rawValue }
    }

    /// The kind of failure, for programs.
    public let code: Code
    /// The fault and its remedy, for a person; it contains no token.
    public let message: String

    /// Whether a person has to log in; otherwise the same call may succeed later.
    public var needsLogIn: Bool { code != .unreachable }

    /// The message.
    public var description: String { message }

    init(_ code: Code, _ message: String) { (self.code, self.message) = (code, message) }
}

/// Thrown by the closure that refreshes a token if the service reports that the log-in has ended (`invalid_grant`).
///
/// Any other error means that the refresh can be tried again.
public struct LogInRefused: Error, Hashable, Sendable, CustomStringConvertible {
    /// The service's reason, without a token.
    public let reason: String

    /// Creates the error for a log-in that has ended.
    ///
    /// A person sees `reason`, and it is logged: never put a token or the text of a request into it.
    public init(_ reason: String) { self.reason = reason }

    /// The reason.
    public var description: String { reason }
}
