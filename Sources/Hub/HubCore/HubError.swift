import Platform

/// A failure of the hub or one of its parts, in words for a person.
public struct HubError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of failure.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Value: String { case configuration, store, endpoints, memory, control, unanswered, exited }
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
        /// The kernel cannot limit the memory of plugins; the hub counts it itself then.
        static let control = Code(.control)
        /// A program of a plugin gave no answer to a question; the message follows the program, its arguments and a colon.
        static let unanswered = Code(.unanswered)
        /// The same, because it ended on its own with an exit code other than 0.
        package static let exited = Code(.exited)

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
