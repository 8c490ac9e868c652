import Foundation
import Glibc
import HubProcess

/// A disk for the hub: ext4 in a file in memory, which can be filled, frozen and made read-only.
///
/// It is mounted in the torture's own mount namespace, and disappears with it.
final class Disk: Sendable {
    let path: String
    private let folder: String

    /// Why no disk can be mounted here; `nil` if one can.
    static let obstacle: String? = geteuid() == 0 ? nil : "only root can mount a disk"

    struct Fault: Error, CustomStringConvertible { let description: String }

    /// - Parameters:
    ///   - path: the mount point, a folder that is created.
    ///   - image: a folder, also created, for the file with the file system.
    init(at path: String, image folder: String, megabytes: Int) throws {
        (self.path, self.folder) = (path, folder)
        for name in [path, folder] {
            try FileManager.default.createDirectory(atPath: name, withIntermediateDirectories: false)
        }
        try Self.run("mount", "-t", "tmpfs", "tmpfs", folder)
        let file = folder + "/ext4"
        try Self.run("truncate", "-s", "\(megabytes)M", file)
        try Self.run("mkfs.ext4", "-q", "-m", "0", file)
        try Self.run("mount", "-o", "loop", file, path)
        chmod(path, 0o700)
    }

    deinit {
        try? thaw()
        Tool.run("umount", ["-l", path])
        Tool.run("umount", ["-l", folder])
    }

    private var filler: String { path + "/filler" }

    /// Fills the disk completely.
    func fill() throws {
        var room = statvfs()
        guard statvfs(path, &room) == 0 else { throw Fault(description: "statvfs \(path): \(errno)") }
        Tool.run("fallocate", ["-l", "\(Int(room.f_bavail) * Int(room.f_bsize))", filler])
        // The rest that fallocate could not know of.
        Tool.run("dd", ["if=/dev/zero", "of=\(filler).2", "bs=4096"])
    }

    func empty() throws {
        for name in [filler, filler + ".2"] { unlink(name) }
    }

    /// - Returns: `false` while a program has a file open for writing.
    func set(isReadOnly: Bool) -> Bool { Tool.run("mount", ["-o", "remount,\(isReadOnly ? "ro" : "rw")", path]) }

    /// Blocks writes in the kernel until ``thaw()``; a process that writes cannot even be killed.
    func freeze() throws { try Self.run("fsfreeze", "-f", path) }
    func thaw() throws { try Self.run("fsfreeze", "-u", path) }

    private static func run(_ tool: String, _ words: String...) throws {
        if let said = Tool.failure(tool, words) { throw Fault(description: "\(tool) \(words): \(said)") }
    }
}
