import FoundationEssentials
import Glibc

/// Processes of plugins that should have ended: those that a killed hub has left behind, and those that a plugin has started and not ended.
///
/// They are identified by their environment: the plugin door of this run directory, and the instance. `hub-confine` keeps this environment
/// whatever the plugin does, and takes all processes of the plugin with it when it ends; a child of a plugin that is not confined can
/// clear its environment. Only processes of the hub's own user can be examined, and only if there is `/proc`.
struct OrphanProcesses: Sendable {
    let door: String

    /// - Parameter instance: `nil` for the processes of all instances.
    func find(of instance: String? = nil) -> [pid_t] {
        let entries = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        let known = entries.compactMap { pid_t($0) }.filter { $0 != getpid() && belongs($0, instance) }
        // Their children may have another environment.
        return Set(known + known.flatMap(ProcessTree.below)).sorted()
    }

    /// Sends SIGTERM to all, and SIGKILL to those that still run after `grace`.
    func end(of instance: String? = nil, grace: Duration) async -> Int {
        let found = find(of: instance)
        guard !found.isEmpty else { return 0 }
        for process in found { kill(process, SIGTERM) }
        let deadline = ContinuousClock.now + grace
        while ContinuousClock.now < deadline, found.contains(where: { kill($0, 0) == 0 && belongs($0, instance) }) {
            try? await Task.sleep(for: .milliseconds(20))
        }
        for process in find(of: instance) { kill(process, SIGKILL) }
        return found.count
    }

    private func belongs(_ process: pid_t, _ instance: String?) -> Bool {
        guard let bytes = FileManager.default.contents(atPath: "/proc/\(process)/environ") else { return false }
        let variables = bytes.split(separator: 0)
        func has(_ variable: String) -> Bool { variables.contains { $0.elementsEqual(variable.utf8) } }
        return has("HUB_DOOR=\(door)") && instance.map { has("HUB_INSTANCE=\($0)") } ?? true
    }
}
