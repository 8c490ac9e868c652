import Glibc
import Synchronization

/// A right that one process has at a time: an exclusive `flock` on a file of its own.
///
/// The kernel ends it with the process, so a crash leaves no stale lock; the process id in the file is for the texts of errors only.
/// The file stays when the lock goes: removing it would let two processes lock two files of one name. It is not opened through a
/// symbolic link, which could lead to a file that has nothing to do with this one.
public final class FileLock: Sendable {
    /// Why there is no lock.
    public enum Failure: Error, Hashable, Sendable {
        /// Another has it: `process 4711`, or that its number is not known yet.
        case held(by: String)
        case refused(FileError)
    }

    private let file: Mutex<Descriptor?>

    /// Takes the lock, or says who has it; does not wait.
    public init(_ path: String) throws(Failure) {
        do throws(FileError) {
            let file = try Descriptor(path, O_RDWR | O_CREAT | O_NOFOLLOW)
            if try file.lock() {
                // For the texts of errors only: a full disk takes nothing from the lock.
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

    /// Gives the lock up; a second call does nothing.
    public func release() {
        file.withLock { file in
            guard let open = file.take() else { return }
            open.unlock()
        }
    }

    /// Whether a process has the lock now.
    public static func isHeld(_ path: String) -> Bool {
        guard let file = try? Descriptor(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW) else { return false }
        return flock(file.number, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK
    }

    /// `process 4711`, as the last holder wrote it down; nil where no number is there.
    public static func holder(of path: String) -> String? {
        guard let bytes = try? Descriptor(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW).read(upTo: 20) else { return nil }
        let digits = bytes.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        return digits.isEmpty ? nil : "process \(String(decoding: digits, as: UTF8.self))"
    }
}
