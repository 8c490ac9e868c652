/// Why records were not taken, or not confirmed.
///
/// The text says what to do. It never holds a record, a value or a key, and may be logged.
public struct GiveError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What kind of failure it is, and so what a source does about it.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Kind: String { case full, storage, invalid, refused, stopping }
        private let kind: Kind

        /// The spool has reached its bound: stop acknowledging the device until ``PluginContext/waitForRoom()`` returns.
        public static let full = Code(kind: .full)
        /// The spool could not be written, such as on a full disk: stop acknowledging the device, and try again later.
        ///
        /// An import gets it when the hub itself cannot store, because it does not wait for that.
        public static let storage = Code(kind: .storage)
        /// The call itself is wrong: no records, a record or group too large to be sent.
        ///
        /// Trying again cannot help.
        public static let invalid = Code(kind: .invalid)
        /// The hub will not take the batch as it is.
        ///
        /// Trying again cannot help.
        public static let refused = Code(kind: .refused)
        /// The plugin is being stopped, and the hub has not confirmed: ask the device or the service again next time.
        public static let stopping = Code(kind: .stopping)

        /// The code's name.
        public var description: String { kind.rawValue }
    }

    /// What kind of failure it is, and so what to do.
    public let code: Code
    /// One or two sentences for a person.
    public let message: String

    /// Whether the same call can succeed later.
    public var mayRetry: Bool { code == .full || code == .storage }

    /// The message.
    public var description: String { message }

    /// PluginKit makes it; tests of plugins make their own.
    /// - Parameters:
    ///   - code: what kind of failure it is.
    ///   - message: for a person, without a record, a value or a key in it.
    public init(_ code: Code, _ message: String) {
        (self.code, self.message) = (code, message)
    }
}
