import Glibc

/// A failed operation of the system on a file or folder.
public struct FileError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The operation as a verb: `open`, `write`.
    public let verb: String
    public let path: String
    /// The system's error number, such as `ENOSPC`.
    public let code: CInt

    /// - Parameter code: the error number; by default the current `errno`.
    public init(_ verb: String, _ path: String, code: CInt? = nil) {
        let last = errno
        (self.verb, self.path, self.code) = (verb, path, code ?? last)
    }

    /// The reason in the system's words.
    public var reason: String {
        code == ELOOP
            ? "it is a symbolic link, and files are not written through links: check its target, then remove it"
            : String(cString: strerror(code))
    }

    /// One line: the operation, the path, and the reason.
    public var description: String { "cannot \(verb) \(path): \(reason)" }
}
