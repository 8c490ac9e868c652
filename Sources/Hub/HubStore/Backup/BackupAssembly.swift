import Glibc
import Platform

/// Assembles a store from a backup that is not a plain copy: decrypts it, and applies increments up to the given one.
struct BackupAssembly {
    typealias Opening = @Sendable (String) throws(StoreError) -> any ByteSource

    let path: String
    let opening: Opening
    let progress: (CopyProgress) -> Bool

    init(path: String, opening: @escaping Opening, progress: @escaping (CopyProgress) -> Bool) {
        (self.path, self.opening, self.progress) = (path, opening, progress)
    }

    private var folder: String { Folder.parent(of: path) }
    private static let magic = Array("SQLite format 3\0".utf8)

    /// Whether SQLite can read the file directly.
    static func isPlain(_ path: String) -> Bool {
        guard let file = try? Descriptor(path, O_RDONLY), let first = try? file.read(upTo: magic.count) else {
            return true
        }
        return ![Increment.title, "age-encryption.org/", "-----BEGIN AGE"].contains { title in
            first == Array(title.utf8.prefix(magic.count)) || first.starts(with: title.utf8)
        }
    }

    /// Writes the store into `draft`.
    ///
    /// Compares each file with its checksum, and each state with the one that the next file was made from.
    func write(into draft: DraftFile) throws(StoreError) {
        var (links, full): ([(path: String, head: Increment)], String) = ([], path)
        while let head = try head(of: full) {
            if let later = links.last {
                guard later.head.chain == head.chain, later.head.position == head.position + 1 else {
                    throw wrongBase(full, of: later.path)
                }
            }
            links.append((full, head))
            full = "\(folder)/\(head.base)"
            guard access(full, F_OK) == 0 else {
                throw StoreError(
                    .missing,
                    "restore \(path): \(full), from which \(links[links.count - 1].path) goes on, is missing; put it there, or restore a backup made before it"
                )
            }
        }
        if let first = links.last, first.head.position != 1 { throw wrongBase(full, of: first.path) }
        var digests = try copy(full, into: draft, links.first?.head.chain.key)
        for link in links.reversed() { try apply(link.path, link.head, to: draft, &digests) }
        try draft.flush()
    }

    private func wrongBase(_ base: String, of path: String) -> StoreError {
        StoreError(.corrupt, "restore \(self.path): \(base) is not the backup from which \(path) goes on")
    }

    /// The header of an increment; nil for a full backup.
    private func head(of path: String) throws(StoreError) -> Increment? {
        let source = try opening(path)
        let first = try source.read(upTo: BackupAssembly.magic.count)
        if first == BackupAssembly.magic { return nil }
        guard first == Array(Increment.title.utf8.prefix(first.count)), first.count == BackupAssembly.magic.count else {
            throw StoreError(
                .foreign, "restore \(path): it is neither a store of a hub nor a part of a chain of backups")
        }
        return try Increment.readHead(source, after: first, path)
    }

    private func copy(_ full: String, into draft: DraftFile, _ key: [UInt8]?) throws(StoreError)
        -> BackupChain.PageDigests
    {
        let source = try opening(full)
        let maker = BackupChain.PageDigests(key: key ?? [])
        var (digests, place): ([UInt8], Int64) = ([], 0)
        while true {
            let bytes = try source.read(upTo: PageSnapshot.pageSize)
            if bytes.isEmpty { break }
            guard bytes.count == PageSnapshot.pageSize else { throw cut(full) }
            try draft.write(bytes, at: place)
            if key != nil { digests += maker.of(bytes) }
            place += Int64(bytes.count)
            try step(place)
        }
        try source.finish()
        return BackupChain.PageDigests(digests, key: key ?? [])
    }

    private func apply(
        _ path: String, _ known: Increment, to draft: DraftFile, _ digests: inout BackupChain.PageDigests
    ) throws(StoreError) {
        guard digests.state == known.from else { throw wrongBase("\(folder)/\(known.base)", of: path) }
        let source = try opening(path)
        let head = try source.read(upTo: known.head.count)
        let damaged = StoreError(
            .corrupt, "restore \(self.path): \(path) is damaged; restore a backup made before it")
        guard head == known.head else { throw damaged }
        var (entries, last): ([UInt8], Int64) = ([], 0)
        digests.cut(to: known.pages)
        while true {
            let number = try source.read(upTo: 4)
            guard number.count == 4 else { throw cut(path) }
            let page = number.reduce(0) { $0 << 8 | Int64($1) }
            if page == 0 { break }
            let bytes = try source.read(upTo: PageSnapshot.pageSize)
            guard bytes.count == PageSnapshot.pageSize else { throw cut(path) }
            guard page > last, page <= known.pages, page <= digests.count + 1 else { throw damaged }
            last = page
            let digest = digests.of(bytes)
            entries += number + digest
            digests.set(page, digest)
            try draft.write(bytes, at: (page - 1) * Int64(PageSnapshot.pageSize))
            try step(Int64(entries.count))
        }
        let sum = try source.read(upTo: 32)
        guard sum.count == 32 else { throw cut(path) }
        let rest = try source.read(upTo: 1)
        guard sum == Increment.sum(head, entries, known.chain.key), digests.state == known.to, rest.isEmpty else {
            throw damaged
        }
        try source.finish()
        try draft.cut(to: known.pages * Int64(PageSnapshot.pageSize))
    }

    private func cut(_ path: String) -> StoreError {
        StoreError(
            .corrupt,
            "restore \(self.path): \(path) ends before it is whole; copy it again, or restore a backup made before it")
    }

    private func step(_ done: Int64) throws(StoreError) {
        guard done % (1 << 20) == 0 else { return }
        guard progress(CopyProgress(done: done, total: max(done, 1))) else {
            throw StoreError(.interrupted, "restore \(path): ended before it was whole; nothing was changed")
        }
    }
}
