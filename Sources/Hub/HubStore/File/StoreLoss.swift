import Glibc

/// Checks made before SQLite opens a store.
///
/// SQLite treats an empty file as a new database and deletes the log beside it.
enum StoreLoss {
    /// Throws if the store's file is missing or empty but its log or its sequence file shows that it had records.
    ///
    /// Changes nothing.
    static func check(_ path: String) throws(StoreError) {
        let log = path + "-wal"
        guard size(path) ?? 0 == 0 else { return }
        guard let bytes = size(log), bytes > 0 else { return try checkSequences(path) }
        throw StoreError(
            .corrupt,
            "open \(path): the file is \(size(path) == nil ? "missing" : "empty"), but its log \(log) has \(bytes) bytes of committed records; nothing was changed. Copy the whole folder elsewhere first, then: hub restore BACKUP"
        )
    }

    private static func checkSequences(_ path: String) throws(StoreError) {
        guard let head = try SequenceReserve.read(of: path)?.places.map(\.head).max(), head > 0 else { return }
        let record = SequenceReserve.path(of: path)
        throw StoreError(
            .corrupt,
            "open \(path): the file is \(size(path) == nil ? "missing" : "empty"), but \(record) says that it held sequences up to \(head); nothing was changed. Put its records back: hub restore BACKUP. To begin without them, move \(record) away"
        )
    }

    /// Throws if the path is not a regular file, because opening a pipe would wait for a writer.
    static func checkKind(_ path: String) throws(StoreError) {
        var status = stat()
        guard stat(path, &status) == 0 else {
            guard errno == ENOENT else { throw StoreError(system: "open", path) }
            throw StoreError(.missing, "open \(path): there is no such file")
        }
        switch status.st_mode & S_IFMT {
        case S_IFREG: return
        case S_IFDIR: throw StoreError(.foreign, "open \(path): it is a folder; name the file in it")
        default: throw StoreError(.foreign, "open \(path): it is not a regular file")
        }
    }

    private static func size(_ path: String) -> Int? {
        var status = stat()
        return stat(path, &status) == 0 ? Int(status.st_size) : nil
    }
}
