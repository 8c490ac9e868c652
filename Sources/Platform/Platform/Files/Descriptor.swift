public import Glibc

/// An open file that is closed with its last reference; child processes do not inherit it.
public final class Descriptor: Sendable {
    public let number: CInt
    /// For error messages.
    private let path: String

    /// Opens a file or a folder.
    ///
    /// - Parameters:
    ///   - flags: the flags of `open`; `O_CLOEXEC` is added.
    ///   - mode: the mode of a new file, reduced by the umask.
    public init(_ path: String, _ flags: CInt, mode: mode_t = 0o600) throws(FileError) {
        let number = open(path, flags | O_CLOEXEC, mode)
        guard number >= 0 else { throw FileError(flags & O_CREAT == 0 ? "open" : "make", path) }
        (self.number, self.path) = (number, path)
    }

    deinit { close(number) }

    /// Writes all of `bytes`, starting at `offset` in the file.
    public func write(_ bytes: [UInt8], at offset: Int64 = 0) throws(FileError) {
        var written = 0
        while written < bytes.count {
            let count = bytes.withUnsafeBytes { buffer in
                pwrite(number, buffer.baseAddress! + written, buffer.count - written, off_t(offset) + off_t(written))
            }
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { throw FileError("write", path) }
            written += count
        }
    }

    /// The first bytes of the file, at most `most`; allocates memory for the actual contents only.
    public func read(upTo most: Int) throws(FileError) -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < most {
            let piece = try piece(at: bytes.count, upTo: min(most - bytes.count, max(65_536, bytes.count)))
            if piece.isEmpty { break }
            bytes += piece
        }
        return bytes
    }

    /// At most `most` bytes starting at `offset`; empty at the end of the file.
    public func piece(at offset: Int, upTo most: Int) throws(FileError) -> [UInt8] {
        var code: CInt = 0
        let piece = [UInt8](unsafeUninitializedCapacity: most) { buffer, count in
            var got: Int
            repeat { got = pread(number, buffer.baseAddress, most, off_t(offset)) } while got < 0 && errno == EINTR
            if got < 0 { code = errno }
            count = max(0, got)
        }
        guard code == 0 else { throw FileError("read", path, code: code) }
        return piece
    }

    /// Truncates or extends the file to this length.
    public func cut(to length: Int64) throws(FileError) {
        guard ftruncate(number, off_t(length)) == 0 else { throw FileError("cut", path) }
    }

    public func setMode(_ mode: mode_t) throws(FileError) {
        guard fchmod(number, mode) == 0 else { throw FileError("change the mode of", path) }
    }

    /// Returns when all written data is on the disk.
    public func flush() throws(FileError) {
        guard fsync(number) == 0 else { throw FileError("flush", path) }
    }

    /// Takes the exclusive `flock` of the file.
    ///
    /// - Returns: false if another open file holds it.
    public func lock() throws(FileError) -> Bool {
        while flock(number, LOCK_EX | LOCK_NB) != 0 {
            if errno == EINTR { continue }
            guard errno == EWOULDBLOCK else { throw FileError("lock", path) }
            return false
        }
        return true
    }

    /// Releases the lock.
    ///
    /// Closing the descriptor is not enough: a child process that is being started shares the open file until its `exec`.
    public func unlock() { flock(number, LOCK_UN) }
}
