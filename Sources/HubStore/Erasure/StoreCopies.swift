public import Files
import Glibc

/// Copies of a store that the hub keeps beside it.
public enum StoreCopies {
    /// Beside the store: from before changes of the format and before restores, with their logs.
    public static func beside(_ store: String) -> [String] {
        suffixes(of: store).filter { suffix in
            (suffix.hasPrefix(".before-") || suffix.hasPrefix(".replaced-")) && draft(suffix) == nil
        }.map { store + $0 }
    }

    /// Removes the older copies beside the store.
    ///
    /// - Returns: those that cannot be removed, and why.
    @discardableResult
    public static func remove(of store: String) -> [FileError] {
        beside(store).compactMap { file in
            unlink(file) == 0 || errno == ENOENT ? nil : FileError("remove", file)
        }
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

    /// What other programs are making beside the store just now: it goes when they end.
    public static func underWay(beside store: String) -> [String] {
        let rehearsal = Folder.parent(of: store) + "/rehearsal"
        return Set(suffixes(of: store).compactMap(Self.draft)).map { store + $0 }.sorted()
            + (access(rehearsal, F_OK) == 0 ? [rehearsal] : [])
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
