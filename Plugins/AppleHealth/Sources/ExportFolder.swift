import Files
import Glibc
import PluginKit

/// What lies in the folder of exports.
struct ExportFolder {
    struct Entry: Hashable, Sendable {
        var name: String
        var path: String
        /// What changes while it is copied, and when it is exchanged: how many files it has, their bytes, the last writing.
        var state: String
        /// Seconds since 1970.
        var written: Int
    }

    struct Listing: Hashable, Sendable {
        /// Which folder of the machine it is, whatever its path: another one is there where a disk is not mounted.
        var folder: String
        var entries: [Entry]
        /// How many exports there are beyond those.
        var leftOut: Int
    }

    let path: String
    /// More than anyone has, who exports every day for years.
    static let maximumExports = 1_000

    init(_ path: String) { self.path = path }

    /// Zips, XML files and unpacked exports, by name; other files are not looked at, and links not followed.
    ///
    /// - Throws: ``PluginFailure`` where the folder cannot be read.
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
            // When a file in it is written to, the folder itself stays as it was.
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

    /// What some files and folders look like from outside.
    private struct Traces {
        private var count = 0
        private var size: Int64 = 0
        private(set) var last = timespec(tv_sec: 0, tv_nsec: 0)

        var text: String { "\(count) \(size) \(last.tv_sec).\(last.tv_nsec)" }

        /// - Returns: what it is; `nil` where it is not there. A link is one, wherever it leads.
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

        /// - Returns: how many plain files there are of these names.
        mutating func add(allIn folder: String, _ isWanted: (String) -> Bool) -> Int {
            var files = 0
            for name in (try? Folder.names(in: folder)) ?? [] where isWanted(name) {
                if add("\(folder)/\(name)") == S_IFREG { files += 1 }
            }
            return files
        }
    }
}
