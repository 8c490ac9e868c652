import Glibc
import Platform

/// The folder in which a restore is rehearsed.
///
/// Only one rehearsal runs at a time, and ``end()`` removes the folder and its files.
public final class RehearsalFolder: Sendable {
    private let folder: String
    private let lock: FileLock

    fileprivate init(_ store: String) throws(StoreError) {
        let folder = Folder.parent(of: store)
        self.folder = folder
        try StoreError.translated { () throws(FileError) in try Folder.make(folder, withParents: false) }
        do throws(FileLock.Failure) { lock = try FileLock(folder + ".lock") } catch {
            switch error {
            case .held(let holder):
                throw StoreError(.locked, "rehearse in \(folder): \(holder) does so already; wait until it is done")
            case .refused(let error): throw StoreError(error)
            }
        }
        empty()
    }

    /// Removes the rehearsal that a killed program left in the folder of a store.
    static func removeAbandoned(beside store: String) {
        let folder = Folder.parent(of: store) + "/rehearsal"
        guard access(folder, F_OK) == 0 else { return }
        (try? RehearsalFolder(folder + "/hub.sqlite"))?.end()
    }

    /// The total size of the files in the folder.
    public var size: Int64 {
        names.reduce(0) { sum, name in
            var status = stat()
            return sum + (stat("\(folder)/\(name)", &status) == 0 ? Int64(status.st_size) : 0)
        }
    }

    private var names: [String] { (try? Folder.names(in: folder)) ?? [] }

    private func empty() {
        for name in names { unlink("\(folder)/\(name)") }
    }

    public func end() {
        empty()
        rmdir(folder)
        lock.release()
    }
}

extension StoreFile {
    /// Locks and returns the folder for rehearsing a restore of this store, which does not exist yet.
    public func rehearsal() throws(StoreError) -> RehearsalFolder { try RehearsalFolder(path) }
}
