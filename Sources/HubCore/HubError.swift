import Files

/// Why the hub could not start, or had to leave.
public struct HubError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What kind of failure it is.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Value: String { case configuration, store, endpoints, memory }
        private let value: Value

        private init(_ value: Value) { self.value = value }

        /// `hub.conf` cannot be used.
        public static let configuration = Code(.configuration)
        /// The store cannot be opened: another hub has it, or the file is damaged, newer, not writable.
        public static let store = Code(.store)
        /// The run directory or its sockets cannot be made.
        public static let endpoints = Code(.endpoints)
        /// The hub held more memory than `memory_limit`, or nearly all file descriptors, and left, to be started again.
        public static let memory = Code(.memory)

        public var description: String { value.rawValue }
    }

    public let code: Code
    /// One line: what was being done, to what, why it failed, what to do.
    public let message: String

    init(_ code: Code, _ message: String) {
        (self.code, self.message) = (code, message)
    }

    /// What the system refused.
    init(_ error: FileError) { self.init(.endpoints, error.description) }

    /// Does something with files, whose errors become the hub's.
    @discardableResult
    static func translated<Value>(_ body: () throws(FileError) -> Value) throws(HubError) -> Value {
        do throws(FileError) { return try body() } catch { throw HubError(error) }
    }

    public var description: String { message }
}
