#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// Which file a program is: what tells an edited or replaced one from the one that was started, though its path is the same.
struct ProgramFile: Sendable, Hashable {
    private let device, inode, size, seconds, nanoseconds: Int64

    /// The file that the path leads to, links followed; `nil` where there is none.
    init?(_ path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        #if canImport(Darwin)
            let changed = status.st_mtimespec
        #else
            let changed = status.st_mtim
        #endif
        device = Int64(truncatingIfNeeded: status.st_dev)
        inode = Int64(truncatingIfNeeded: status.st_ino)
        (size, seconds, nanoseconds) = (Int64(status.st_size), Int64(changed.tv_sec), Int64(changed.tv_nsec))
    }

    /// Which file is at a path, whatever is written to it.
    struct Identity: Sendable, Hashable {
        private let device, inode: Int64

        init?(_ path: String) {
            guard let file = ProgramFile(path) else { return nil }
            (device, inode) = (file.device, file.inode)
        }
    }
}
