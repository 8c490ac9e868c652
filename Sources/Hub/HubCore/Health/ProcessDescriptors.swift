import Glibc

/// The file descriptors of this process.
///
/// libzmq 4.3 aborts the process when it accepts an `ipc://` connection and no descriptor is left. So there must be many, and the hub
/// ends in order before the last one is used.
enum ProcessDescriptors {
    /// Enough for as many connections as memory allows; more would slow down spawning in libraries that close all possible descriptors.
    private static let enough: rlim_t = 65_536

    private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)

    /// Raises the limit as far as the system allows without privilege: one leaking script can use up the usual limit of 1,024.
    static func raiseLimit() {
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0, limit.rlim_cur < enough else { return }
        limit.rlim_cur = min(limit.rlim_max, enough)
        setrlimit(resource, &limit)
    }

    /// How many may be open; `nil` if the system does not report it.
    static var limit: Int? {
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return nil }
        return Int(clamping: limit.rlim_cur)
    }

    /// All open descriptors; empty if the system does not report them.
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

    /// The lowest free number: at least this many descriptors are open.
    ///
    /// Costs two system calls, however many are open.
    static var lowestFree: Int? {
        let probe = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0)
        guard probe >= 0 else { return errno == EMFILE ? limit : nil }
        close(probe)
        return Int(probe)
    }
}
