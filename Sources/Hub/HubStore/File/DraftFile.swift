import GRDB
import Glibc
import Platform
import Synchronization

/// A file in preparation: only its owner can access it, and it is removed unless it is published.
final class DraftFile: Sendable {
    let path: String
    private let file: Descriptor
    private let isPublished = Mutex(false)

    /// Creates the file, or restarts an interrupted attempt.
    ///
    /// Throws if another program is writing the file.
    init(_ path: String) throws(StoreError) {
        self.path = path
        try PageChecksums.begin()
        let file = try DraftFile.take(path)
        try StoreError.translated { () throws(FileError) in try file.cut(to: 0) }
        // Some file systems of memory sticks have no modes. Their mount options determine the access.
        try? file.setMode(0o600)
        self.file = file
    }

    deinit {
        guard !isPublished.withLock({ $0 }) else { return }
        for suffix in [""] + DraftFile.logs { unlink(path + suffix) }
    }

    /// Suffixes of files that SQLite may create beside it.
    static let logs = ["-wal", "-shm", "-journal"]

    private static func take(_ path: String) throws(StoreError) -> Descriptor {
        while true {
            let file = try StoreError.translated { () throws(FileError) in
                try Descriptor(path, O_RDWR | O_CREAT | O_NOFOLLOW)
            }
            guard try StoreError.translated({ () throws(FileError) in try file.lock() }) else {
                throw StoreError(.locked, "make \(path): another program is writing it")
            }
            // Another program may have removed the file in between as an abandoned one.
            var (opened, named) = (stat(), stat())
            if fstat(file.number, &opened) == 0, lstat(path, &named) == 0, opened.st_ino == named.st_ino { return file }
        }
    }

    /// A connection to copy pages into.
    ///
    /// It uses no journal, because an incomplete file is discarded.
    ///
    /// - Parameter withSums: whether the copied pages have checksums.
    func openForCopy(withSums: Bool) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.label = "HubStore.draft"
        configuration.prepareDatabase { db in
            if withSums { try PageChecksums.enable(db) }
            try db.execute(sql: "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -4000")
        }
        return try DatabaseQueue(path: path, configuration: configuration)
    }

    /// The number of bytes written so far.
    var size: Int64 {
        var status = stat()
        return stat(path, &status) == 0 ? Int64(status.st_size) : 0
    }

    /// The descriptor, for a program that writes into the file.
    var descriptor: CInt { file.number }

    func write(_ bytes: [UInt8], at place: Int64) throws(StoreError) {
        try StoreError.translated { () throws(FileError) in try file.write(bytes, at: place) }
    }

    func cut(to length: Int64) throws(StoreError) {
        try StoreError.translated { () throws(FileError) in try file.cut(to: length) }
    }

    /// Flushes the file to the disk.
    func flush() throws(StoreError) {
        try StoreError.translated { () throws(FileError) in try file.flush() }
    }

    /// Makes the database readable without a log beside it, also from a read-only place.
    func makePlain() throws(StoreError) { try change { _ in } }

    /// Runs `body` on the finished copy.
    func change(_ body: (Database) throws -> Void) throws(StoreError) {
        do {
            let queue = try DatabaseQueue(path: path)
            try queue.writeWithoutTransaction { db in
                try db.execute(sql: "PRAGMA journal_mode = DELETE; PRAGMA synchronous = FULL")
                try body(db)
            }
            try queue.close()
        } catch {
            throw StoreError(error, doing: "finish \(path)")
        }
    }

    /// Renames the file to its final name; throws if a file with that name exists meanwhile.
    func publish(as target: String) throws(StoreError) {
        try flush()
        // A hard link fails if the file exists, and it never exposes a partial file.
        if link(path, target) == 0 {
            isPublished.withLock { $0 = true }
            unlink(path)
            return try StoreError.translated { () throws(FileError) in try Folder.flush(of: target) }
        }
        // Some file systems, as on memory sticks, have no hard links. An empty file then reserves the name first.
        do throws(FileError) { _ = try Descriptor(target, O_WRONLY | O_CREAT | O_EXCL) } catch {
            guard error.code == EEXIST else { throw StoreError(error) }
            throw StoreError(.exists, "make \(target): there is such a file already; nothing is overwritten")
        }
        do { try replace(target) } catch {
            if !isPublished.withLock({ $0 }) { unlink(target) }
            throw error
        }
    }

    /// Replaces `target` atomically, also across a crash.
    func replace(_ target: String) throws(StoreError) {
        try flush()
        guard rename(path, target) == 0 else { throw StoreError(system: "rename \(path) to", target) }
        isPublished.withLock { $0 = true }
        try StoreError.translated { () throws(FileError) in try Folder.flush(of: target) }
    }
}
