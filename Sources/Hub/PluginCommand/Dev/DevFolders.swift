import Foundation
import HubClient

/// The folders of one `hub plugin dev`, separate from a person's own hub.
struct DevFolders: Sendable {
    /// Has `hub.conf` and the sockets; removed at the end.
    private let folder: String
    /// The folder of the hub's data and of `{scratch}`.
    let scratch: String
    let isKept: Bool

    var configuration: String { "\(folder)/hub.conf" }
    /// The folder of the sockets, which no plugin sees.
    ///
    /// Short: a socket's path has at most 107 bytes.
    var run: String { "\(folder)/run" }

    /// - Parameter keep: a folder named by a person, to keep the data in.
    init(keep: String?) throws(Failure) {
        folder = "/tmp/hub-dev-\(UUID().uuidString.prefix(13))"
        scratch = keep.map { URL(filePath: $0).standardizedFileURL.path } ?? "\(folder)/scratch"
        isKept = keep != nil
        do {
            for place in [folder, scratch] {
                try FileManager.default.createDirectory(
                    atPath: place, withIntermediateDirectories: place == scratch,
                    attributes: [.posixPermissions: 0o700])
            }
        } catch {
            remove()
            throw Failure(.system, "\(scratch): the folder cannot be made: \(error.localizedDescription)")
        }
    }

    /// The folder of a plugin, given the path of the folder or of its program.
    static func folder(of path: String) -> String {
        let whole = URL(filePath: path).standardizedFileURL
        var facts = stat()
        let isFolder = stat(whole.path, &facts) == 0 && facts.st_mode & S_IFMT == S_IFDIR
        return isFolder ? whole.path : whole.deletingLastPathComponent().path
    }

    func remove() { try? FileManager.default.removeItem(atPath: folder) }

    /// Writes `hub.conf`.
    ///
    /// - Returns: whether the text differs from the former one.
    func write(_ text: String) throws(Failure) -> Bool {
        let bytes = Data(text.utf8)
        guard FileManager.default.contents(atPath: configuration) != bytes else { return false }
        // It may contain a secret.
        guard
            FileManager.default.createFile(
                atPath: configuration, contents: bytes, attributes: [.posixPermissions: 0o600])
        else { throw Failure(.system, "\(configuration): cannot be written") }
        return true
    }

    // MARK: - Progress of earlier runs

    private var shownFile: String { "\(scratch)/shown.json" }

    /// The point up to which the last run with a kept folder has shown everything.
    func lastShown() -> DevObserver.Shown {
        FileManager.default.contents(atPath: shownFile).flatMap { try? JSON.decode(DevObserver.Shown.self, from: $0) }
            ?? DevObserver.Shown()
    }

    func keep(_ shown: DevObserver.Shown) {
        guard isKept, let line = try? JSON.line(shown) else { return }
        try? Data(line.utf8).write(to: URL(filePath: shownFile), options: .atomic)
    }
}
