import Foundation
import HubClient
import HubProcess
import HubWire
import Testing

@testable import HubCommand

/// A hub in its own control group.
@Suite(.enabled(if: Need.python.isMet && Need.memoryGroups.isMet, "\(Need.memoryGroups.reason)"))
struct MemoryGroupTests {
    @Test func `the kernel ends a plugin that exceeds its memory_limit, and hub status says so`()
        async throws
    {
        let folder = try TemporaryFolder()
        let group = "/sys/fs/cgroup/hub-test-\(UInt32.random(in: 0 ... .max))"
        try "+memory".write(toFile: "/sys/fs/cgroup/cgroup.subtree_control", atomically: false, encoding: .utf8)
        #expect(mkdir(group, 0o755) == 0)
        let manifest = #"{"name":"hoard","summary":"S.","version":"1","writes":["weight"]}"#
        let program = try folder.write(
            """
            #!/usr/bin/python3
            import os, sys
            if sys.argv[1:] == ["--describe"]:
                print('\(manifest)')
                sys.exit()
            file = os.memfd_create("hoard")
            for _ in range(256):
                os.write(file, bytes(1 << 20))
            sys.stdin.read()
            """, to: "hoard", isProgram: true)
        try folder.writeSettings(
            "[person.me]\n[plugin.hoard]\nexecutable = \"\(program)\"\nmemory_limit = \"64MiB\"\n")
        let words = "echo $$ > \(group)/cgroup.procs; exec \(Programs.path("hub")) run --config \(folder.configuration)"
        let hub = try ChildProcess("/bin/sh", ["-c", words])
        try await hub.line { $0.contains("ready") }
        var said = ""
        for _ in 0..<300 where !said.contains("memory_limit") {
            try await Task.sleep(for: .milliseconds(100))
            said = try await ChildProcess("hub", ["status", "--config", folder.configuration]).result().output
        }
        #expect(said.contains("wanted more memory than its memory_limit of 64 MiB, and the kernel ended it"), "\(said)")
        hub.signal(SIGTERM)
        #expect(await hub.waitForExit() == 0)
        #expect(
            !FileManager.default.fileExists(atPath: group + "/plugin-hoard"), "the plugin's control group is removed")
        rmdir(group + "/hub")
        rmdir(group)
    }
}
