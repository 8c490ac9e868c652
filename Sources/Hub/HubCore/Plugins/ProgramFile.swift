#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// The identity of a program's file: it changes if the file is edited or replaced under the same path.
struct ProgramFile: Sendable, Hashable {
    private let device, inode, size, seconds, nanoseconds: Int64

    /// The file at the path, with links followed; `nil` if there is none.
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

    /// The identity of the file at a path, whatever is written to it.
    struct Identity: Sendable, Hashable {
        private let device, inode: Int64

        init?(_ path: String) {
            guard let file = ProgramFile(path) else { return nil }
            (device, inode) = (file.device, file.inode)
        }
    }
}
