import Platform

/// The failure that kept the hub from starting, or made it end.
public struct HubError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of failure.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Value: String { case configuration, store, endpoints, memory }
        private let value: Value

        private init(_ value: Value) { self.value = value }

        /// `hub.conf` cannot be used.
        public static let configuration = Code(.configuration)
        /// The store cannot be opened: another hub uses it, or the file is damaged, newer or not writable.
        public static let store = Code(.store)
        /// The run directory or its sockets cannot be made.
        public static let endpoints = Code(.endpoints)
        /// The hub reached `memory_limit`, or nearly used up its file descriptors, and ended to be started again.
        public static let memory = Code(.memory)

        public var description: String { value.rawValue }
    }

    public let code: Code
    /// One line: the action, its object, the cause, and the remedy.
    public let message: String

    init(_ code: Code, _ message: String) {
        (self.code, self.message) = (code, message)
    }

    /// An operation that the system refused.
    init(_ error: FileError) { self.init(.endpoints, error.description) }

    /// Runs file operations, and converts their errors to the hub's.
    @discardableResult
    static func translated<Value>(_ body: () throws(FileError) -> Value) throws(HubError) -> Value {
        do throws(FileError) { return try body() } catch { throw HubError(error) }
    }

    public var description: String { message }
}
