/// Why there is no token to use.
public struct TokenError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What kind of failure it is, for programs.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Kind: String { case missing, refused, unreachable }
        private let kind: Kind

        /// There is no log-in, or it has expired and cannot be renewed: `hub login`.
        public static let missing = Code(kind: .missing)
        /// The service refuses to renew it: `hub login`.
        public static let refused = Code(kind: .refused)
        /// It could not be renewed now: try again later.
        public static let unreachable = Code(kind: .unreachable)

        /// The code's name.
        public var description: String { kind.rawValue }
    }

    /// What kind of failure it is, for programs.
    public let code: Code
    /// What is wrong, and what a person does about it; no token.
    public let message: String

    /// Whether a person has to log in; else the same call can succeed later.
    public var needsLogIn: Bool { code != .unreachable }

    /// The message.
    public var description: String { message }

    init(_ code: Code, _ message: String) { (self.code, self.message) = (code, message) }
}

/// Thrown by the closure that refreshes a token, when the service says that the log-in is over (`invalid_grant`).
///
/// Any other error means that it can be tried again.
public struct LogInRefused: Error, Hashable, Sendable, CustomStringConvertible {
    /// What the service said; no token.
    public let reason: String

    /// Says that the log-in is over.
    ///
    /// `reason` is shown to a person and logged: never a token or what the service was sent.
    public init(_ reason: String) { self.reason = reason }

    /// The reason.
    public var description: String { reason }
}
