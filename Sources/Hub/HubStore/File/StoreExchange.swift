import Glibc
import Platform

/// Moves a store and its log aside, so that another store can take its name in one step.
///
/// The log's files must be moved before that step, because SQLite would apply them to the new store. For a moment the old store has no log. A note
/// beside it, `<store>.exchange`, holds the name of the moved files. After a crash, the next holder of the lock moves them back.
enum StoreExchange {
    private static let companions = ["-wal", "-shm"]

    private static func note(_ target: String) -> String { target + ".exchange" }

    /// Gives the store a second name, which remains when the first name is reused, and moves the log's files to it.
    static func begin(_ target: String, keeping name: String) throws(StoreError) {
        guard let file = fileNumber(target) else { throw StoreError(system: "examine", target) }
        let text = Array("\(file) \(name)\n".utf8)
        try StoreError.translated { () throws(FileError) in try PrivateFile.write(text, to: note(target)) }
        for suffix in companions where access(target + suffix, F_OK) == 0 {
            guard rename(target + suffix, name + suffix) == 0 else {
                throw StoreError(system: "rename \(target)\(suffix) to", name + suffix)
            }
        }
        guard link(target, name) == 0 else { throw StoreError(system: "keep the replaced store as", name) }
    }

    /// Completes the exchange once the other store has the name.
    static func finish(_ target: String) { unlink(note(target)) }

    /// Undoes an interrupted exchange.
    ///
    /// The caller holds the store's lock.
    static func recover(_ target: String) throws(StoreError) {
        guard let text = try text(at: note(target)) else { return }
        // An incomplete note was interrupted before any file was moved.
        let parts = text.hasSuffix("\n") ? text.dropLast().split(separator: " ", maxSplits: 1) : []
        if parts.count == 2, UInt64(parts[0]) == fileNumber(target), parts[1].hasPrefix(target + ".") {
            let name = String(parts[1])
            for suffix in companions where access(name + suffix, F_OK) == 0 {
                guard rename(name + suffix, target + suffix) == 0 else {
                    throw StoreError(system: "rename \(name)\(suffix) to", target + suffix)
                }
            }
            unlink(name)
            try StoreError.translated { () throws(FileError) in try Folder.flush(of: target) }
        }
        finish(target)
    }

    /// The inode number, which differs if another file gets the same name; nil if there is no file.
    private static func fileNumber(_ path: String) -> UInt64? {
        var status = stat()
        return stat(path, &status) == 0 ? UInt64(status.st_ino) : nil
    }

    private static func text(at path: String) throws(StoreError) -> String? {
        do throws(FileError) {
            return String(decoding: try Descriptor(path, O_RDONLY | O_NOFOLLOW).read(upTo: 8_192), as: UTF8.self)
        } catch {
            if error.code == ENOENT { return nil }
            throw StoreError(error)
        }
    }
}
