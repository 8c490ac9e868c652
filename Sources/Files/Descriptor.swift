public import Glibc

/// An open file, closed when its last owner lets go of it; programs that are started from here do not inherit it.
public final class Descriptor: Sendable {
    public let number: CInt
    /// For the texts of errors.
    private let path: String

    /// Opens a file or a folder.
    ///
    /// - Parameters:
    ///   - flags: of `open`; `O_CLOEXEC` is added.
    ///   - mode: of a file that this makes, less the umask.
    public init(_ path: String, _ flags: CInt, mode: mode_t = 0o600) throws(FileError) {
        let number = open(path, flags | O_CLOEXEC, mode)
        guard number >= 0 else { throw FileError(flags & O_CREAT == 0 ? "open" : "make", path) }
        (self.number, self.path) = (number, path)
    }

    deinit { close(number) }

    /// Writes all of `bytes`, beginning `offset` bytes into the file.
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

    /// The first bytes of the file, so many at most; takes memory by what is in the file, not by what may be.
    public func read(upTo most: Int) throws(FileError) -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < most {
            let piece = try piece(at: bytes.count, upTo: min(most - bytes.count, max(65_536, bytes.count)))
            if piece.isEmpty { break }
            bytes += piece
        }
        return bytes
    }

    /// So many bytes at most from this place on; none where the file ends there.
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

    /// Makes the file so many bytes long.
    public func cut(to length: Int64) throws(FileError) {
        guard ftruncate(number, off_t(length)) == 0 else { throw FileError("cut", path) }
    }

    public func setMode(_ mode: mode_t) throws(FileError) {
        guard fchmod(number, mode) == 0 else { throw FileError("change the mode of", path) }
    }

    /// Returns when all that was written is on the disk.
    public func flush() throws(FileError) {
        guard fsync(number) == 0 else { throw FileError("flush", path) }
    }

    /// Takes the exclusive `flock` of the file.
    ///
    /// - Returns: false where another open file has it.
    public func lock() throws(FileError) -> Bool {
        while flock(number, LOCK_EX | LOCK_NB) != 0 {
            if errno == EINTR { continue }
            guard errno == EWOULDBLOCK else { throw FileError("lock", path) }
            return false
        }
        return true
    }

    /// Gives the lock up.
    ///
    /// Closing alone would not do: a program that is being started elsewhere in this process has the file open too until its `exec`.
    public func unlock() { flock(number, LOCK_UN) }
}
