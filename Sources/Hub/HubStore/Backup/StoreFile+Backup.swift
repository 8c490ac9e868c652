import GRDB
import Glibc
import Platform

/// A page backup, full or incremental.
public struct BackupMade: Sendable {
    public var file: String
    public var store: StoreSummary
    /// 0 for a full backup.
    public var position: Int
    /// The number of pages in the file.
    public var pages: Int64
    /// Why the backup is full although an incremental one was requested.
    public var reason: String?
}

extension StoreFile {
    /// Writes the committed state as pages, in order, into a new file, through `seal`.
    ///
    /// First runs SQLite's integrity check on the same snapshot, then compares each page's checksum as it is read. The bytes are written to no other
    /// file. The file is named `….part` until it is complete. A failure leaves no file behind.
    /// - Parameters:
    ///   - folder: the destination.
    ///   - stem: the beginning of the file name; it must be unused.
    ///   - isIncremental: whether to write only the changes since the newest backup of a chain in the folder, if there is one to continue.
    ///   - progress: return `false` to end with `interrupted`.
    public func backUp(
        into folder: String, named stem: String, _ seal: BackupSeal, isIncremental: Bool,
        progress: @escaping (CopyProgress) -> Bool = { _ in true }
    ) throws(StoreError) -> BackupMade {
        let verb = "back up \(path) to \(folder)"
        do {
            let queue = try open()
            defer { try? queue.close() }
            return try PageSnapshot.with(queue) { snapshot in
                if let fault = try snapshot.faults().first {
                    throw StoreError(
                        .corrupt, "\(verb): the store is not sound (\(fault)); hub doctor --deep looks at it")
                }
                var writer = try ChainWriter(self, folder: folder, stem: stem, seal, snapshot, progress)
                return try writer.write(isIncremental: isIncremental)
            }
        } catch {
            throw StoreError(error, doing: verb, path)
        }
    }
}

/// Writes one file of a chain and the catalogue beside it.
private struct ChainWriter {
    let store, folder, stem: String
    let seal: BackupSeal
    let snapshot: PageSnapshot
    let progress: (CopyProgress) -> Bool
    let master: BackupChain.Master
    private var done: Int64 = 0

    init(
        _ store: StoreFile, folder: String, stem: String, _ seal: BackupSeal, _ snapshot: PageSnapshot,
        _ progress: @escaping (CopyProgress) -> Bool
    ) throws(StoreError) {
        (self.store, self.folder, self.stem) = (store.path, folder, stem)
        (self.seal, self.snapshot, self.progress) = (seal, snapshot, progress)
        master = try BackupChain.Master(of: store.path)
    }

    mutating func write(isIncremental: Bool) throws -> BackupMade {
        var reason: String?
        if isIncremental {
            switch try increment() {
            case .made(let made): return made
            case .full(let why): reason = why
            }
        }
        let digests = try digests(master.identity(RandomName.uid()))
        return try full(digests.0, digests.1, reason)
    }

    private enum Attempt {
        case made(BackupMade)
        case full(String)
    }

    private mutating func increment() throws -> Attempt {
        let (known, why) = predecessor()
        guard var catalogue = known, let last = catalogue.links.last, let first = catalogue.links.first else {
            return .full(why)
        }
        let (identity, digests) = try digests(master.identity(catalogue.id))
        let before = BackupChain.PageDigests(catalogue.digests, key: identity.key)
        let changed = (1...snapshot.pageCount).filter { $0 > before.count || before[$0] != digests[$0] }
        guard Int64(changed.count) * 2 <= snapshot.pageCount || changed.count < 64 else {
            return .full("more than half of the pages have changed since \(last.name)")
        }
        let head = Increment(
            chain: identity, position: catalogue.links.count, base: last.name, full: first.name, from: before.state,
            to: digests.state, pages: snapshot.pageCount, changed: Int64(changed.count),
            place: BackupCatalogue.Place(snapshot.summary))
        var entries: [UInt8] = []
        let made = try file(".increment") { sink in
            try sink.write(head.head)
            var bytes = [UInt8](repeating: 0, count: PageSnapshot.pageSize)
            for page in changed {
                try snapshot.read(page, into: &bytes)
                try sink.write(Increment.number(page) + bytes)
                entries += Increment.number(page) + digests[page]
            }
            try sink.write(Increment.number(0) + Increment.sum(head.head, entries, identity.key))
        }
        catalogue.links.append(made)
        catalogue.digests = digests.bytes
        try catalogue.write(to: folder, master)
        return .made(
            BackupMade(
                file: "\(folder)/\(made.name)", store: snapshot.summary, position: head.position, pages: head.changed))
    }

    private mutating func full(
        _ identity: BackupChain.Identity, _ digests: BackupChain.PageDigests, _ reason: String?
    ) throws -> BackupMade {
        let made = try file(".sqlite") { sink in
            var bytes = [UInt8](repeating: 0, count: PageSnapshot.pageSize)
            for page in 1...snapshot.pageCount {
                try snapshot.read(page, into: &bytes)
                try sink.write(bytes)
                try step(page)
            }
        }
        try BackupCatalogue(
            id: identity.id, seal: seal.mark, erasures: snapshot.erasures, links: [made], digests: digests.bytes
        ).write(to: folder, master)
        return BackupMade(
            file: "\(folder)/\(made.name)", store: snapshot.summary, position: 0, pages: snapshot.pageCount,
            reason: reason)
    }

    /// The chain to continue, or the reason why there is none.
    private func predecessor() -> (BackupCatalogue?, String) {
        let all = BackupCatalogue.all(in: folder).filter { $0.links.first?.place.store.hub == snapshot.summary.hub }
        guard !all.isEmpty else { return (nil, "there is no backup to continue") }
        let ours = all.filter { $0.isAuthentic(master) && $0.digests.count % BackupChain.PageDigests.size == 0 }
        guard !ours.isEmpty else {
            return (nil, "the catalogue beside the backups is damaged, or was made with another key")
        }
        let here = ours.filter { $0.links.last?.place.store.epoch == snapshot.summary.epoch }
        guard !here.isEmpty else { return (nil, "the store has a new epoch") }
        let alike = here.filter { $0.seal == seal.mark }
        guard let newest = alike.max(by: { ($0.links.last?.name ?? "") < ($1.links.last?.name ?? "") }) else {
            return (nil, "the chain there is encrypted for others")
        }
        guard newest.erasures == snapshot.erasures else {
            return (nil, "records were erased since, which the chain there still has")
        }
        guard newest.links.count <= BackupChain.longest else {
            return (nil, "the chain has \(BackupChain.longest) increments")
        }
        let missing = newest.links.first { link in
            var status = stat()
            return stat("\(folder)/\(link.name)", &status) != 0 || Int64(status.st_size) != link.size
        }
        return missing.map { (nil, "\($0.name) is missing or cut") } ?? (newest, "")
    }

    private mutating func digests(
        _ identity: BackupChain.Identity
    ) throws -> (BackupChain.Identity, BackupChain.PageDigests) {
        var digests: [UInt8] = []
        digests.reserveCapacity(Int(snapshot.pageCount) * BackupChain.PageDigests.size)
        let maker = BackupChain.PageDigests(key: identity.key)
        var bytes = [UInt8](repeating: 0, count: PageSnapshot.pageSize)
        for page in 1...snapshot.pageCount {
            try snapshot.read(page, into: &bytes)
            digests += maker.of(bytes)
            try step(0)
        }
        return (identity, BackupChain.PageDigests(digests, key: identity.key))
    }

    /// Writes a file through the seal, and renames it to its final name once it is complete and on disk.
    private func file(_ kind: String, _ body: (any ByteSink) throws -> Void) throws -> BackupCatalogue.Link {
        let name = stem + kind + seal.suffix
        let target = "\(folder)/\(name)"
        guard access(target, F_OK) != 0 else {
            throw StoreError(.exists, "make \(target): there is such a file already; nothing is overwritten")
        }
        let draft = try DraftFile(target + ".part")
        try KnownBackup.note(target, of: store)
        let sink = try seal.sink(draft.descriptor)
        try body(sink)
        try sink.finish()
        let size = draft.size
        try draft.publish(as: target)
        // Without this line the backup stays listed as begun.
        try? KnownBackup.note(target, snapshot.summary, of: store)
        return BackupCatalogue.Link(name: name, size: size, place: BackupCatalogue.Place(snapshot.summary))
    }

    /// Reports progress after every MiB of pages.
    private func step(_ page: Int64) throws {
        guard page % 256 == 0 else { return }
        let total = snapshot.pageCount * Int64(PageSnapshot.pageSize)
        guard progress(CopyProgress(done: min(page * Int64(PageSnapshot.pageSize), total), total: total)) else {
            throw StoreError(.interrupted, "back up to \(folder): ended before it was whole")
        }
    }
}
