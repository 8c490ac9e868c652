import Foundation
import Glibc
import HubProcess

/// A disk of the hub's own: ext4 in a file in memory, which can be filled, frozen and made read-only.
///
/// It is mounted in the torture's own mount namespace, and gone with that.
final class Disk: Sendable {
    let path: String
    private let folder: String

    /// Why there can be none here.
    static let obstacle: String? = geteuid() == 0 ? nil : "only root can mount a disk"

    struct Fault: Error, CustomStringConvertible { let description: String }

    /// - Parameters:
    ///   - path: where it is mounted; a folder that is made.
    ///   - image: a folder, made as well, for the file that it lies in.
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

    /// Leaves no room at all.
    func fill() throws {
        var room = statvfs()
        guard statvfs(path, &room) == 0 else { throw Fault(description: "statvfs \(path): \(errno)") }
        Tool.run("fallocate", ["-l", "\(Int(room.f_bavail) * Int(room.f_bsize))", filler])
        // What fallocate could not reckon with.
        Tool.run("dd", ["if=/dev/zero", "of=\(filler).2", "bs=4096"])
    }

    func empty() throws {
        for name in [filler, filler + ".2"] { unlink(name) }
    }

    /// - Returns: false while a program has a file open for writing.
    func set(isReadOnly: Bool) -> Bool { Tool.run("mount", ["-o", "remount,\(isReadOnly ? "ro" : "rw")", path]) }

    /// What is written waits in the kernel, and cannot be ended, until ``thaw()``.
    func freeze() throws { try Self.run("fsfreeze", "-f", path) }
    func thaw() throws { try Self.run("fsfreeze", "-u", path) }

    private static func run(_ tool: String, _ words: String...) throws {
        if let said = Tool.failure(tool, words) { throw Fault(description: "\(tool) \(words): \(said)") }
    }
}
