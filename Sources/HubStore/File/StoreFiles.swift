import Files
import Glibc

/// The files of a store, as its one owner takes them.
enum StoreFiles {
    /// Takes the right to write the store, which is the lock `<store>.lock`.
    ///
    /// An exchange that was cut short is taken back first.
    static func lock(_ path: String) throws(StoreError) -> FileLock {
        let lock: FileLock
        do throws(FileLock.Failure) { lock = try FileLock(path + ".lock") } catch {
            switch error {
            case .held(let holder):
                throw StoreError(
                    .locked, "open \(path): in use by \(holder); stop that hub (hub stop), or name another store")
            case .refused(let error): throw StoreError(error)
            }
        }
        try StoreExchange.recover(path)
        return lock
    }

    /// Creates the empty store with mode 0600 whatever the umask, or tightens one that others may read.
    static func prepare(_ path: String) throws(StoreError) {
        var status = stat()
        guard stat(path, &status) != 0 || status.st_mode & S_IFMT == S_IFREG else {
            throw StoreError(.foreign, "open \(path): not a regular file")
        }
        try StoreError.translated { () throws(FileError) in try PrivateFile.prepare(path) }
    }
}
