import Glibc
import Synchronization

/// The right of one `PluginState` to a directory: an exclusive `flock` on the file `lock` in it.
///
/// The kernel ends it with the process, so a crash leaves no stale lock; the process id in the file is for the error
/// text only. It is not inherited by programs the plugin starts.
final class DirectoryLock: Sendable {
    private let descriptor: Mutex<CInt?>

    init(directory: String) throws(PluginStateError) {
        let path = directory + "/lock"
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw PluginStateError(errno: errno, "locking the plugin's state", path) }
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            let code = errno
            if code == EINTR { continue }
            let holder = Self.holder(descriptor)
            close(descriptor)
            guard code == EWOULDBLOCK else { throw PluginStateError(errno: code, "locking the plugin's state", path) }
            throw PluginStateError(
                .locked,
                "locking the plugin's state failed: \(directory) is in use by process \(holder); "
                    + "stop that one, or give each instance a directory of its own")
        }
        let text = "\(getpid())\n"
        guard ftruncate(descriptor, 0) == 0, pwrite(descriptor, text, text.utf8.count, 0) == text.utf8.count else {
            let code = errno
            close(descriptor)
            throw PluginStateError(errno: code, "locking the plugin's state", path)
        }
        self.descriptor = Mutex(descriptor)
    }

    deinit { release() }

    /// Gives the directory free; harmless when done already.
    func release() {
        descriptor.withLock { descriptor in
            guard let open = descriptor else { return }
            // Closing alone would not do: a program just being started elsewhere in this process shares the lock from
            // its fork until its exec.
            flock(open, LOCK_UN)
            close(open)
            descriptor = nil
        }
    }

    /// The process id its holder wrote, or a word that says there is none yet.
    private static func holder(_ descriptor: CInt) -> String {
        var text = [UInt8](repeating: 0, count: 20)
        let count = pread(descriptor, &text, text.count, 0)
        let digits = text.prefix(max(0, count)).prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        return digits.isEmpty ? "(just starting, id not known yet)" : String(decoding: digits, as: UTF8.self)
    }
}

/// The system's words for an `errno` value.
func systemMessage(_ code: CInt) -> String {
    guard let text = strerror(code) else { return "error \(code)" }
    return String(cString: text)
}

/// Creates `path` and what is missing above it, for the owner only.
///
/// A directory that exists is left as it is.
func makePrivateDirectory(_ path: String) throws(PluginStateError) {
    if mkdir(path, 0o700) == 0 {
        return try synchronizeDirectory(parent(of: path))
    }
    switch errno {
    case EEXIST:
        var information = stat()
        guard stat(path, &information) == 0, information.st_mode & S_IFMT == S_IFDIR else {
            throw PluginStateError(errno: ENOTDIR, "creating the state directory", path)
        }
    case ENOENT where parent(of: path) != path:
        try makePrivateDirectory(parent(of: path))
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else {
            throw PluginStateError(errno: errno, "creating the state directory", path)
        }
        try synchronizeDirectory(parent(of: path))
    case let code:
        throw PluginStateError(errno: code, "creating the state directory", path)
    }
}

/// Creates `path` as an empty file for the owner only, or takes other users' rights from the one that exists.
///
/// Done before SQLite opens it: SQLite would follow the umask, and gives `-wal` and `-shm` the rights of this file.
func makePrivateFile(_ path: String, in directory: String) throws(PluginStateError) {
    let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw PluginStateError(errno: errno, "opening the plugin's state", path) }
    defer { close(descriptor) }
    guard fchmod(descriptor, 0o600) == 0 else {
        throw PluginStateError(errno: errno, "protecting the plugin's state", path)
    }
    // Else a power failure could lose the file's name with everything that was confirmed in it.
    try synchronizeDirectory(directory)
}

private func parent(of path: String) -> String {
    var rest = path[...]
    while rest.count > 1, rest.last == "/" { rest.removeLast() }
    guard let slash = rest.lastIndex(of: "/") else { return "." }
    return slash == rest.startIndex ? "/" : String(rest[..<slash])
}

private func synchronizeDirectory(_ path: String) throws(PluginStateError) {
    let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw PluginStateError(errno: errno, "opening the directory", path) }
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 else { throw PluginStateError(errno: errno, "synchronising the directory", path) }
}
