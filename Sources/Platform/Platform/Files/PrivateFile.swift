import Glibc

/// Files that only their owner may read, with mode 0600.
public enum PrivateFile {
    /// The contents of a small file; nil if it does not exist.
    ///
    /// - Parameter most: maximum size in bytes; a longer file is an error.
    public static func read(_ path: String, upTo most: Int) throws(FileError) -> [UInt8]? {
        let file: Descriptor
        do throws(FileError) { file = try Descriptor(path, O_RDONLY) } catch {
            if error.code == ENOENT { return nil }
            throw error
        }
        let bytes = try file.read(upTo: most + 1)
        guard bytes.count <= most else { throw FileError("read", path, code: EFBIG) }
        return bytes
    }

    /// A warning for people if users other than the owner may read the file; nil if they may not, or the file does not exist.
    public static func exposure(of path: String) -> String? {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & 0o077 != 0 else { return nil }
        let mode = "0" + String(status.st_mode & 0o777, radix: 8)
        return "\(path): others can read this key (mode \(mode)) and use it; chmod 600 \(path)"
    }

    /// Writes a file atomically; the file and its name are on the disk when this returns.
    ///
    /// - Parameters:
    ///   - mode: a mode other than 0600 only if the file already had it.
    ///   - neighbour: a file whose owner also gets this file if the superuser writes it.
    /// - Returns: false if the file exists and was not to be replaced.
    @discardableResult
    public static func write(
        _ bytes: [UInt8], to path: String, replacing: Bool = true, mode: UInt32 = 0o600,
        forOwnerOf neighbour: String? = nil
    ) throws(FileError) -> Bool {
        removeLeftDrafts(of: path)
        let draft = "\(path).\(getpid()).draft"
        unlink(draft)
        defer { unlink(draft) }
        let file = try Descriptor(draft, O_WRONLY | O_CREAT | O_EXCL)
        var status = stat()
        if let neighbour, geteuid() == 0, stat(neighbour, &status) == 0,
            fchown(file.number, status.st_uid, status.st_gid) != 0
        {
            throw FileError("change the owner of", draft)
        }
        if mode != 0o600 { try file.setMode(mode) }
        try file.write(bytes)
        try file.flush()
        // `link` fails if the file exists; `rename` replaces it.
        guard replacing ? rename(draft, path) == 0 : link(draft, path) == 0 else {
            if errno == EEXIST { return false }
            throw FileError("write", path)
        }
        try Folder.flush(of: path)
        return true
    }

    /// Atomically replaces the file's contents if they still equal `old`; keeps mode and owner, and follows a symbolic link.
    ///
    /// - Returns: false if the contents have changed, the file is gone, or another caller is replacing it.
    public static func replace(
        _ old: some Collection<UInt8>, with bytes: some Collection<UInt8>, in path: String
    ) throws(FileError) -> Bool {
        try whileUnchanged(old, in: path) { path, mode throws(FileError) in
            try write(Array(bytes), to: path, mode: mode, forOwnerOf: path)
        } ?? false
    }

    /// Runs `body` under the file's lock if the file has the contents `old`; other callers replace the file before or after it.
    ///
    /// - Parameter body: receives the path without symbolic links, and the mode.
    /// - Returns: nil if the contents have changed, the file is gone, or another caller holds the lock.
    public static func whileUnchanged<Value>(
        _ old: some Collection<UInt8>, in path: String,
        _ body: (_ path: String, _ mode: UInt32) throws(FileError) -> Value
    ) throws(FileError) -> Value? {
        let file: Descriptor
        do throws(FileError) { file = try Descriptor(path, O_RDONLY) } catch {
            guard error.code == ENOENT else { throw error }
            return nil
        }
        guard let resolved = realpath(path, nil) else { throw FileError("find", path) }
        let path = String(cString: resolved)
        free(resolved)
        guard try file.lock() else { return nil }
        defer { file.unlock() }
        // Check that the path still leads to the locked file, because another process may have replaced it before the lock was taken.
        var (status, named) = (stat(), stat())
        guard fstat(file.number, &status) == 0, stat(path, &named) == 0, status.st_ino == named.st_ino,
            try file.read(upTo: old.count + 1).elementsEqual(old)
        else { return nil }
        return try body(path, status.st_mode & 0o777)
    }

    /// Removes the draft of a process that was killed while writing.
    static func removeLeftDrafts(of path: String) {
        let folder = Folder.parent(of: path)
        let name = path.split(separator: "/").last.map { "\($0)." } ?? ""
        for left in (try? Folder.names(in: folder)) ?? [] where left.hasPrefix(name) && left.hasSuffix(".draft") {
            guard let process = pid_t(left.dropFirst(name.count).dropLast(".draft".count)), process > 0,
                kill(process, 0) != 0, errno == ESRCH
            else { continue }
            unlink("\(folder)/\(left)")
        }
    }

    /// Creates a missing file empty and durably, or removes other users' rights from an existing one.
    ///
    /// Call it before SQLite opens the file. SQLite would apply the umask, and gives `-wal` and `-shm` the mode of the file itself.
    public static func prepare(_ path: String) throws(FileError) {
        let file = try Descriptor(path, O_RDWR | O_CREAT)
        var status = stat()
        guard fstat(file.number, &status) == 0 else { throw FileError("examine", path) }
        if status.st_mode & 0o077 != 0 { try file.setMode(0o600) }
        // Otherwise a crash could lose the name of a file with confirmed commits.
        if status.st_size == 0 { try Folder.flush(of: path) }
    }

    /// - Returns: whether the file existed.
    public static func remove(_ path: String) throws(FileError) -> Bool {
        guard unlink(path) == 0 else {
            if errno == ENOENT { return false }
            throw FileError("remove", path)
        }
        try Folder.flush(of: path)
        return true
    }
}
