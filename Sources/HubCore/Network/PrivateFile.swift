import FoundationEssentials
import Glibc

/// Small files that only their owner may read: written whole or not at all, and on the disk when `write` returns.
enum PrivateFile {
    /// The largest that is read; a key is much smaller.
    private static let bound = 65_536

    /// Nil if there is no such file.
    static func read(_ path: String) throws(HubError) -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw failure("read", path)
        }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: bound + 1)
        var count = 0
        while count < bytes.count {
            let got = bytes.withUnsafeMutableBytes { systemRead(descriptor, $0.baseAddress! + count, $0.count - count) }
            if got == -1, errno == EINTR { continue }
            guard got >= 0 else { throw failure("read", path) }
            if got == 0 { break }
            count += got
        }
        guard count <= bound else { throw HubError(.endpoints, "\(path) has more than \(bound) bytes, and is no key") }
        return Array(bytes[..<count])
    }

    /// Writes a file of mode 0600.
    ///
    /// - Returns: false if there is one already and it was not to be replaced.
    static func write(_ bytes: [UInt8], to path: String, replacing: Bool) throws(HubError) -> Bool {
        let draft = "\(path).\(getpid()).draft"
        unlink(draft)
        let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw failure("write", draft) }
        defer { unlink(draft) }
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes { systemWrite(descriptor, $0.baseAddress! + sent, $0.count - sent) }
            if count == -1, errno == EINTR { continue }
            guard count > 0 else {
                close(descriptor)
                throw failure("write", draft)
            }
            sent += count
        }
        let isOnDisk = fsync(descriptor) == 0
        close(descriptor)
        guard isOnDisk else { throw failure("write", draft) }
        // A link fails where there is a file, a rename does not.
        guard replacing ? rename(draft, path) == 0 : link(draft, path) == 0 else {
            if errno == EEXIST { return false }
            throw failure("write", path)
        }
        try flushFolder(of: path)
        return true
    }

    /// - Returns: whether there was such a file.
    static func remove(_ path: String) throws(HubError) -> Bool {
        guard unlink(path) == 0 else {
            if errno == ENOENT { return false }
            throw failure("remove", path)
        }
        try flushFolder(of: path)
        return true
    }

    /// Makes a folder of mode 0700, if it is missing, and those above it.
    static func makeFolder(_ path: String) throws(HubError) {
        do {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw HubError(.endpoints, "cannot make the folder \(path): \(error)")
        }
        guard chmod(path, 0o700) == 0 else { throw failure("give mode 0700 to", path) }
    }

    /// The names of what is in a folder; none if there is no such folder.
    static func names(in folder: String) throws(HubError) -> [String] {
        do {
            return try FileManager.default.contentsOfDirectory(atPath: folder)
        } catch let error as CocoaError where error.code == .fileReadNoSuchFile {
            return []
        } catch {
            throw HubError(.endpoints, "cannot read the folder \(folder): \(error)")
        }
    }

    private static func flushFolder(of path: String) throws(HubError) {
        let folder = path.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
        let descriptor = open(folder, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure("write", folder) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw failure("write", folder) }
    }

    private static func failure(_ verb: String, _ path: String) -> HubError {
        HubError(.endpoints, "cannot \(verb) \(path): \(String(cString: strerror(errno)))")
    }

    private static func systemRead(_ descriptor: CInt, _ bytes: UnsafeMutableRawPointer, _ count: Int) -> Int {
        Glibc.read(descriptor, bytes, count)
    }

    private static func systemWrite(_ descriptor: CInt, _ bytes: UnsafeRawPointer, _ count: Int) -> Int {
        Glibc.write(descriptor, bytes, count)
    }
}
