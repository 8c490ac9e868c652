import CLinux
import FoundationEssentials
import Glibc

/// The memory of a plugin, as far as it can be counted from outside.
///
/// A control group counts all of it. This counts mapped memory, files in memory and the buffers of sockets, but no pipes, and no files or
/// sockets in transit through a socket.
enum PluginMemory {
    /// The bytes of these processes together.
    static func bytes(of processes: [pid_t]) -> Int64 {
        var (own, shared): (Int64, Int64) = (0, 0)
        var open = OpenMemory()
        for process in processes {
            let resident = resident(process)
            own += resident.own
            shared += resident.shared
            open.add(process)
        }
        // A file in memory that is also mapped appears in both counts.
        return own + max(shared, open.files) + open.sockets
    }

    private static func resident(_ process: pid_t) -> (own: Int64, shared: Int64) {
        guard let status = FileManager.default.contents(atPath: "/proc/\(process)/status") else { return (0, 0) }
        var (own, shared): (Int64, Int64) = (0, 0)
        for line in status.split(separator: UInt8(ascii: "\n")) {
            func kilobytes(_ name: String) -> Int64? {
                guard line.starts(with: name.utf8) else { return nil }
                let digits = line.filter { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
                return Int64(String(decoding: digits, as: UTF8.self))
            }
            own += (kilobytes("RssAnon:") ?? kilobytes("RssFile:") ?? 0) << 10
            shared += (kilobytes("RssShmem:") ?? 0) << 10
        }
        return (own, shared)
    }

    /// The memory of open files; each file counts once, however many processes have it open.
    private struct OpenMemory {
        private struct Inode: Hashable { var device, number: UInt }

        private var seen: Set<Inode> = []
        private(set) var files: Int64 = 0
        private(set) var sockets: Int64 = 0

        /// The bytes that the kernel holds for a socket of another process; 0 if it does not report them.
        private static func bytes(ofSocket number: CInt, _ process: CInt) -> Int64 {
            let file = taken_file(process, number)
            guard file >= 0 else { return 0 }
            defer { close(file) }
            // SO_MEMINFO (uapi/linux/sock_diag.h): received, its bound, being sent, its bound, in reserve, queued, options, coming in, lost.
            var held = [UInt32](repeating: 0, count: 9)
            var size = socklen_t(held.count * MemoryLayout<UInt32>.size)
            guard getsockopt(file, SOL_SOCKET, 55, &held, &size) == 0 else { return 0 }
            return Int64(held[0]) + Int64(max(held[2], held[5])) + Int64(held[4]) + Int64(held[7])
        }

        mutating func add(_ process: pid_t) {
            let folder = "/proc/\(process)/fd"
            var handle: CInt?
            defer { if let handle, handle >= 0 { close(handle) } }
            for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
                let path = "\(folder)/\(name)"
                guard let target = try? FileManager.default.destinationOfSymbolicLink(atPath: path) else { continue }
                let isFile = target.hasPrefix("/memfd:")
                guard isFile || target.hasPrefix("socket:") else { continue }
                var status = stat()
                guard stat(path, &status) == 0,
                    seen.insert(Inode(device: UInt(status.st_dev), number: UInt(status.st_ino))).inserted
                else { continue }
                if isFile {
                    files += Int64(status.st_blocks) * 512
                } else if let number = CInt(name) {
                    let of = handle ?? CInt(process_handle(process))
                    handle = of
                    sockets += Self.bytes(ofSocket: number, of)
                }
            }
        }
    }
}
