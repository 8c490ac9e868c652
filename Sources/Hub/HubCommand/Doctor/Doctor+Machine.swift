import Foundation
import HealthText
import HubCore
import HubSettings
import HubWire
import ZeroMQ

/// Checks of the machine: libraries, limits, the service manager, Bluetooth.
extension Doctor {
    func machine() -> [DoctorFinding] {
        var found: [DoctorFinding] = []
        let version = LibraryVersion.installed
        found.append(
            version >= LibraryVersion(major: 4, minor: 3, patch: 0)
                ? DoctorFinding(.good, "machine", "libzmq \(version)")
                : DoctorFinding(
                    .error, "machine", "libzmq \(version) is too old", repair: "sudo apt-get install libzmq5"))
        var limit = rlimit()
        let known = getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0
        if known, limit.rlim_max < 4_096 {
            found.add(
                .warning, "machine", "a process may have only \(limit.rlim_max) files and connections open",
                repair: "LimitNOFILE=65536 in its unit, or ulimit -n in its shell")
        }
        if let wanted = configuration?.hub.memoryLimit?.bytes, let memory = Doctor.memory(),
            Int64(wanted) > memory.bytes
        {
            found.add(
                .warning, "machine",
                "memory_limit (\(NumberText.bytes(Int64(wanted)))) is more than \(memory.of) has (\(NumberText.bytes(memory.bytes))): the kernel would end the hub first",
                repair: "set [hub] memory_limit to half of that")
        }
        return found
    }

    /// The smaller of the machine's memory and the control group's limit.
    private static func memory() -> (bytes: Int64, of: String)? {
        let machine = Int64(ProcessInfo.processInfo.physicalMemory)
        guard let text = try? String(contentsOfFile: "/sys/fs/cgroup/memory.max", encoding: .utf8),
            let group = Int64(text.filter(\.isNumber)), group < machine
        else { return machine > 0 ? (machine, "this machine") : nil }
        return (group, "this container")
    }

    /// Checks how well plugins are confined.
    func isolation() -> [DoctorFinding] {
        guard let isolation = checked.isolation else { return [] }
        let loose = (configuration?.plugins ?? []).filter { $0.startsHere && !$0.confinement.isOn }.map { plugin in
            DoctorFinding(
                .warning, "isolation", "plugin \(plugin.name) may do all that the hub's user may (confine = false)",
                repair: "remove the line from [plugin.\(plugin.name)], then hub apply")
        }
        if let fault = isolation.fault { return .one(.error, "isolation", fault) + loose }
        let gaps = isolation.gaps.map { gap in
            DoctorFinding(
                .warning, "isolation",
                "\(Isolation.consequence(of: gap.subject)): this machine cannot prevent it (\(gap.reason))",
                repair: gap.reason.hasPrefix("no user namespace")
                    ? "allow unprivileged user namespaces (Docs/Security.md, Kernel requirements)"
                    : "a kernel with Landlock and seccomp (Docs/Security.md, Kernel requirements)")
        }
        // With gaps, this is the protection that remains.
        let held =
            isolation.confined.isEmpty
            ? []
            : [DoctorFinding(.good, "isolation", "plugins are confined: \(isolation.confined.joined(separator: ", "))")]
        return held + gaps + loose + ownersRights()
    }

    /// Lists the plugins that have owner's rights.
    private func ownersRights() -> [DoctorFinding] {
        (configuration?.plugins ?? []).filter(\.startsHere).compactMap { plugin in
            let words = OwnerRight.granted(of: checked.manifests[plugin.name]?.owner ?? [], by: plugin.grants.owner)
            return words.isEmpty
                ? nil
                : DoctorFinding(
                    .note, "isolation", "plugin \(plugin.name) has the owner's rights: \(words.joined(separator: ", "))"
                )
        }
    }

    func service() -> [DoctorFinding] {
        guard access("/run/systemd/system", F_OK) == 0 else { return [] }
        let environment = ProcessInfo.processInfo.environment
        let units = SystemdUnit.Manager.allCases.flatMap { manager in
            let written = try? SystemdUnit.path(manager, environment: environment)
            let enabled = try? SystemdUnit.enabledPath(manager, environment: environment)
            return [written, enabled].compactMap { $0.map { (manager: manager, path: $0) } }
        }
        guard let (manager, path) = units.first(where: { access($0.path, F_OK) == 0 }) else {
            return .one(
                .note, "service", "no systemd unit starts the hub after a restart of the machine",
                repair: "hub service install")
        }
        let user = NSUserName()
        if manager == .user, access("/var/lib/systemd/linger/\(user)", F_OK) != 0 {
            return .one(
                .note, "service", "\(path) runs the hub only while \(user) is logged in",
                repair: "loginctl enable-linger")
        }
        return .one(.good, "service", path)
    }

    /// Checks Bluetooth, if a plugin has a Bluetooth address among its settings.
    func bluetooth() -> [DoctorFinding] {
        let users =
            configuration?.plugins.filter { plugin in
                plugin.enabled && plugin.settings.values.contains { $0.string?.hasPrefix("rfcomm://") == true }
            } ?? []
        guard !users.isEmpty else { return [] }
        let names = users.map(\.name).joined(separator: ", ")
        // AF_BLUETOOTH and BTPROTO_RFCOMM, for which the C library has no names.
        let file = socket(31, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 3)
        guard file >= 0 else {
            return .one(
                .error, "bluetooth",
                "\(names) needs RFCOMM, which this kernel refuses: \(String(cString: strerror(errno)))",
                repair: "sudo modprobe rfcomm; a container needs the host's network")
        }
        close(file)
        let adapters = (try? FileManager.default.contentsOfDirectory(atPath: "/sys/class/bluetooth")) ?? []
        guard adapters.contains(where: { $0.hasPrefix("hci") }) else {
            return .one(
                .error, "bluetooth", "\(names) needs a Bluetooth adapter, and there is none",
                repair: "plug one in; bluetoothctl list shows it, rfkill list whether it is blocked")
        }
        return .one(.good, "bluetooth", "RFCOMM and an adapter are there, for \(names)")
    }
}
