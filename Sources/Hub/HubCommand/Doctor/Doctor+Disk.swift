import Foundation
import HealthText
import HubClient
import HubCore

/// Checks of disk space and file systems.
extension Doctor {
    func disk() -> [DoctorFinding] {
        var found = room("data", files.data, low: 500_000_000, least: 50_000_000)
        if Doctor.existing(files.run) != Doctor.existing(files.data) {
            found += room("run", files.run, low: 1_000_000, least: 65_536)
        }
        found += kind()
        let old = ((try? FileManager.default.contentsOfDirectory(atPath: files.data)) ?? []).filter {
            $0.hasPrefix("hub.sqlite.replaced-") || $0.hasPrefix("hub.sqlite.before-")
        }
        if !old.isEmpty {
            let bytes = old.compactMap {
                try? FileManager.default.attributesOfItem(atPath: "\(files.data)/\($0)")[.size] as? Int64
            }.reduce(0, +)
            found.add(
                .note, "disk",
                "\(NumberText.count(old.count, "older copy", "older copies")) of the store take \(NumberText.bytes(bytes)) in \(files.data)",
                repair: "delete hub.sqlite.replaced-… and .before-… once you no longer need them")
        }
        return found
    }

    /// The path itself, or the nearest existing folder above it.
    private static func existing(_ path: String) -> String {
        var path = path
        while access(path, F_OK) != 0, path.count > 1 { path = URL(filePath: path).deletingLastPathComponent().path }
        return path
    }

    private func room(_ name: String, _ path: String, low: Int64, least: Int64) -> [DoctorFinding] {
        var disk = statvfs()
        guard statvfs(Doctor.existing(path), &disk) == 0 else {
            return .one(.error, "disk", "\(path) cannot be looked at: \(String(cString: strerror(errno)))")
        }
        let free = Int64(clamping: disk.f_bavail) * Int64(disk.f_frsize)
        let text = "\(NumberText.bytes(free)) free for \(name) (\(path))"
        if UInt64(disk.f_flag) & UInt64(ST_RDONLY) != 0 {
            return .one(
                .error, "disk", "the file system of \(path) is mounted read-only",
                repair: "dmesg says why; mount it writable again (mount -o remount,rw)")
        }
        if disk.f_files > 0, disk.f_favail < 100 {
            return .one(
                .error, "disk", "the file system of \(path) has no room for more files", repair: "remove files there")
        }
        if free < least { return .one(.error, "disk", text, repair: "make room") }
        return [
            free < low
                ? DoctorFinding(.warning, "disk", text, repair: "make room before it is full")
                : DoctorFinding(.good, "disk", text)
        ]
    }

    private func kind() -> [DoctorFinding] {
        guard let text = try? String(contentsOfFile: "/proc/self/mountinfo", encoding: .utf8),
            let type = Doctor.fileSystem(of: Doctor.existing(files.data), mounts: text)
        else { return [] }
        if ["nfs", "nfs4", "cifs", "smb3", "9p", "afs", "ceph", "fuse.sshfs", "virtiofs"].contains(type) {
            return .one(
                .warning, "disk",
                "\(files.data) is on \(type): SQLite's locks and log need a local file system, and a commit is only as durable as the server makes it",
                repair: "set [hub] data to a folder on a local disk, and keep backups there instead")
        }
        switch type {
        case "tmpfs", "ramfs":
            return .one(
                .error, "disk", "\(files.data) is in memory (\(type)): it is gone after a restart of the machine",
                repair: "set [hub] data to a folder on a disk")
        case "vfat", "exfat", "msdos":
            return .one(
                .error, "disk", "\(files.data) is on \(type), which knows no owners: every user can read the data",
                repair: "set [hub] data to a folder on a Linux file system")
        default: return []
        }
    }

    /// The type of a folder's file system: that of the deepest mount above it, and of several at one place the last.
    ///
    /// - Parameter mounts: the content of `/proc/self/mountinfo` (proc(5)).
    static func fileSystem(of folder: String, mounts: String) -> String? {
        let folder = URL(filePath: folder).resolvingSymlinksInPath().path
        var best: (length: Int, type: String)?
        for line in mounts.split(separator: "\n") {
            let parts = line.split(separator: " ")
            guard parts.count > 6, let separator = parts.firstIndex(of: "-"), separator + 1 < parts.count else {
                continue
            }
            let place = parts[4].replacingOccurrences(of: "\\040", with: " ")
            let isAbove = place == "/" || folder == place || folder.hasPrefix(place + "/")
            guard isAbove, place.count >= best?.length ?? 0 else { continue }
            best = (place.count, String(parts[separator + 1]))
        }
        return best?.type
    }
}
