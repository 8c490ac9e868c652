import Glibc
import Platform

/// The files of a store, for the process that owns it.
enum StoreFiles {
    /// Takes the lock for writing the store, `<store>.lock`.
    ///
    /// It also undoes an interrupted exchange.
    static func lock(_ path: String) throws(StoreError) -> FileLock {
        let lock: FileLock
        do throws(FileLock.LockError) { lock = try FileLock(path + ".lock") } catch {
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

    /// Creates the empty store with mode 0600 regardless of the umask, or restricts the mode of an existing file.
    static func prepare(_ path: String) throws(StoreError) {
        var status = stat()
        guard stat(path, &status) != 0 || status.st_mode & S_IFMT == S_IFREG else {
            throw StoreError(.foreign, "open \(path): not a regular file")
        }
        try StoreError.translated { () throws(FileError) in try PrivateFile.prepare(path) }
    }
}
