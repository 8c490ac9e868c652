import Foundation

/// A file system of its own, where the tests may mount one.
final class SmallDisk {
    let path: String

    init?(bytes: Int) throws {
        guard getuid() == 0 else { return nil }
        path = NSTemporaryDirectory() + "hub-disk-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        guard try SmallDisk.run("mount", ["-t", "tmpfs", "-o", "size=\(bytes)", "tmpfs", path]) else {
            try FileManager.default.removeItem(atPath: path)
            return nil
        }
    }

    func resize(bytes: Int) throws { _ = try SmallDisk.run("mount", ["-o", "remount,size=\(bytes)", path]) }

    func makeReadOnly() throws { _ = try SmallDisk.run("mount", ["-o", "remount,ro", path]) }

    deinit {
        _ = try? SmallDisk.run("umount", ["-l", path])
        try? FileManager.default.removeItem(atPath: path)
    }

    private static func run(_ tool: String, _ arguments: [String]) throws -> Bool {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [tool] + arguments
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        return process.terminationStatus == 0
    }
}
