import Glibc
import HubProcess
import TortureDiary

/// Kills a program as a power cut would; it is started again when the fault is lifted.
struct Kill: Fault {
    let victim: String
    var description: String { "kill \(victim)" }

    func apply(to scene: Scene) async throws {
        if let program = scene.programs[victim] { return program.kill() }
        guard let pid = scene.pid(ofChild: victim) else { return }
        scene.journal.note("kill -9", victim)
        kill(pid, SIGKILL)
    }

    func lift(from scene: Scene) async throws {
        if let program = scene.programs[victim] { return program.begin() }
        // The hub would start it again only after a while, or not at all.
        try await scene.release(victim)
    }
}

/// Stops a program, and lets it continue when the fault is lifted.
struct Stop: Fault {
    let victim: String
    private var pid: pid_t?
    var description: String { "stop \(victim)" }

    init(victim: String) { self.victim = victim }

    mutating func apply(to scene: Scene) async throws {
        pid = scene.programs[victim].map { $0.process?.pid } ?? scene.pid(ofChild: victim)
        guard let pid else { return }
        scene.journal.note("stop", victim)
        kill(pid, SIGSTOP)
    }

    func lift(from scene: Scene) async throws {
        // Process numbers are reused: continue only if it is still the same process.
        guard let pid, pid == scene.programs[victim].map({ $0.process?.pid }) ?? scene.pid(ofChild: victim) else {
            return
        }
        scene.journal.note("continue", victim)
        kill(pid, SIGCONT)
    }
}
