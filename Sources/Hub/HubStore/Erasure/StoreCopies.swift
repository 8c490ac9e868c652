import Glibc
public import Platform

/// Copies of a store that the hub keeps beside it.
public enum StoreCopies {
    /// Files beside the store: copies from before format changes and before restores, with their logs.
    public static func beside(_ store: String) -> [String] {
        suffixes(of: store).filter { suffix in
            (suffix.hasPrefix(".before-") || suffix.hasPrefix(".replaced-")) && draft(suffix) == nil
        }.map { store + $0 }
    }

    /// Removes the older copies beside the store.
    ///
    /// - Returns: the errors of copies that could not be removed.
    @discardableResult
    public static func remove(of store: String) -> [FileError] {
        beside(store).compactMap { file in
            unlink(file) == 0 || errno == ENOENT ? nil : FileError("remove", file)
        }
    }

    /// The parts after the store's name in the names of the files beside it.
    private static func suffixes(of store: String) -> [String] {
        let name = store.split(separator: "/").last.map(String.init) ?? store
        let names = (try? Folder.names(in: Folder.parent(of: store))) ?? []
        return names.filter { $0.hasPrefix(name) }.map { String($0.dropFirst(name.count)) }.sorted()
    }

    // MARK: - Copies that are not whole

    /// Removes incomplete copies that killed programs left beside the store.
    ///
    /// Copies in progress are kept.
    static func removeDrafts(of store: String) {
        // If no program has locked the draft, it is removed when this object is released.
        for draft in Set(suffixes(of: store).compactMap(Self.draft)) { _ = try? DraftFile(store + draft) }
        removeRehearsal(beside: store)
    }

    /// Copies that other programs are making beside the store.
    ///
    /// They are removed when these programs end.
    public static func underWay(beside store: String) -> [String] {
        Set(suffixes(of: store).compactMap(Self.draft)).map { store + $0 }.sorted()
    }

    /// Removes the copy that a killed `hub doctor --rehearse` of an earlier version left; version 1.4 removes this function.
    private static func removeRehearsal(beside store: String) {
        let folder = Folder.parent(of: store) + "/rehearsal"
        guard access(folder, F_OK) == 0, let lock = try? FileLock(folder + ".lock") else { return }
        defer { lock.release() }
        for name in (try? Folder.names(in: folder)) ?? [] { unlink("\(folder)/\(name)") }
        rmdir(folder)
        unlink(folder + ".lock")
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
