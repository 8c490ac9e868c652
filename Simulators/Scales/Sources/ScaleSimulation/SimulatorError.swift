/// Why a simulator could not start or go on, in words for the person who started it.
public struct SimulatorError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What kind of failure; it decides the exit code.
    public enum Kind: Int32, Sendable, Hashable {
        /// An option or a command has a value that means nothing: exit code 64.
        case usage = 64
        /// A script cannot be read: exit code 65.
        case script = 65
        /// A link cannot be opened: exit code 69.
        case link = 69
    }

    /// What kind of failure.
    public let kind: Kind
    /// What was found, where, and what would do.
    public let description: String

    /// An error that says `description`.
    public init(_ kind: Kind, _ description: String) { (self.kind, self.description) = (kind, description) }
}
