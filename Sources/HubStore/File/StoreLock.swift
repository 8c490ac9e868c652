import Glibc
import Synchronization

/// The right to write one store: an exclusive `flock` on `<store>.lock`, which the kernel ends with the process.
///
/// Nothing is written through a symbolic link, which could lead to a file of the user's that has nothing to do with the hub.
/// The file stays when the lock goes: removing it would let two processes lock two files of one name.
final class StoreLock: Sendable {
    private let descriptor: Mutex<CInt?>

    /// Takes the lock, or says which process has it.
    init(for path: String) throws(StoreError) {
        let lockPath = path + ".lock"
        let descriptor = open(lockPath, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw StoreError(system: "open", lockPath) }
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            if errno == EINTR { continue }
            let reason = errno
            let holder = StoreLock.text(of: descriptor)
            close(descriptor)
            guard reason == EWOULDBLOCK else {
                throw StoreError(.input, "lock \(lockPath): \(String(cString: strerror(reason)))")
            }
            throw StoreError(
                .locked,
                "open \(path): in use by process \(holder.isEmpty ? "unknown" : holder); stop that hub, or name another store"
            )
        }
        self.descriptor = Mutex(descriptor)
        let text = Array(String(getpid()).utf8)
        guard ftruncate(descriptor, 0) == 0, pwrite(descriptor, text, text.count, 0) == text.count else {
            let error = StoreError(system: "write", lockPath)
            release()
            throw error
        }
        do {
            try StoreExchange.recover(path)
        } catch {
            release()
            throw error
        }
    }

    deinit { release() }

    /// Gives the lock up; a second call does nothing.
    ///
    /// Closing alone would not do: a program that is being started elsewhere in this process has the file open too until its `exec`.
    func release() {
        descriptor.withLock { descriptor in
            guard let open = descriptor.take() else { return }
            flock(open, LOCK_UN)
            close(open)
        }
    }

    /// Creates the empty store with mode 0600 whatever the umask, or tightens one that others may read.
    ///
    /// SQLite gives `-wal` and `-shm` the mode of the file itself.
    static func prepareFile(_ path: String) throws(StoreError) {
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw StoreError(system: "open", path) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw StoreError(system: "examine", path) }
        guard status.st_mode & S_IFMT == S_IFREG else { throw StoreError(.foreign, "open \(path): not a regular file") }
        guard status.st_mode & 0o077 == 0 || fchmod(descriptor, 0o600) == 0 else {
            throw StoreError(system: "chmod 0600", path)
        }
        guard status.st_size == 0 else { return }
        try syncFolder(of: path)
    }

    /// Makes a new name durable: without it a crash could lose the file that a confirmed commit went into.
    static func syncFolder(of path: String) throws(StoreError) {
        let folder = path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        let descriptor = open(folder, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw StoreError(system: "open folder", folder) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw StoreError(system: "fsync folder", folder) }
    }

    private static func text(of descriptor: CInt) -> String {
        var bytes = [UInt8](repeating: 0, count: 32)
        let count = pread(descriptor, &bytes, bytes.count, 0)
        return count > 0 ? String(decoding: bytes[..<count], as: UTF8.self) : ""
    }
}
