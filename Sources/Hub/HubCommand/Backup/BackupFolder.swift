import Foundation
import HealthText
import HubClient
import HubStore

/// One backup in a folder, described without decrypting it.
struct Backup: Encodable {
    enum Kind: String, Encodable { case full, increment }

    let name: String
    /// An increment is a part of a chain that an earlier version has made.
    let kind: Kind
    let encrypted: Bool
    /// Size of the file in bytes.
    let size: Int64
    /// `nil` if the file is not known to hold a store.
    let store: StoreSummary?
    /// Whether the file has another size than it had when it was made.
    let cut: Bool

    var line: String {
        let kind = kind == .increment ? "increment of an earlier version, " : ""
        let unknown = cut ? "cut, " : encrypted ? "without its summary, " : "no store of a hub, "
        let content = store.map { "\(NumberText.count($0.records, "record")), newest \($0.epoch)-\($0.head), " }
        return "\(name)  \(kind)\(content ?? (self.kind == .full || cut ? unknown : ""))\(NumberText.bytes(size))"
    }
}

/// The backups of a folder, with their rotation.
struct BackupFolder {
    let path: String
    /// Sorted by name.
    let backups: [Backup]

    init(_ path: String) throws(Failure) {
        self.path = path
        let names: [String]
        do { names = try FileManager.default.contentsOfDirectory(atPath: path) } catch {
            throw Failure(.usage, "\(path): it is not a folder that can be read")
        }
        let summaries = BackupSummary.all(in: path)
        backups = names.filter(KnownBackup.isName).sorted().map { name in
            let size = (try? FileManager.default.attributesOfItem(atPath: "\(path)/\(name)"))?[.size] as? Int64 ?? 0
            let (isFull, isEncrypted) = (name.contains(".sqlite"), name.hasSuffix(Age.suffix))
            let known = summaries[name]
            let isCut = known.map { $0.size != size } ?? false
            let store = isFull && !isEncrypted ? try? StoreFile("\(path)/\(name)").summary() : known?.store
            return Backup(
                name: name, kind: isFull ? .full : .increment, encrypted: isEncrypted, size: size,
                store: isCut ? nil : store, cut: isCut)
        }
    }

    /// Backups of the epoch sorted by head, then those of earlier epochs, which no restore brings back, by name.
    private func sorted(_ backups: [Backup], epoch: String) -> [Backup] {
        func key(_ backup: Backup) -> (Int64, String) {
            (backup.store.map { $0.epoch == epoch ? $0.head : -1 } ?? -1, backup.name)
        }
        return backups.sorted { key($0) > key($1) }
    }

    /// Removes all whole backups of this hub except the newest `count`, and those that increments of an earlier version may need.
    ///
    /// The contents decide which backups are the newest, because a name only reflects a clock. A file counts only if it has a name of this
    /// program's form and is known to hold a store of the same hub.
    ///
    /// - Parameters:
    ///   - made: the summary of `file`, the backup that was just made; it is never removed.
    ///   - store: the store in whose list of backups the removed ones are deleted.
    /// - Returns: the names of the removed files.
    func rotate(
        keeping count: Int, after made: StoreSummary, _ file: String, of store: String
    ) throws(Failure) -> [String] {
        let latest = URL(filePath: file).lastPathComponent
        let older = backups.filter { $0.kind == .full && $0.store?.hub == made.hub && $0.name != latest }
        let old = sorted(older, epoch: made.epoch).dropFirst(count - 1).map(\.name).filter { !isNeeded($0, made.hub) }
        do {
            for name in old {
                try FileManager.default.removeItem(atPath: "\(path)/\(name)")
                for beside in [name + BackupSummary.suffix, BackupFolder.chain(name)]
                where FileManager.default.fileExists(atPath: "\(path)/\(beside)") {
                    try FileManager.default.removeItem(atPath: "\(path)/\(beside)")
                }
            }
        } catch {
            throw Failure(
                .system,
                "\(path): the backup is made, but old ones could not be removed: \(error.localizedDescription)")
        }
        // If an entry stays in the list, the next erasure looks for the file and does not find it.
        try? KnownBackup.forget(old.map { "\(path)/\($0)" }, of: store)
        return old
    }

    // MARK: - Chains of an earlier version; version 1.4 removes this part

    /// The increments that may belong to a hub, by name.
    func increments(of hub: String) -> [String] {
        backups.filter { $0.kind == .increment && ($0.store == nil || $0.store?.hub == hub) }.map(\.name)
    }

    /// The catalogue of the chain that a backup may begin.
    private static func chain(_ name: String) -> String { name.prefix { $0 != "." } + ".chain" }

    /// Whether an increment in the folder may need a whole backup: it is older than an increment, or it began a chain.
    private func isNeeded(_ name: String, _ hub: String) -> Bool {
        guard let last = increments(of: hub).last else { return false }
        return name.prefix { $0 != "." } < last.prefix { $0 != "." }
            || FileManager.default.fileExists(atPath: "\(path)/\(BackupFolder.chain(name))")
    }
}
