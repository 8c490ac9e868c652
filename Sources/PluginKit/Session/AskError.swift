public import HubWire

/// Why the hub gave no answer to a question.
public struct AskError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What kind of failure it is, for programs.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Kind: String { case refused, lost, stopping }
        private let kind: Kind

        /// The hub has refused it; ``AskError/error`` says why.
        public static let refused = Code(kind: .refused)
        /// The session ended before the answer: it may have been carried out.
        public static let lost = Code(kind: .lost)
        /// The plugin is being stopped, or the hub does not want it.
        public static let stopping = Code(kind: .stopping)

        /// The code's name.
        public var description: String { kind.rawValue }
    }

    /// What kind of failure it is, for programs.
    public let code: Code
    /// A sentence for people.
    public let message: String
    /// What the hub said, with `refused`.
    public let error: WireError?

    /// The message.
    public var description: String { message }

    init(_ code: Code, _ message: String, error: WireError? = nil) {
        (self.code, self.message, self.error) = (code, message, error)
    }
}
