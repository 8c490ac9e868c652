import Glibc

/// What must be looked at before SQLite sees a store: it takes an empty file for a new database, and deletes the log that lies beside it.
enum StoreLoss {
    /// Refuses a store whose file is gone or empty while its log has something, or its sequences say what it held; nothing is changed.
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

    /// Refuses what is not a file by its name: to open a pipe would wait for a writer.
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
