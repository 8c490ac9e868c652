import Foundation
import HealthText
import HubClient
import HubStore

/// One backup in a folder, described without opening it.
struct Backup: Encodable {
    enum Kind: String, Encodable { case full, increment }

    let name: String
    let kind: Kind
    let encrypted: Bool
    /// Size of the file in bytes.
    let size: Int64
    /// `nil` for an encrypted backup that is in no catalogue.
    let store: StoreSummary?
    /// The files needed to restore it, ending with the backup itself; `nil` for an increment in no catalogue and for a file that is no store.
    let needs: [String]?
    /// Those of the needed files that are missing or have another size.
    let missing: [String]

    private enum CodingKeys: String, CodingKey { case name, kind, encrypted, size, store, needs, missing }

    var line: String {
        var text = (kind == .increment ? "  " : "") + name + "  "
        text +=
            store.map { "\(NumberText.count($0.records, "record")), newest \($0.epoch)-\($0.head), " }
            ?? (encrypted || kind == .increment ? "in no catalogue, " : "no store of a hub, ")
        text += NumberText.bytes(size)
        if !missing.isEmpty { text += "; cannot be restored: \(missing.joined(separator: ", ")) is missing or cut" }
        return text
    }
}

/// The backups of a folder, with their rotation.
struct BackupFolder {
    let path: String
    /// Sorted by name.
    let backups: [Backup]
    private let catalogues: [BackupCatalogue]

    init(_ path: String) throws(Failure) {
        self.path = path
        let names: [String]
        do { names = try FileManager.default.contentsOfDirectory(atPath: path) } catch {
            throw Failure(.usage, "\(path): it is not a folder that can be read")
        }
        let catalogues = BackupCatalogue.all(in: path)
        self.catalogues = catalogues
        backups = names.filter(KnownBackup.isName).sorted().map { BackupFolder.backup($0, in: path, catalogues) }
    }

    private static func size(_ path: String) -> Int64? {
        (try? FileManager.default.attributesOfItem(atPath: path))?[.size] as? Int64
    }

    private static func backup(_ name: String, in path: String, _ catalogues: [BackupCatalogue]) -> Backup {
        let size = size("\(path)/\(name)") ?? 0
        let (isFull, isEncrypted) = (name.contains(".sqlite"), name.hasSuffix(Age.suffix))
        for catalogue in catalogues {
            guard let place = catalogue.links.firstIndex(where: { $0.name == name }) else { continue }
            let needed = catalogue.links[...place]
            return Backup(
                name: name, kind: place == 0 ? .full : .increment, encrypted: isEncrypted, size: size,
                store: catalogue.links[place].place.store, needs: needed.map(\.name),
                missing: needed.filter { BackupFolder.size("\(path)/\($0.name)") != $0.size }.map(\.name))
        }
        let store = isFull && !isEncrypted ? try? StoreFile("\(path)/\(name)").summary() : nil
        return Backup(
            name: name, kind: isFull ? .full : .increment, encrypted: isEncrypted, size: size, store: store,
            needs: isFull && (isEncrypted || store != nil) ? [name] : nil, missing: [])
    }

    /// The newest backup that can be restored: in the newest epoch, the one with the highest head.
    func newest(of hub: String?, epoch: String?) -> Backup? {
        sorted(
            backups.filter { $0.missing.isEmpty && $0.needs != nil && (hub == nil || $0.store?.hub == hub) },
            epoch: epoch
        )
        .first
    }

    /// Backups of the epoch sorted by head, then those of earlier epochs, which no restore brings back, by name.
    private func sorted(_ backups: [Backup], epoch: String?) -> [Backup] {
        func key(_ backup: Backup) -> (Int64, String) {
            (backup.store.map { $0.epoch == epoch ? $0.head : -1 } ?? -1, backup.name)
        }
        return backups.sorted { key($0) > key($1) }
    }

    /// Removes all backups of this hub except the newest `count` and the files that these need.
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
        let ours = backups.filter { $0.store?.hub == made.hub }
        let older = sorted(ours.filter { $0.name != latest }, epoch: made.epoch)
        let kept = ours.filter { $0.name == latest } + older.prefix(count - 1)
        let needed = Set(kept.flatMap { $0.needs ?? [$0.name] }).union([latest])
        // Remove chains from their end, so that no increment ever lacks a file that it needs.
        let old = older.filter { !needed.contains($0.name) }
            .sorted {
                ($0.needs?.count ?? 1, $0.store?.head ?? 0, $0.name) > (
                    $1.needs?.count ?? 1, $1.store?.head ?? 0, $1.name
                )
            }
            .map(\.name)
        do {
            for name in old { try FileManager.default.removeItem(atPath: "\(path)/\(name)") }
            for catalogue in catalogues where catalogue.links.first.map({ old.contains($0.name) }) == true {
                try FileManager.default.removeItem(atPath: "\(path)/\(catalogue.name)")
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
}
