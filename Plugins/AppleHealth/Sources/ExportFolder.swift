import Files
import Glibc
import PluginKit

/// What lies in the folder of exports.
struct ExportFolder {
    struct Entry: Hashable, Sendable {
        var name: String
        var path: String
        /// Of the file, and when it was last written; what changes while it is copied.
        var state: String
        /// Seconds since 1970.
        var written: Int
    }

    let path: String

    init(_ path: String) { self.path = path }

    /// Zips, XML files and unpacked exports, by name; other files are not looked at.
    ///
    /// - Throws: ``PluginFailure`` where the folder cannot be read.
    func exports() throws -> [Entry] {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
            throw PluginFailure(
                .unavailable, "\(path): there is no such folder; make it, or correct the setting folder")
        }
        let names: [String]
        do { names = try Folder.names(in: path).sorted() } catch { throw PluginFailure(.unavailable, "\(error)") }
        return names.prefix(1_000).compactMap { name in
            guard !name.hasPrefix("."), !name.hasPrefix("._") else { return nil }
            let file = path + "/" + name
            var status = stat()
            guard stat(file, &status) == 0 else { return nil }
            let small = name.lowercased()
            switch status.st_mode & S_IFMT {
            case S_IFREG:
                guard small.hasSuffix(".zip") || small.hasSuffix(".xml"), small != "export_cda.xml" else { return nil }
            case S_IFDIR: guard (try? ExportFolder.hasXML(file)) ?? false else { return nil }
            default: return nil
            }
            return Entry(
                name: name, path: file,
                state: "\(status.st_size) \(status.st_mtim.tv_sec).\(status.st_mtim.tv_nsec)",
                written: status.st_mtim.tv_sec)
        }
    }

    private static func hasXML(_ folder: String) throws -> Bool {
        try Folder.names(in: folder).contains { $0.lowercased().hasSuffix(".xml") && $0 != "export_cda.xml" }
    }
}
