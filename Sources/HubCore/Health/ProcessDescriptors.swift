import Glibc

/// The file descriptors of this process.
///
/// libzmq 4.3 aborts the process when it accepts an `ipc://` connection and none is left: so there must be many, and the hub leaves in
/// order before the last is gone.
enum ProcessDescriptors {
    /// As many connections as memory allows; more would make spawning slow where a library closes all that could be open.
    private static let enough: rlim_t = 65_536

    private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)

    /// Takes what the system grants without privilege: the limit that most systems start a process with, 1,024, is one script that leaks.
    static func raiseLimit() {
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0, limit.rlim_cur < enough else { return }
        limit.rlim_cur = min(limit.rlim_max, enough)
        setrlimit(resource, &limit)
    }

    /// How many may be open; `nil` where the system does not say.
    static var limit: Int? {
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return nil }
        return Int(clamping: limit.rlim_cur)
    }

    /// All that are open; empty where the system does not say.
    static var open: [CInt] {
        guard let folder = opendir("/dev/fd") else { return [] }
        defer { closedir(folder) }
        var found: [CInt] = []
        while let entry = readdir(folder) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if let number = CInt(name), number != dirfd(folder) { found.append(number) }
        }
        return found
    }

    /// The lowest number that is free: at least so many are open.
    ///
    /// Costs two system calls, however many are open.
    static var lowestFree: Int? {
        let probe = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0)
        guard probe >= 0 else { return errno == EMFILE ? limit : nil }
        close(probe)
        return Int(probe)
    }
}
