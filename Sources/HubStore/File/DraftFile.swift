import Glibc
import GRDB

/// A file that is being made: its owner's alone, removed unless it is published.
final class DraftFile {
    let path: String
    private let descriptor: CInt
    private var isPublished = false

    /// Begins anew where an attempt was cut short; refuses where one is under way.
    init(_ path: String) throws(StoreError) {
        self.path = path
        let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard file >= 0 else { throw StoreError(system: "make", path) }
        guard flock(file, LOCK_EX | LOCK_NB) == 0 else {
            close(file)
            throw StoreError(.locked, "make \(path): another program is writing it")
        }
        guard ftruncate(file, 0) == 0 else {
            let error = StoreError(system: "empty", path)
            close(file)
            throw error
        }
        // Some file systems of memory sticks have no modes; whoever mounts them says who may read.
        _ = fchmod(file, 0o600)
        descriptor = file
    }

    deinit {
        if !isPublished { remove() }
        close(descriptor)
    }

    private func remove() {
        for suffix in ["", "-wal", "-shm", "-journal"] { unlink(path + suffix) }
    }

    /// A connection to copy pages into: what has not become whole is thrown away, so nothing is written twice.
    func openForCopy() throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.label = "HubStore.draft"
        configuration.prepareDatabase { db in
            try db.execute(sql: "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -4000")
        }
        return try DatabaseQueue(path: path, configuration: configuration)
    }

    /// Brings what was written to the disk.
    func flush() throws(StoreError) {
        guard fdatasync(descriptor) == 0 else { throw StoreError(system: "fsync", path) }
    }

    /// Makes the database one that needs no log beside it, and can be read where nothing can be written.
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

    /// Gives the file its name, unless there is such a file meanwhile.
    func publish(as target: String) throws(StoreError) {
        guard fsync(descriptor) == 0 else { throw StoreError(system: "fsync", path) }
        // The name is taken first, for not every file system can rename without replacing.
        let name = open(target, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard name >= 0 else {
            guard errno == EEXIST else { throw StoreError(system: "make", target) }
            throw StoreError(.exists, "make \(target): there is such a file already; nothing is overwritten")
        }
        close(name)
        guard rename(path, target) == 0 else {
            let error = StoreError(system: "rename \(path) to", target)
            unlink(target)
            throw error
        }
        isPublished = true
        try StoreLock.syncFolder(of: target)
    }

    /// Takes the place of `target`, in one step that survives a crash.
    func replace(_ target: String) throws(StoreError) {
        guard fsync(descriptor) == 0 else { throw StoreError(system: "fsync", path) }
        guard rename(path, target) == 0 else { throw StoreError(system: "rename \(path) to", target) }
        isPublished = true
        try StoreLock.syncFolder(of: target)
    }
}
