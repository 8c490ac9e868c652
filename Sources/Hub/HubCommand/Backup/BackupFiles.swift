import Foundation
import HubClient

/// The location and names of backups.
struct BackupFiles {
    /// Absolute.
    let target: String
    /// The folder whose backups are rotated; `nil` if the path is a file.
    let folder: String?

    /// - Parameters:
    ///   - path: a folder, or a file `….sqlite` that does not exist; the current folder if not given.
    ///   - data: the hub's data folder, which must not contain backups.
    init(_ path: String?, data: String, now: Date) throws(Failure) {
        guard path?.isEmpty != true else {
            throw Failure(.usage, "the path is empty; name a folder, or a file that does not exist")
        }
        let given = URL(filePath: path ?? ".").standardizedFileURL.path(percentEncoded: false)
        let trimmed = given.count > 1 && given.hasSuffix("/") ? String(given.dropLast()) : given
        var isFolder: ObjCBool = false
        let exists = FileManager.default.fileExists(atPath: trimmed, isDirectory: &isFolder)
        if exists, isFolder.boolValue {
            folder = trimmed
            target = (trimmed == "/" ? "" : trimmed) + "/" + BackupFiles.name(now)
        } else if exists {
            throw Failure(
                .usage,
                "\(trimmed): there is such a file already; nothing is overwritten. Name a folder, or another file")
        } else {
            // A missing folder, such as that of an unmounted stick, must not become a file with its name.
            guard trimmed.hasSuffix(BackupFiles.suffix), path?.hasSuffix("/") == false else {
                throw Failure(
                    .usage,
                    "\(trimmed): there is no such folder. Make it (mkdir -p \(trimmed)), or mount its disk, and give the command again; "
                        + "or name a file: \(trimmed)\(BackupFiles.suffix)")
            }
            (folder, target) = (nil, trimmed)
        }
        let parent = URL(filePath: target).deletingLastPathComponent().resolvingSymlinksInPath().path
        guard access(parent, W_OK | X_OK) == 0 else {
            let (isMissing, reason) = (errno == ENOENT, String(cString: strerror(errno)))
            throw Failure(
                isMissing ? .usage : .system,
                "\(parent): no backup can be written there (\(reason)); make the folder, or name another")
        }
        let store = URL(filePath: data).resolvingSymlinksInPath().path
        guard parent != store, !parent.hasPrefix(store + "/") else {
            throw Failure(
                .usage,
                "\(target): a backup inside the hub's own folder \(data) is lost with it; name a folder elsewhere, best on another disk"
            )
        }
    }

    /// A backup's name, such as `hub-20260315T073005Z.sqlite`.
    static func name(_ time: Date) -> String {
        let parts = Calendar(identifier: .iso8601).dateComponents(in: .gmt, from: time)
        func text(_ part: Int?, _ digits: Int = 2) -> String {
            let text = String(part ?? 0)
            return String(repeating: "0", count: max(0, digits - text.count)) + text
        }
        return "hub-\(text(parts.year, 4))\(text(parts.month))\(text(parts.day))"
            + "T\(text(parts.hour))\(text(parts.minute))\(text(parts.second))Z.sqlite"
    }

    /// The suffix of a backup that is not encrypted.
    private static let suffix = ".sqlite"
}
