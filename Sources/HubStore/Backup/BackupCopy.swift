import Files
import Glibc

/// A backup that can be looked at as a store: itself where it is plain, else a copy that goes away with this.
public final class BackupCopy: Sendable {
    public let file: StoreFile
    private let draft: DraftFile?

    /// - Parameters:
    ///   - path: the backup.
    ///   - store: beside which it is put together, where that is needed: the disk on which it would be restored.
    ///   - purpose: the copy is called `<store>.<purpose>`.
    ///   - opening: how a file is read that SQLite cannot read as it is.
    public init(
        of path: String, beside store: String, as purpose: String,
        opening: @escaping @Sendable (String) throws(StoreError) -> any ByteSource
    ) throws(StoreError) {
        guard !BackupAssembly.isPlain(path) else {
            (file, draft) = (StoreFile(path), nil)
            return
        }
        let draft = try DraftFile("\(store).\(purpose)")
        try BackupAssembly(path: path, opening: opening) { _ in true }.write(into: draft)
        (file, self.draft) = (StoreFile(draft.path), draft)
    }
}
