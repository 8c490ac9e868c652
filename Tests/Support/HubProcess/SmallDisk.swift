import Foundation

/// A small file system, for tests that need ``Need/mount``.
public final class SmallDisk: Sendable {
    public let path: String
    private let isOurs: Bool

    struct CannotMount: Error, CustomStringConvertible { let description: String }

    /// - Parameter path: the mount point, which is created if it is missing; `nil`: a temporary folder.
    public init(at path: String? = nil, bytes: Int) throws {
        self.path = path ?? NSTemporaryDirectory() + "hub-disk-" + UUID().uuidString
        isOurs = path == nil
        try FileManager.default.createDirectory(atPath: self.path, withIntermediateDirectories: true)
        guard Tool.run("mount", ["-t", "tmpfs", "-o", "size=\(bytes),mode=0700", "tmpfs", self.path]) else {
            if isOurs { try FileManager.default.removeItem(atPath: self.path) }
            throw CannotMount(description: "mount -t tmpfs at \(self.path) fails")
        }
    }

    /// Mounts one with the small blocks that `mkfs.ext4` gives a disk of this size; for tests that need ``Need/blockDisk``.
    public init(at path: String, blocks: Int, ofBytes size: Int) throws {
        (self.path, isOurs) = (path, false)
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        let image = NSTemporaryDirectory() + "hub-disk-" + UUID().uuidString
        // The mounted file system keeps the file open.
        defer { unlink(image) }
        let steps = [
            ("truncate", ["-s", "\(blocks * size)", image]),
            ("mkfs.ext4", ["-q", "-m", "0", "-b", "\(size)", image]), ("mount", ["-o", "loop", image, path]),
        ]
        for (tool, words) in steps {
            if let said = Tool.failure(tool, words) { throw CannotMount(description: "\(tool) \(words): \(said)") }
        }
        chmod(path, 0o700)
    }

    public func resize(bytes: Int) { Tool.run("mount", ["-o", "remount,size=\(bytes)", path]) }

    public func makeReadOnly() { Tool.run("mount", ["-o", "remount,ro", path]) }

    deinit {
        Tool.run("umount", ["-l", path])
        if isOurs { try? FileManager.default.removeItem(atPath: path) }
    }
}
