public import HubWire

/// The reason why the hub did not answer a question.
public struct AskError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of failure, for programs.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Kind: String { case refused, lost, stopping }
        private let kind: Kind

        /// The hub has refused the question; ``AskError/error`` has the reason.
        public static let refused = Code(kind: .refused)
        /// The session ended before the answer; the hub may have acted on the question.
        public static let lost = Code(kind: .lost)
        /// The plugin is being stopped, or the hub rejects it.
        public static let stopping = Code(kind: .stopping)

        /// The code's name.
        public var description: String { kind.rawValue }
    }

    /// The kind of failure, for programs.
    public let code: Code
    /// A sentence for people.
    public let message: String
    /// The hub's error, for `refused`.
    public let error: WireError?

    /// The message.
    public var description: String { message }

    init(_ code: Code, _ message: String, error: WireError? = nil) {
        (self.code, self.message, self.error) = (code, message, error)
    }
}
