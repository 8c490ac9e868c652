import Glibc
import Synchronization

/// A lock held by one process at a time: an exclusive `flock` on a separate file.
///
/// The kernel releases the lock when the process ends, so a crash leaves no stale lock. The process id in the file is used only in error
/// messages. The file stays after the lock is released, because removing it would let two processes lock two files with one name. It is
/// not opened through a symbolic link, which could lead to an unrelated file.
public final class FileLock: Sendable {
    /// Why the lock was not taken.
    public enum LockError: Error, Hashable, Sendable {
        /// Another process has it: `process 4711`, or a text that its number is not known yet.
        case held(by: String)
        case refused(FileError)
    }

    private let file: Mutex<Descriptor?>

    /// Takes the lock without waiting, or throws an error that names the holder.
    public init(_ path: String) throws(LockError) {
        do throws(FileError) {
            let file = try Descriptor(path, O_RDWR | O_CREAT | O_NOFOLLOW)
            if try file.lock() {
                // The process id is only for error messages, so ignore a full disk.
                try? file.cut(to: 0)
                try? file.write(Array("\(getpid())\n".utf8))
                self.file = Mutex(file)
                return
            }
        } catch {
            throw .refused(error)
        }
        throw .held(by: Self.holder(of: path) ?? "a process that is just starting")
    }

    deinit { release() }

    /// Releases the lock; a second call does nothing.
    public func release() {
        file.withLock { file in
            guard let open = file.take() else { return }
            open.unlock()
        }
    }

    /// Whether a process currently holds the lock.
    public static func isHeld(_ path: String) -> Bool {
        guard let file = try? Descriptor(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW) else { return false }
        return flock(file.number, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK
    }

    /// `process 4711`, as written by the last holder; nil if the file contains no number.
    public static func holder(of path: String) -> String? {
        guard let bytes = try? Descriptor(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW).read(upTo: 20) else { return nil }
        let digits = bytes.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        return digits.isEmpty ? nil : "process \(String(decoding: digits, as: UTF8.self))"
    }
}
