import Foundation

/// A file system of its own, for tests that ``Need/mount``.
public final class SmallDisk: Sendable {
    public let path: String
    private let isOurs: Bool

    struct CannotMount: Error, CustomStringConvertible { let description: String }

    /// - Parameter path: where it is mounted, a folder that is made if it is missing; a temporary one if not given.
    public init(at path: String? = nil, bytes: Int) throws {
        self.path = path ?? NSTemporaryDirectory() + "hub-disk-" + UUID().uuidString
        isOurs = path == nil
        try FileManager.default.createDirectory(atPath: self.path, withIntermediateDirectories: true)
        guard Tool.run("mount", ["-t", "tmpfs", "-o", "size=\(bytes),mode=0700", "tmpfs", self.path]) else {
            if isOurs { try FileManager.default.removeItem(atPath: self.path) }
            throw CannotMount(description: "mount -t tmpfs at \(self.path) fails")
        }
    }

    public func resize(bytes: Int) { Tool.run("mount", ["-o", "remount,size=\(bytes)", path]) }

    public func makeReadOnly() { Tool.run("mount", ["-o", "remount,ro", path]) }

    deinit {
        Tool.run("umount", ["-l", path])
        if isOurs { try? FileManager.default.removeItem(atPath: path) }
    }
}
