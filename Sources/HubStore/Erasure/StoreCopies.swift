public import Files
import Glibc

/// Copies of a store: those that the hub keeps beside it, and backups that it has made elsewhere.
public enum StoreCopies {
    /// Beside the store: from before changes of the format and before restores, with their logs.
    public static func beside(_ store: String) -> [StoreCopy] {
        files(of: store).map { StoreCopy(path: $0, head: nil) }
    }

    /// Backups that `hub backup` has made and that are still where it has put them.
    public static func backups(of store: String) -> [StoreCopy] {
        known(store).filter { access($0.path, F_OK) == 0 }
    }

    /// Notes a backup; one that cannot be noted is a backup all the same.
    static func note(_ backup: StoreCopy, of store: String) {
        guard let path = absolute(backup.path), !path.contains("\n") else { return }
        var all = known(store).filter { $0.path != path && access($0.path, F_OK) == 0 }
        all.append(StoreCopy(path: path, head: backup.head))
        let lines = all.suffix(most).map { "\($0.head ?? 0) \($0.path)\n" }
        _ = try? PrivateFile.write(Array(lines.joined().utf8), to: list(store))
    }

    /// Removes the older copies beside the store.
    ///
    /// - Returns: those that cannot be removed, and why.
    @discardableResult
    public static func remove(of store: String) -> [FileError] {
        files(of: store).compactMap { file in
            unlink(file) == 0 || errno == ENOENT ? nil : FileError("remove", file)
        }
    }

    private static let most = 200

    private static func list(_ store: String) -> String { store + ".backups" }

    private static func known(_ store: String) -> [StoreCopy] {
        guard let bytes = try? PrivateFile.read(list(store), upTo: 1 << 20) else { return [] }
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").compactMap { line in
            let parts = line.split(separator: " ", maxSplits: 1)
            guard parts.count == 2, let head = Int64(parts[0]) else { return nil }
            return StoreCopy(path: String(parts[1]), head: head)
        }
    }

    private static func absolute(_ path: String) -> String? {
        guard let real = realpath(path, nil) else { return nil }
        defer { free(real) }
        return String(cString: real)
    }

    private static func files(of store: String) -> [String] {
        suffixes(of: store).filter { suffix in
            (suffix.hasPrefix(".before-") || suffix.hasPrefix(".replaced-")) && draft(suffix) == nil
        }.map { store + $0 }
    }

    /// What follows the store's name in the names of the files beside it.
    private static func suffixes(of store: String) -> [String] {
        let name = store.split(separator: "/").last.map(String.init) ?? store
        let names = (try? Folder.names(in: Folder.parent(of: store))) ?? []
        return names.filter { $0.hasPrefix(name) }.map { String($0.dropFirst(name.count)) }.sorted()
    }

    // MARK: - Copies that are not whole

    /// Removes what killed programs have left of copies that they were making beside the store; what a program is making stays.
    static func removeDrafts(of store: String) {
        // One that no program has locked goes when this lets go of it.
        for draft in Set(suffixes(of: store).compactMap(Self.draft)) { _ = try? DraftFile(store + draft) }
        RehearsalFolder.removeAbandoned(beside: store)
    }

    private static let drafts = [".compacting", ".restoring", ".salvaging", ".summing", ".verifying"]

    /// The draft that a file beside the store is, or belongs to.
    private static func draft(_ suffix: String) -> String? {
        let log = DraftFile.logs.first { suffix.hasSuffix($0) } ?? ""
        let suffix = String(suffix.dropLast(log.count))
        let isCopy = suffix.hasPrefix(".before-") && suffix.hasSuffix(".part")
        return isCopy || drafts.contains(suffix) ? suffix : nil
    }
}
