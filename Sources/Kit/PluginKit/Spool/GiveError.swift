/// The reason why records were not accepted or not confirmed.
///
/// The text contains the remedy. It never contains a record, a value or a key, and may be logged.
public struct GiveError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of failure, which decides how a source reacts.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Kind: String { case full, storage, invalid, refused, stopping }
        private let kind: Kind

        /// The spool is full: stop acknowledging the device until ``PluginContext/waitForRoom()`` returns.
        public static let full = Code(kind: .full)
        /// The spool could not be written, for example because the disk is full: stop acknowledging the device, and try again later.
        ///
        /// An import gets this error if the hub itself cannot store records, because an import does not wait for that.
        public static let storage = Code(kind: .storage)
        /// The call itself is wrong: it has no records, or a record or group is too large to send.
        ///
        /// Trying again does not help.
        public static let invalid = Code(kind: .invalid)
        /// The hub rejects the batch in this form.
        ///
        /// Trying again does not help.
        public static let refused = Code(kind: .refused)
        /// The plugin is being stopped and the hub has not confirmed the records: ask the device or the service again next time.
        public static let stopping = Code(kind: .stopping)

        /// The code's name.
        public var description: String { kind.rawValue }
    }

    /// The kind of failure, which decides how to react.
    public let code: Code
    /// One or two sentences for a person.
    public let message: String

    /// Whether the same call may succeed later.
    public var mayRetry: Bool { code == .full || code == .storage }

    /// The message.
    public var description: String { message }

    /// Creates an error; PluginKit does so, and tests of plugins create their own.
    /// - Parameters:
    ///   - code: the kind of failure.
    ///   - message: a text for a person, without a record, a value or a key.
    public init(_ code: Code, _ message: String) {
        (self.code, self.message) = (code, message)
    }
}
