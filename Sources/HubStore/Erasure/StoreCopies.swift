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
        let parts = store.split(separator: "/", omittingEmptySubsequences: false)
        let folder = parts.count > 1 ? parts.dropLast().joined(separator: "/") + "/" : ""
        guard let name = parts.last, let directory = opendir(folder.isEmpty ? "." : folder) else { return [] }
        defer { closedir(directory) }
        var found: [String] = []
        while let entry = readdir(directory) {
            let file = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if file.hasPrefix("\(name).before-") || file.hasPrefix("\(name).replaced-") { found.append(folder + file) }
        }
        return found.sorted()
    }
}
