import Glibc
import Platform

/// Assembles a store from a backup that is not a plain copy: decrypts it, or applies the increments of an earlier version.
struct BackupAssembly {
    typealias Opening = @Sendable (String) throws(StoreError) -> any ByteSource

    let path: String
    let opening: Opening
    let progress: (CopyProgress) -> Bool

    init(path: String, opening: @escaping Opening, progress: @escaping (CopyProgress) -> Bool) {
        (self.path, self.opening, self.progress) = (path, opening, progress)
    }

    private static let magic = Array("SQLite format 3\0".utf8)

    /// Whether SQLite can read the file directly.
    static func isPlain(_ path: String) -> Bool {
        guard let file = try? Descriptor(path, O_RDONLY), let first = try? file.read(upTo: magic.count) else {
            return true
        }
        return !OldChain.isIncrement(first)
            && !["age-encryption.", "-----BEGIN AGE"].contains { first.starts(with: $0.utf8) }
    }

    /// Writes the store into `draft`.
    func write(into draft: DraftFile) throws(StoreError) {
        let source = try opening(path)
        let first = try source.read(upTo: BackupAssembly.magic.count)
        if first == BackupAssembly.magic {
            try copy(path, first, from: source, into: draft)
        } else if OldChain.isIncrement(first) {
            try OldChain(of: self).write(into: draft)
        } else {
            throw StoreError(
                .foreign, "restore \(path): it is neither a store of a hub nor a part of a chain of backups")
        }
        try draft.flush()
    }

    /// Copies a whole backup page by page.
    ///
    /// - Parameters:
    ///   - first: bytes that were read from the source already.
    ///   - body: called with each page.
    func copy(
        _ file: String, _ first: [UInt8] = [], from source: any ByteSource, into draft: DraftFile,
        _ body: ([UInt8]) -> Void = { _ in }
    ) throws(StoreError) {
        var (begun, place) = (first, Int64(0))
        while true {
            let bytes = begun + (try source.read(upTo: PageSnapshot.pageSize - begun.count))
            begun = []
            if bytes.isEmpty { break }
            guard bytes.count == PageSnapshot.pageSize else { throw cut(file) }
            try draft.write(bytes, at: place)
            body(bytes)
            place += Int64(bytes.count)
            try step(place)
        }
        try source.finish()
    }

    func cut(_ file: String) -> StoreError {
        StoreError(
            .corrupt,
            "restore \(path): \(file) ends before it is whole; copy it again, or restore a backup made before it")
    }

    /// Reports progress after every MiB.
    func step(_ done: Int64) throws(StoreError) {
        guard done % (1 << 20) == 0 else { return }
        guard progress(CopyProgress(done: done, total: max(done, 1))) else {
            throw StoreError(.interrupted, "restore \(path): ended before it was whole; nothing was changed")
        }
    }
}
