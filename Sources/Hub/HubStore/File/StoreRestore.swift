import GRDB
import Glibc
import Platform

/// Replaces a store by a backup: first examines both, then exchanges them.
///
/// The calls block.
public struct StoreRestore: Sendable {
    /// A summary of the backup, which was read completely.
    public let backup: StoreSummary
    /// A summary of the store to be replaced; `nil` if there is none or it cannot be read.
    public let current: StoreSummary?
    /// Why the store cannot be read.
    public let damage: StoreError?
    /// Erased records that the restore would bring back; `nil` if the two have no common past or the store cannot be read.
    public let revived: RevivedErasures?
    private let source: StoreFile
    private let target: String
    /// The assembled copy of a backup that SQLite cannot read directly.
    private let assembled: DraftFile?

    /// Checks the backup as `hub doctor --deep` would, and examines the store.
    ///
    /// - Parameters:
    ///   - file: the backup.
    ///   - target: the store's path; it need not exist. A backup that SQLite cannot read directly is assembled beside it.
    ///   - opening: opens a file that SQLite cannot read directly.
    ///   - progress: as in `StoreFile.backUp`, while the backup is assembled.
    public init(
        of file: String, to target: String,
        opening: @escaping @Sendable (String) throws(StoreError) -> any ByteSource = { (path) throws(StoreError) in
            try PlainSource(path)
        },
        progress: @escaping (CopyProgress) -> Bool = { _ in true }
    ) throws(StoreError) {
        self.target = target
        if BackupAssembly.isPlain(file) {
            (source, assembled) = (StoreFile(file), nil)
        } else {
            let draft = try DraftFile(target + ".restoring")
            try BackupAssembly(path: file, opening: opening, progress: progress).write(into: draft)
            (source, assembled) = (StoreFile(draft.path), draft)
        }
        guard StoreRestore.areDistinct(file, target) else {
            throw StoreError(.exists, "restore \(file): it is the store itself")
        }
        backup = try source.summary()
        let differences = try source.schemaFaults()
        guard differences.isEmpty else {
            throw StoreError(
                .foreign,
                "restore \(file): another program has changed it (\(differences.joined(separator: "; "))); take a backup that only hub backup has written, or save its records with hub salvage"
            )
        }
        let faults = try source.faults(.counters)
        guard faults.isEmpty else {
            throw StoreError(.corrupt, "restore \(file): it is damaged (\(faults[0])); take another backup")
        }
        do throws(StoreError) {
            current = try StoreFile(target).summary()
            damage = nil
        } catch {
            current = nil
            damage = error.code == .missing ? nil : error
        }
        guard Self.shareHistory(backup, current) else {
            revived = nil
            return
        }
        do throws(StoreError) {
            revived = try RevivedErasures.between(StoreFile(target), source, head: backup.head, progress)
        } catch {
            if error.code == .interrupted { throw error }
            // The backup was read completely, so the store is damaged, which is a reason for restoring.
            revived = nil
        }
    }

    /// Whether a number means the same record in both.
    private static func shareHistory(_ backup: StoreSummary, _ current: StoreSummary?) -> Bool {
        current?.hub == backup.hub && current?.epoch == backup.epoch
    }

    /// Whether SQLite can read the backup directly: it is neither encrypted nor an increment of an earlier version.
    public static func isPlain(_ file: String) -> Bool { BackupAssembly.isPlain(file) }

    /// The number of record versions in the store that are newer than the backup; `nil` if the two have no common past.
    public var lost: Int64? {
        guard let current else { return damage == nil ? 0 : nil }
        return Self.shareHistory(backup, current) ? max(0, current.head - backup.head) : nil
    }

    /// The result of a restore.
    public struct Outcome: Codable, Hashable, Sendable {
        /// The new epoch.
        ///
        /// It invalidates every cursor issued before.
        public var epoch: String
        /// The path of the replaced store; `nil` if there was none.
        public var replaced: String?
    }

    /// Exchanges the two while no hub runs.
    ///
    /// At every instant the store is completely the old or the new one.
    ///
    /// - Parameters:
    ///   - suffix: the replaced store is renamed to `<store>.<suffix>`, which must not exist.
    ///   - progress: as in `StoreFile.backUp`.
    /// - Throws: `locked` while a hub has the store; `changed` if the store has changed since it was examined.
    public func carryOut(
        keepingAs suffix: String, progress: (CopyProgress) -> Bool = { _ in true }
    ) throws(StoreError) -> Outcome {
        let lock = try StoreFiles.lock(target)
        defer { lock.release() }
        if let current {
            let now = try StoreFile(target).summary()
            guard now.head == current.head, now.epoch == current.epoch else {
                throw StoreError(
                    .changed,
                    "restore over \(target): it has changed since it was examined; nothing was done, try again")
            }
        }
        let draft: DraftFile
        if let assembled {
            draft = assembled
        } else {
            draft = try DraftFile(target + ".restoring")
            _ = try source.copy(into: draft, progress)
        }
        let epoch = RandomName.epoch()
        try draft.change { db in try db.execute(sql: "UPDATE meta SET epoch = ?", arguments: [epoch]) }
        let replaced = try keepReplaced("\(target).\(suffix)")
        // The restored store begins at the end of the backup, as if it had been closed properly.
        try SequenceReserve.expect(
            .init(hub: backup.hub, epoch: epoch, head: backup.head, commits: 0, boot: ""), as: target)
        try draft.replace(target)
        StoreExchange.finish(target)
        // By restoring, a person has decided about the damage of the replaced store.
        try DamageLatch.forget(of: target)
        PageCheck.forget(of: target)
        return Outcome(epoch: epoch, replaced: replaced)
    }

    /// Gives the replaced store a second name, which remains when the new store takes the first one.
    private func keepReplaced(_ name: String) throws(StoreError) -> String? {
        // A log without its file is kept with an empty file.
        if access(target + "-wal", F_OK) == 0, access(target, F_OK) != 0 { try StoreFiles.prepare(target) }
        guard access(target, F_OK) == 0 else { return nil }
        guard access(name, F_OK) != 0 else {
            throw StoreError(.exists, "restore: \(name) exists already; nothing was done, try again")
        }
        // A remaining log would be applied to the new file, so its content first goes into the old file. If the old file is
        // too damaged, the log is moved with it.
        if damage == nil { try emptyLog() }
        try StoreExchange.begin(target, keeping: name)
        return name
    }

    private func emptyLog() throws(StoreError) {
        do {
            let queue = try DatabaseQueue(path: target)
            try queue.writeWithoutTransaction { db in _ = try db.checkpoint(.truncate) }
            try queue.close()
        } catch {
            throw StoreError(error, doing: "finish \(target)")
        }
    }

    private static func areDistinct(_ left: String, _ right: String) -> Bool {
        var (one, other) = (stat(), stat())
        guard stat(left, &one) == 0, stat(right, &other) == 0 else { return true }
        return one.st_ino != other.st_ino || one.st_dev != other.st_dev
    }
}
