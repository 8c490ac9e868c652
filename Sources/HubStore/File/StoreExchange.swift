import Files
import Glibc

/// Puts a store aside with its log, so that another can take its name in one step.
///
/// The log's files have to go before that step, for SQLite would apply them to the new store: for a moment the old one stands there
/// without. A note beside it, `<store>.exchange`, holds the name under which they wait; the next to take the lock after a crash puts
/// them back.
enum StoreExchange {
    private static let companions = ["-wal", "-shm"]

    private static func note(_ target: String) -> String { target + ".exchange" }

    /// Gives the store a second name, by which it stays when the first becomes another's, and moves the log's files there.
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

    /// The other store has the name.
    static func finish(_ target: String) { unlink(note(target)) }

    /// Takes back what was cut short; the caller has the store's lock.
    static func recover(_ target: String) throws(StoreError) {
        guard let text = try text(at: note(target)) else { return }
        // A note that is not whole was cut short before anything was moved.
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

    /// What tells one file from another that has its name later; nil where there is none.
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
