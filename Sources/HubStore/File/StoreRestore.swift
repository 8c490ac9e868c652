import Files
import Glibc
import GRDB

/// Puts a backup in the place of a store: first a look at both, then the exchange.
///
/// The calls block.
public struct StoreRestore: Sendable {
    /// What the backup holds; it was read from end to end.
    public let backup: StoreSummary
    /// What the store holds that it would replace; `nil` where there is none, or it cannot be read.
    public let current: StoreSummary?
    /// Why the store cannot be read.
    public let damage: StoreError?
    /// What the store has erased and comes back; `nil` where the two have no common past, or the store cannot be read so far.
    public let revived: RevivedErasures?
    private let source: StoreFile
    private let target: String
    /// What was put together of a backup that is encrypted, or one of a chain.
    private let assembled: DraftFile?

    /// Checks the backup as `hub doctor --deep` would, and looks at the store.
    ///
    /// - Parameters:
    ///   - file: the backup.
    ///   - target: the store's path; need not exist. What has to be decrypted or put together first is so beside it.
    ///   - opening: how a file is read that SQLite cannot read as it is.
    ///   - progress: as in `StoreFile.backUp`, while it is put together.
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
        guard Self.havePast(backup, current) else {
            revived = nil
            return
        }
        do throws(StoreError) {
            revived = try RevivedErasures.between(StoreFile(target), source, head: backup.head, progress)
        } catch {
            if error.code == .interrupted { throw error }
            // The backup was read from end to end: what is damaged is the store, for which one is restored.
            revived = nil
        }
    }

    /// Whether a number is the same record in both.
    private static func havePast(_ backup: StoreSummary, _ current: StoreSummary?) -> Bool {
        current?.hub == backup.hub && current?.epoch == backup.epoch
    }

    /// Whether SQLite can read the backup as it is: it is neither encrypted nor one of a chain.
    public static func isPlain(_ file: String) -> Bool { BackupAssembly.isPlain(file) }

    /// How many versions of records the store has that are younger than the backup; `nil` where the two have no common past.
    public var lost: Int64? {
        guard let current else { return damage == nil ? 0 : nil }
        return Self.havePast(backup, current) ? max(0, current.head - backup.head) : nil
    }

    /// What became of it.
    public struct Outcome: Codable, Hashable, Sendable {
        /// The new epoch: every cursor given out before is foreign.
        public var epoch: String
        /// Where the replaced store is now; `nil` where there was none.
        public var replaced: String?
    }

    /// Exchanges the two while no hub runs; at every instant the store is the old one or the new one, whole.
    ///
    /// - Parameters:
    ///   - suffix: the replaced store becomes `<store>.<suffix>`, which must not exist.
    ///   - progress: as in `StoreFile.backUp`.
    /// - Throws: `locked` while a hub has the store; `changed` when the store is not any more what was looked at.
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
                    "restore over \(target): it has changed since it was looked at; nothing was done, look again")
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
        // The restored one begins where the backup ended, as one that was closed in order.
        try SequenceReserve.expect(
            .init(hub: backup.hub, epoch: epoch, head: backup.head, commits: 0, boot: ""), as: target)
        try draft.replace(target)
        StoreExchange.finish(target)
        // A person who restores has decided about the damage of the replaced one.
        try DamageLatch.forget(of: target)
        PageCheck.forget(of: target)
        return Outcome(epoch: epoch, replaced: replaced)
    }

    /// Gives the replaced store a second name, by which it stays when the first becomes the new one's.
    private func keepReplaced(_ name: String) throws(StoreError) -> String? {
        // A log without its file: it is kept with an empty one.
        if access(target + "-wal", F_OK) == 0, access(target, F_OK) != 0 { try StoreFiles.prepare(target) }
        guard access(target, F_OK) == 0 else { return nil }
        guard access(name, F_OK) != 0 else {
            throw StoreError(.exists, "restore: \(name) exists already; nothing was done, try again")
        }
        // A log that stayed would be applied to the new file: what is in it goes into the old one first. Where that is
        // too damaged, the log goes with it.
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
