import GRDB
import Glibc
import Platform

extension StoreFile {
    /// Writes the committed state into a new file through `seal`, which encrypts it.
    ///
    /// First runs SQLite's integrity check on the same snapshot, then compares each page's checksum as it is read. No byte reaches a disk before it
    /// is encrypted. The file is named `<target>.part` until it is complete. A failure leaves no file behind.
    /// - Parameters:
    ///   - target: must not exist.
    ///   - seal: begins the encryption into a file, given its descriptor.
    ///   - progress: return `false` to end with `interrupted`.
    /// - Returns: a summary of the backup, which is also written beside it, because only the holder of the key can read it there.
    public func backUp(
        to target: String, through seal: @Sendable (CInt) throws(StoreError) -> any ByteSink,
        progress: @escaping (CopyProgress) -> Bool = { _ in true }
    ) throws(StoreError) -> StoreSummary {
        let verb = "back up \(path) to \(target)"
        func expectAbsent() throws(StoreError) {
            guard access(target, F_OK) != 0 else {
                throw StoreError(.exists, "\(verb): there is such a file already; nothing is overwritten")
            }
        }
        try expectAbsent()
        do {
            let queue = try open()
            defer { try? queue.close() }
            return try PageSnapshot.with(queue) { snapshot in
                if let fault = try snapshot.faults().first {
                    throw StoreError(
                        .corrupt, "\(verb): the store is not sound (\(fault)); hub doctor --deep looks at it")
                }
                let draft = try DraftFile(target + ".part")
                // Another backup of the same second may have published its file before this one had the draft.
                try expectAbsent()
                try KnownBackup.note(target, of: path)
                let sink = try seal(draft.descriptor)
                try snapshot.write(to: sink) { step in
                    guard progress(step) else { throw StoreError(.interrupted, "\(verb): ended before it was whole") }
                }
                try sink.finish()
                // A backup without a summary would stay for ever, but a summary without a backup is only a line.
                try BackupSummary(size: draft.size, store: snapshot.summary).write(beside: target)
                do { try draft.publish(as: target) } catch {
                    if access(target, F_OK) != 0 { unlink(target + BackupSummary.suffix) }
                    throw error
                }
                // Without this line the backup stays listed as begun.
                try? KnownBackup.note(target, snapshot.summary, of: path)
                return snapshot.summary
            }
        } catch {
            throw StoreError(error, doing: verb, path)
        }
    }
}
