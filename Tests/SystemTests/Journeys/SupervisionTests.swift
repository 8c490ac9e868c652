import Foundation
import HubProcess
import Testing

/// Plugins under a hub that is a real process: processes left by a killed hub, SIGHUP, and the logs.
@Suite(.serialized) struct SupervisionTests {
    /// A program that ignores all requests to end: it can only be killed.
    private static let deaf = #"""
        #!/bin/sh
        if [ "$1" = --describe ]; then
          echo '{"name":"deaf","summary":"s","version":"1","protocol":[1],"settings":[{"name":"key","type":"string","help":"h","secret":true}]}'
          exit 0
        fi
        trap '' TERM HUP
        read token
        echo "the token is $token, the key opensesame"
        echo $$ >> "$HUB_STATE/pids"
        while :; do sleep 0.1; done
        """#

    private func host() throws -> HubHost {
        let folder = try TemporaryFolder()
        let script = try folder.write(Self.deaf, to: "hub-deaf")
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: script)
        let key = try folder.write("opensesame", to: "key")
        let host = try HubHost(plugins: "[plugin.deaf]\nexecutable = \"\(script)\"\nkey = \"${file:\(key)}\"\n")
        kept.append(folder)
        return host
    }

    /// Folders with programs that the hubs of this suite run.
    private let kept = Kept()

    private final class Kept: @unchecked Sendable {
        private let lock = NSLock()
        private var folders: [TemporaryFolder] = []
        func append(_ folder: TemporaryFolder) { lock.withLock { folders.append(folder) } }
    }

    /// The plugin's processes so far, by their numbers on the machine; the plugin itself writes those of its namespace.
    private func pids(_ host: HubHost, count: Int) async throws -> [pid_t] {
        let path = "\(host.folder.path)/data/plugins/deaf/pids"
        while true {
            let lines = ((try? String(contentsOfFile: path, encoding: .utf8)) ?? "").split(separator: "\n")
            let log = (try? String(contentsOfFile: "\(host.folder.path)/data/logs/deaf.log", encoding: .utf8)) ?? ""
            let started = log.matches(of: /started as process ([0-9]+)/).compactMap { pid_t($0.1) }
            if lines.count >= count, started.count >= count { return started }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    private func isAlive(_ pid: pid_t) -> Bool {
        guard let stat = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8) else { return false }
        return !stat.contains(") Z ")
    }

    @Test(.timeLimit(.minutes(2)))
    func `the next hub ends the processes that a killed hub left before it starts the plugin again`() async throws {
        let host = try host()
        let first = try await host.start()
        let orphan = try await pids(host, count: 1)[0]
        await first.killAndWait()
        #expect(isAlive(orphan))
        let second = try await host.start()
        let both = try await pids(host, count: 2)
        #expect(!isAlive(orphan) && isAlive(both[1]))
        #expect(await second.stop() == 0)
        #expect(!isAlive(both[1]))
    }

    @Test(.timeLimit(.minutes(2)))
    func `on SIGHUP the hub applies hub.conf, and a file with errors changes nothing`() async throws {
        let host = try host()
        let hub = try await host.start()
        _ = try await pids(host, count: 1)
        try host.edit { $0 + "\nenabeld = true\n" }
        hub.signal(SIGHUP)
        _ = await hub.errorLines(count: 1) { $0.contains("nothing was changed") }
        let refused = try await host.command("apply")
        #expect(refused.status == 65 && refused.lines.contains { $0.contains("enabeld") })
        try host.edit { $0.replacing("enabeld = true", with: "enabled = false") }
        let look = try await host.command("apply", "--dry-run")
        #expect(look.status == 0 && look.lines.last?.hasSuffix(": would stop 1") == true)
        hub.signal(SIGHUP)
        _ = await hub.errorLines(count: 1) { $0.hasPrefix("stop deaf") }
        let pid = try await pids(host, count: 1)[0]
        while isAlive(pid) { try await Task.sleep(for: .milliseconds(20)) }
        #expect(hub.isRunning)
        #expect(await hub.stop() == 0)
    }

    @Test(.timeLimit(.minutes(2)))
    func `hub logs shows the output of a plugin without its secrets, whether or not the hub runs`() async throws {
        let host = try host()
        let hub = try await host.start()
        _ = try await pids(host, count: 1)
        let following = try ChildProcess(
            "hub", ["logs", "deaf", "-f", "--json"], environment: ["HUB_CONF": host.configuration])
        _ = await following.lines(count: 1) { $0.contains("the token is") }
        hub.signal(SIGTERM)
        _ = await following.lines(count: 1) { $0.contains("was ended") }
        #expect(await hub.waitForExit() == 0)
        following.signal(SIGKILL)
        let shown = try await host.command("logs", "deaf")
        #expect(shown.status == 0)
        let said = try #require(shown.lines.first { $0.contains("the token is") })
        #expect(said.hasSuffix("out: the token is <secret>, the key <secret>"), "\(said)")
        let later = try await host.command("logs", "deaf", "--since", "2100-01-01")
        #expect(later.status == 0 && later.lines.isEmpty)
        let none = try await host.command("logs", "daef")
        #expect(none.status == 1 && none.errors.contains { $0.contains("there are: deaf") })
    }
}
