import Glibc

/// What the system refused to do with a file or a folder.
public struct FileError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What was being done, as a verb: `open`, `write`.
    public let verb: String
    public let path: String
    /// The system's number for the reason, such as `ENOSPC`.
    public let code: CInt

    /// - Parameter code: `errno` at the call, unless it is given.
    public init(_ verb: String, _ path: String, code: CInt? = nil) {
        let last = errno
        (self.verb, self.path, self.code) = (verb, path, code ?? last)
    }

    /// The reason in the system's words.
    public var reason: String {
        code == ELOOP
            ? "it is a symbolic link, and nothing is written through one: look where it leads, then remove it"
            : String(cString: strerror(code))
    }

    /// One line: what was being done, to what, and why it failed.
    public var description: String { "cannot \(verb) \(path): \(reason)" }
}
