import Glibc
import Platform

/// A backup that can be opened as a store: the file itself if it is plain, or a temporary copy that is removed with this object.
public final class BackupCopy: Sendable {
    public let file: StoreFile
    private let draft: DraftFile?

    /// - Parameters:
    ///   - path: the backup.
    ///   - store: the path beside which a copy is assembled if one is needed. This is the disk on which the backup would be restored.
    ///   - purpose: the copy is named `<store>.<purpose>`.
    ///   - opening: opens a file that SQLite cannot read directly.
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
