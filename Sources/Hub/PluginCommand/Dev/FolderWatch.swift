import Foundation
import HubClient
import Synchronization

/// Reports the changed files of a folder and its subfolders, once nothing has changed for a moment.
///
/// It ignores files that no author has written: names that begin with a dot, such as `.git`, `.build` and editors' swap files,
/// `__pycache__`, and editors' backup copies.
final class FolderWatch: Sendable {
    /// Paths below the folder; `.` if the kernel reported more changes than can be kept.
    let changes: AsyncStream<Set<String>>
    private let file: Int32
    private let end = Pipe()

    /// The time in seconds without a change before a report.
    private static let quiet = 0.25
    /// The longest delay in seconds, for a folder that changes all the time.
    private static let longest = 2.0
    private static let maximumFolders = 2_000
    fileprivate static let maximumNames = 1_000

    /// - Parameter except: a subfolder to ignore too.
    /// - Throws: ``HubExit/system`` if the kernel cannot watch it, ``HubExit/usage`` if it has too many folders.
    init(_ folder: String, except: String?) throws(Failure) {
        let file = inotify_init1(Int32(IN_CLOEXEC) | Int32(IN_NONBLOCK))
        guard file >= 0 else {
            throw Failure(.system, "\(folder) cannot be watched: \(String(cString: strerror(errno)))")
        }
        self.file = file
        var tree = Tree(file: file, root: folder, except: except)
        do throws(Failure) { try tree.add("") } catch {
            Glibc.close(file)
            throw error
        }
        let (stream, news) = AsyncStream<Set<String>>.makeStream()
        changes = stream
        let (watched, stop) = (tree, end.fileHandleForReading.fileDescriptor)
        Thread {
            FolderWatch.watch(watched, stop, news)
            Glibc.close(file)
        }.start()
    }

    /// Ends ``changes``.
    func close() { try? end.fileHandleForWriting.close() }

    private static func watch(_ tree: Tree, _ stop: Int32, _ news: AsyncStream<Set<String>>.Continuation) {
        var (tree, changed, first) = (tree, Set<String>(), 0.0)
        defer { news.finish() }
        while true {
            var files = [
                pollfd(fd: tree.file, events: Int16(POLLIN), revents: 0),
                pollfd(fd: stop, events: Int16(POLLIN), revents: 0),
            ]
            let now = ProcessInfo.processInfo.systemUptime
            let isDue = !changed.isEmpty && now - first > longest
            let ready = isDue ? 0 : poll(&files, 2, changed.isEmpty ? -1 : Int32(quiet * 1_000))
            if files[1].revents != 0 { return }
            if ready == 0 {
                changed = changed.filter { !tree.isPassing($0) }
                tree.forget(changed)
                if !changed.isEmpty { news.yield(changed) }
                changed = []
            } else if ready > 0 {
                if changed.isEmpty { first = now }
                changed.formUnion(tree.read())
                if changed.count > maximumNames { changed = ["."] }
            }
        }
    }

    /// Whether tools, and not the plugin's author, write files with this name.
    static func isLeftOut(_ name: some StringProtocol) -> Bool {
        name.isEmpty || name.hasPrefix(".") || name.hasPrefix("#") || name.hasSuffix("~") || name == "4913"
            || [".swp", ".swo", ".swx", ".pyc", ".tmp", ".new"].contains { name.hasSuffix($0) }
            || name == "__pycache__" || name == "node_modules"
    }

    /// The watched folders.
    private struct Tree {
        let file: Int32
        let root: String
        let except: String?
        /// Paths below the root, by the kernel's watch number.
        var folders: [Int32: String] = [:]

        private static let events = UInt32(
            IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE | IN_DELETE | IN_ATTRIB | IN_ONLYDIR)

        private func path(_ place: String) -> String { place.isEmpty ? root : "\(root)/\(place)" }

        /// New paths that have not been reported yet.
        fileprivate var created: Set<String> = []

        mutating func forget(_ told: Set<String>) { created.subtract(told) }

        /// Whether it was created and deleted again since the last report, as editors' drafts are.
        func isPassing(_ place: String) -> Bool { created.contains(place) && access(path(place), F_OK) != 0 }

        /// Watches a folder and its subfolders.
        mutating func add(_ place: String) throws(Failure) {
            guard path(place) != except else { return }
            guard folders.count < maximumFolders else {
                throw Failure(.usage, "\(root) has more than \(maximumFolders) folders: name only the plugin's folder")
            }
            let number = inotify_add_watch(file, path(place), Self.events)
            guard number >= 0 else {
                // It may have been deleted meanwhile.
                if errno == ENOENT || errno == ENOTDIR, !place.isEmpty { return }
                let hint = errno == ENOSPC ? "; raise the sysctl fs.inotify.max_user_watches" : ""
                throw Failure(.system, "\(path(place)) cannot be watched: \(String(cString: strerror(errno)))\(hint)")
            }
            folders[number] = place
            for name in (try? FileManager.default.contentsOfDirectory(atPath: path(place))) ?? []
            where !isLeftOut(name) {
                let child = place.isEmpty ? name : "\(place)/\(name)"
                var facts = stat()
                // Do not follow links: their targets lie elsewhere.
                if lstat(path(child), &facts) == 0, facts.st_mode & S_IFMT == S_IFDIR { try add(child) }
            }
        }

        /// Reads the events of the kernel.
        mutating func read() -> Set<String> {
            var (changed, buffer) = (Set<String>(), [UInt8](repeating: 0, count: 65_536))
            let count = buffer.withUnsafeMutableBytes { Foundation.read(file, $0.baseAddress, $0.count) }
            var place = 0
            while place + 16 <= count {
                func number(_ offset: Int) -> UInt32 {
                    buffer.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: place + offset, as: UInt32.self) }
                }
                let (watch, mask, length) = (Int32(bitPattern: number(0)), number(4), Int(number(12)))
                let name = String(
                    decoding: buffer[(place + 16)..<(place + 16 + length)].prefix { $0 != 0 }, as: UTF8.self)
                place += 16 + length
                if mask & UInt32(IN_Q_OVERFLOW) != 0 { changed.insert(".") }
                if mask & UInt32(IN_IGNORED) != 0 { folders[watch] = nil }
                guard let folder = folders[watch], !isLeftOut(name) else { continue }
                let path = folder.isEmpty ? name : "\(folder)/\(name)"
                guard self.path(path) != except else { continue }
                if mask & UInt32(IN_CREATE) != 0, created.count < FolderWatch.maximumNames { created.insert(path) }
                if mask & UInt32(IN_ISDIR) == 0 {
                    changed.insert(path)
                } else if mask & UInt32(IN_CREATE | IN_MOVED_TO) != 0 {
                    // Its content may be older than the watch, so report the folder itself.
                    try? add(path)
                    changed.insert(path)
                }
            }
            return changed
        }
    }
}
