import Foundation
import HealthText
import HubClient
import HubCore
import HubSettings
import Platform

/// Checks of sockets, locks and file modes.
extension Doctor {
    func endpoints() -> [DoctorFinding] {
        let isHeld = FileLock.isHeld(files.run + "/lock")
        let storeIsHeld = FileLock.isHeld(files.store + ".lock")
        let holder = FileLock.holder(of: files.store + ".lock").map { " (\($0))" } ?? ""
        var found: [DoctorFinding] = []
        if let longest = HubSection.socketNames.map({ "\(files.run)/\($0)".utf8.count }).max(),
            longest > HubSection.longestSocketPath
        {
            found.add(
                .error, "endpoints", "\(files.run) is too long for a socket's path",
                repair: "set [hub] run to a shorter one")
        }
        let sockets = HubSection.socketNames.map { (name: $0, path: "\(files.run)/\($0)") }
        let absent = sockets.filter { UnixSocket.presence("ipc://\($0.path)") == .absent }
        if isHeld {
            if status == nil {
                found.add(
                    .error, "endpoints",
                    "a hub\(holder) has \(files.run) but does not answer: it is starting, or it hangs",
                    repair: "look at its log; as a last resort, kill it and start it again")
            } else if !absent.isEmpty {
                found.add(
                    .error, "endpoints",
                    "no program listens at \(absent.map(\.name).joined(separator: ", ")) in \(files.run), though the hub runs: the sockets were removed",
                    repair: "start the hub again")
            }
        } else {
            if storeIsHeld {
                found.add(
                    .error, "endpoints",
                    "another program\(holder) has the store \(files.store), with another run directory",
                    repair: "stop that hub (hub stop), or name another data folder in hub.conf")
            }
            let stale = sockets.filter { absent.map(\.path).contains($0.path) && access($0.path, F_OK) == 0 }
            if !stale.isEmpty {
                found.add(
                    .note, "endpoints",
                    "\(stale.map(\.name).joined(separator: ", ")) in \(files.run) were left by a hub that was killed; the next one replaces them"
                )
            }
            if sockets.count > absent.count {
                found.add(
                    .error, "endpoints", "something listens in \(files.run) that does not hold its lock",
                    repair: "fuser \(files.run)/door names it")
            }
        }
        return found.isEmpty
            ? [DoctorFinding(.good, "endpoints", isHeld ? "the hub listens in \(files.run)" : "\(files.run) is free")]
            : found
    }

    /// Checks modes and owners of private files and folders.
    func modes() -> [DoctorFinding] {
        let data = files.data
        let paths = [
            (data, mode_t(0o700)), (files.run, 0o700), (files.plugins, 0o700), (files.store, 0o600),
            (files.store + "-wal", 0o600), (files.store + "-shm", 0o600), (files.store + ".backups", 0o600),
            ("\(data)/secrets.db", 0o600), ("\(data)/keys", 0o700), ("\(data)/logs", 0o700),
        ]
        var found: [DoctorFinding] = []
        for (path, wanted) in paths {
            var file = stat()
            guard stat(path, &file) == 0 else { continue }
            let mode = file.st_mode & 0o777
            if mode & ~wanted != 0 {
                found.add(
                    .error, "modes", "others can read or change \(path) (mode \(String(mode, radix: 8)))",
                    repair: "chmod \(String(wanted, radix: 8)) \(path)", mode: .init(path: path, mode: wanted))
            } else if geteuid() == 0, let owner = Self.owner(of: files.store), file.st_uid != owner,
                path == files.store + ".backups"
            {
                found.add(
                    .error, "modes",
                    "\(path) belongs to another user (\(file.st_uid)) than the store, so the hub cannot read it",
                    repair: "sudo chown --reference=\(files.store) \(path)")
            } else if file.st_uid != geteuid(), geteuid() != 0 {
                found.add(
                    .error, "modes",
                    "\(path) belongs to another user (\(file.st_uid)), so a hub of yours cannot use it",
                    repair: "sudo chown -R \(geteuid()) \(data)")
            } else if access(path, W_OK) != 0 {
                found.add(
                    .error, "modes", "\(path) cannot be written: \(String(cString: strerror(errno)))",
                    repair: "chmod \(String(wanted, radix: 8)) \(path)")
            }
        }
        return found.isEmpty ? [DoctorFinding(.good, "modes", "only their owner may read the hub's files")] : found
    }

    private static func owner(of path: String) -> uid_t? {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_uid : nil
    }
}
