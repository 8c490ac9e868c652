/// The reason why a simulator could not start or continue, for the person who started it.
public struct SimulatorError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of failure, which decides the exit code.
    public enum Kind: Int32, Sendable, Hashable {
        /// An invalid value of an option or a command: exit code 64.
        case usage = 64
        /// An unreadable script: exit code 65.
        case script = 65
        /// A link that cannot be opened: exit code 69.
        case link = 69
    }

    /// The kind of failure.
    public let kind: Kind
    /// The value found, its place, and valid values.
    public let description: String

    /// Creates an error with this description.
    public init(_ kind: Kind, _ description: String) { (self.kind, self.description) = (kind, description) }
}
