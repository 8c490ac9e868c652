import Glibc
import Platform
import PluginKit

/// Finds the exports in the folder.
struct ExportFolder {
    struct Entry: Hashable, Sendable {
        var name: String
        var path: String
        /// Changes while the export is copied and when it is replaced: number of files, their bytes, the last modification.
        var state: String
        /// The last modification, in seconds since 1970.
        var written: Int
    }

    struct Listing: Hashable, Sendable {
        /// Identifies the folder by device and inode, because another one appears at the path if a disk is not mounted.
        var folder: String
        var entries: [Entry]
        /// Number of exports beyond ``maximumExports``.
        var leftOut: Int
    }

    let path: String
    /// More than years of daily exports need.
    static let maximumExports = 1_000

    init(_ path: String) { self.path = path }

    /// Lists zips, XML files and unpacked exports, by name; ignores other files and does not follow links.
    ///
    /// - Throws: ``PluginFailure`` if the folder cannot be read.
    func exports() throws -> Listing {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
            throw PluginFailure(
                .unavailable, "\(path): there is no such folder; make it, or correct the setting folder")
        }
        let names: [String]
        do { names = try Folder.names(in: path).sorted() } catch { throw PluginFailure(.unavailable, "\(error)") }
        var listing = Listing(folder: "\(status.st_dev):\(status.st_ino)", entries: [], leftOut: 0)
        for name in names {
            guard let entry = entry(name) else { continue }
            if listing.entries.count < Self.maximumExports {
                listing.entries.append(entry)
            } else {
                listing.leftOut += 1
            }
        }
        return listing
    }

    private func entry(_ name: String) -> Entry? {
        guard !name.hasPrefix(".") else { return nil }
        let file = path + "/" + name
        var traces = Traces()
        switch traces.add(file) {
        case S_IFREG: guard Self.isXML(name) || name.lowercased().hasSuffix(".zip") else { return nil }
        case S_IFDIR:
            // A write to a file in the folder does not change the folder itself.
            guard traces.add(allIn: file, Self.isXML) > 0 else { return nil }
            for part in ["workout-routes", "electrocardiograms", "clinical-records"] {
                let place = "\(file)/\(part)"
                if traces.add(place) == S_IFDIR { _ = traces.add(allIn: place) { _ in true } }
            }
        default: return nil
        }
        return Entry(name: name, path: file, state: traces.text, written: traces.last.tv_sec)
    }

    private static func isXML(_ name: String) -> Bool {
        let small = name.lowercased()
        return small.hasSuffix(".xml") && small != "export_cda.xml" && !small.hasPrefix("._")
    }

    /// The combined size and modification time of some files and folders.
    private struct Traces {
        private var count = 0
        private var size: Int64 = 0
        private(set) var last = timespec(tv_sec: 0, tv_nsec: 0)

        var text: String { "\(count) \(size) \(last.tv_sec).\(last.tv_nsec)" }

        /// - Returns: the kind of file; nil if it does not exist. A link is reported as a link.
        mutating func add(_ path: String) -> mode_t? {
            var status = stat()
            guard lstat(path, &status) == 0 else { return nil }
            let kind = status.st_mode & S_IFMT
            guard kind == S_IFREG || kind == S_IFDIR else { return kind }
            count += 1
            if kind == S_IFREG { size += Int64(status.st_size) }
            let time = status.st_mtim
            if (last.tv_sec, last.tv_nsec) < (time.tv_sec, time.tv_nsec) { last = time }
            return kind
        }

        /// - Returns: the number of plain files with these names.
        mutating func add(allIn folder: String, _ isWanted: (String) -> Bool) -> Int {
            var files = 0
            for name in (try? Folder.names(in: folder)) ?? [] where isWanted(name) {
                if add("\(folder)/\(name)") == S_IFREG { files += 1 }
            }
            return files
        }
    }
}
