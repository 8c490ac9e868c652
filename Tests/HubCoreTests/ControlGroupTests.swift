import CLinux
import Foundation
import HubProcess
import Testing

@testable import HubCore

/// Limiting the memory of plugins with control groups.
@Suite struct ControlGroupTests {
    private static let mounts = """
        25 30 0:23 / /sys rw,nosuid shared:7 - sysfs sysfs rw
        32 25 0:28 / /sys/fs/cgroup ro shared:9 - tmpfs tmpfs ro,mode=755
        33 32 0:29 / /sys/fs/cgroup/memory rw shared:10 - cgroup cgroup rw,memory
        """

    @Test func `the hub's own group is found in a version 2 tree, a hybrid tree and a partial mount`() {
        let own = "4:memory:/old\n0::/system.slice/hub.service\n"
        func place(_ mount: String) -> String? {
            ControlGroups.place(mounts: "\(Self.mounts)\n\(mount)\n", own: own)
        }
        #expect(
            place("31 25 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw") == "/sys/fs/cgroup/system.slice/hub.service")
        #expect(
            place("31 25 0:27 / /sys/fs/cgroup/unified rw shared:8 master:1 - cgroup2 cgroup2 rw")
                == "/sys/fs/cgroup/unified/system.slice/hub.service")
        #expect(place("31 25 0:27 /system.slice /cg rw - cgroup2 cgroup2 rw") == "/cg/hub.service")
        #expect(place("31 25 0:27 /user.slice /cg rw - cgroup2 cgroup2 rw") == nil)
        #expect(place("") == nil)
        let root = "31 25 0:27 / /cg rw - cgroup2 cgroup2 rw"
        #expect(ControlGroups.place(mounts: root, own: "0::/\n") == "/cg")
        #expect(ControlGroups.place(mounts: root, own: "4:memory:/old\n") == nil)
    }

    @Test func `the memory of a process includes its mappings, its memory files and its socket buffers`()
        async throws
    {
        let before = PluginMemory.bytes(of: [getpid()])
        let piece = [UInt8](repeating: 1, count: 1 << 20)
        let file = memfd_create("counted", 0)
        for _ in 0..<64 { #expect(piece.withUnsafeBytes { write(file, $0.baseAddress, $0.count) } == 1 << 20) }
        // A file with two descriptors counts once.
        let same = dup(file)
        let more = PluginMemory.bytes(of: [getpid()]) - before
        #expect((60 << 20..<100 << 20).contains(more), "\(more >> 20) MiB")
        close(same)
        close(file)
    }
}
