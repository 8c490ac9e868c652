import FoundationEssentials
import Glibc
import Platform

/// Lets the kernel enforce `memory_limit`: a control group for each plugin, below the hub's.
///
/// This needs a group for the hub alone, delegated by a service manager (`Delegate=`), without other programs. Calls block briefly.
struct ControlGroups: Sendable {
    /// The hub's group, as a folder.
    private let folder: String

    private static let ofHub = "hub"
    private static let ofPlugins = "plugin-"

    /// Prepares the hub's group for subgroups: the hub moves into a subgroup, because no group may have both processes and subgroups.
    ///
    /// - Parameters:
    ///   - mounts: the list of mounts (`/proc/self/mountinfo`).
    ///   - own: the groups of this process (`/proc/self/cgroup`).
    static func take(
        mounts: String = "/proc/self/mountinfo", own: String = "/proc/self/cgroup"
    ) throws(HubError) -> ControlGroups {
        guard let folder = place(mounts: text(mounts), own: text(own)) else {
            throw HubError(.control, "there is no control group of version 2")
        }
        guard words(of: "\(folder)/cgroup.controllers").contains("memory") else {
            throw HubError(.control, "\(folder) has no memory controller")
        }
        func processes() -> [pid_t] { words(of: "\(folder)/cgroup.procs").compactMap { pid_t($0) } }
        let here = processes()
        let others = here.filter { $0 != getpid() && !ProcessTree.isBelow($0, getpid()) }
        guard others.isEmpty, here.contains(getpid()) else {
            throw HubError(.control, "others run in \(folder), as in a terminal's")
        }
        let home = "\(folder)/\(ofHub)"
        guard mkdir(home, 0o755) == 0 || errno == EEXIST else {
            throw HubError(.control, "\(home) cannot be made: \(String(cString: strerror(errno)))")
        }
        do throws(HubError) {
            // Twice, because a program that the hub was just starting may have come after the first scan.
            for process in here { try write("\(process)", to: "\(home)/cgroup.procs") }
            for process in processes() { try write("\(process)", to: "\(home)/cgroup.procs") }
            try write("+memory", to: "\(folder)/cgroup.subtree_control")
        } catch {
            for process in words(of: "\(home)/cgroup.procs") { try? write(process, to: "\(folder)/cgroup.procs") }
            rmdir(home)
            throw error
        }
        // Removes groups that a killed hub has left.
        for name in (try? Folder.names(in: folder)) ?? [] where name.hasPrefix(ofPlugins) {
            Group(folder: "\(folder)/\(name)").end()
        }
        return ControlGroups(folder: folder)
    }

    /// Makes the group for a plugin that is about to start.
    func group(of instance: String, limit: Int64) throws(HubError) -> Group {
        let group = Group(folder: "\(folder)/\(Self.ofPlugins)\(instance)")
        if mkdir(group.folder, 0o755) != 0 {
            // An existing group still counts memory of earlier processes.
            group.end()
            guard mkdir(group.folder, 0o755) == 0 else {
                throw HubError(.control, "\(group.folder) cannot be made: \(String(cString: strerror(errno)))")
            }
        }
        do throws(HubError) {
            try group.limit(to: limit)
            // Otherwise the kernel swaps, and the whole machine slows down. A kernel without swap has no such file.
            if access("\(group.folder)/memory.swap.max", F_OK) == 0 {
                try Self.write("0", to: "\(group.folder)/memory.swap.max")
            }
            // A plugin that lost one of its processes would continue incompletely.
            try Self.write("1", to: "\(group.folder)/memory.oom.group")
        } catch {
            group.end()
            throw error
        }
        return group
    }

    struct Group: Sendable {
        let folder: String

        func limit(to bytes: Int64) throws(HubError) { try write("\(bytes)", to: "\(folder)/memory.max") }

        /// Adds a process that was not started by `hub-confine`, which enters the group on start.
        func add(_ process: Int) throws(HubError) { try write("\(process)", to: "\(folder)/cgroup.procs") }

        /// Whether the kernel has killed processes because of the limit.
        var hasKilled: Bool {
            let words = words(of: "\(folder)/memory.events")
            return zip(words, words.dropFirst()).contains { ["oom_kill", "oom_group_kill"].contains($0) && $1 != "0" }
        }

        /// Kills the remaining processes in the group, and removes it.
        func end() {
            try? write("1", to: "\(folder)/cgroup.kill")
            // A killed process stays in its group until it has been reaped.
            for _ in 0..<100 where rmdir(folder) != 0 && errno == EBUSY { usleep(10_000) }
        }
    }

    // MARK: - Files

    /// The folder of the group that contains this process.
    static func place(mounts: String, own: String) -> String? {
        guard let line = own.split(separator: "\n").first(where: { $0.hasPrefix("0::/") }) else { return nil }
        let path = line.dropFirst("0::".count)
        for mount in mounts.split(separator: "\n") {
            let fields = mount.split(separator: " ")
            guard let dash = fields.firstIndex(of: "-"), fields.count > dash + 1, dash > 4,
                fields[dash + 1] == "cgroup2"
            else { continue }
            // Only a part of the tree may be mounted.
            let (root, place) = (fields[3], fields[4])
            if root == "/" { return path == "/" ? String(place) : "\(place)\(path)" }
            guard path == root || path.hasPrefix(root + "/") else { continue }
            return "\(place)\(path.dropFirst(root.count))"
        }
        return nil
    }

    private static func text(_ path: String) -> String {
        String(decoding: FileManager.default.contents(atPath: path) ?? Data(), as: UTF8.self)
    }

    private static func words(of path: String) -> [String] {
        text(path).split { $0 == " " || $0 == "\n" }.map(String.init)
    }

    private static func write(_ text: String, to path: String) throws(HubError) {
        let file = open(path, O_WRONLY | O_CLOEXEC)
        defer { if file >= 0 { close(file) } }
        guard file >= 0, Glibc.write(file, text, text.utf8.count) == text.utf8.count else {
            throw HubError(.control, "\(path) does not take \(text): \(String(cString: strerror(errno)))")
        }
    }
}
