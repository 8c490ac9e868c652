import Glibc
import Platform

/// The other programs that hold locks on a store's files, according to the kernel.
public enum LockHolders {
    /// `process 4711 (python3)` for each other process with a lock on the store's file or on SQLite's files beside it.
    ///
    /// Empty if the system does not report locks.
    public static func others(of path: String) -> [String] {
        guard let locks = text(at: "/proc/locks") else { return [] }
        let files = ["", "-shm", "-wal"].compactMap { inode(path + $0) }
        // 1: POSIX  ADVISORY  READ 4711 fe:00:1234 128 128
        let holders = locks.split(separator: "\n").compactMap { line -> pid_t? in
            let words = line.split(separator: " ")
            guard let place = words.firstIndex(where: { files.contains($0) }), place > 0,
                let process = pid_t(words[place - 1]), process > 0, process != getpid()
            else { return nil }
            return process
        }
        return Set(holders).sorted().map { process in
            let name = text(at: "/proc/\(process)/comm")?.split(separator: "\n").first
            return "process \(process)" + (name.map { " (\($0))" } ?? "")
        }
    }

    /// The name of a file in `/proc/locks`.
    private static func inode(_ path: String) -> Substring? {
        var file = stat()
        guard stat(path, &file) == 0 else { return nil }
        // As in makedev(3), whose macros cannot be imported into Swift.
        let device = UInt64(file.st_dev)
        let (major, minor) = (device >> 8 & 0xFFF | device >> 32 & ~0xFFF, device & 0xFF | device >> 12 & ~0xFF)
        return "\(major.hexadecimal(digits: 2)):\(minor.hexadecimal(digits: 2)):\(file.st_ino)"
    }

    private static func text(at path: String) -> String? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var (bytes, part) = ([UInt8](), [UInt8](repeating: 0, count: 16_384))
        while case let count = read(file, &part, part.count), count > 0 { bytes += part[..<count] }
        return String(decoding: bytes, as: UTF8.self)
    }
}
