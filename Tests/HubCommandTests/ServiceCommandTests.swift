import Foundation
import HubClient
import HubCore
import HubProcess
import HubSettings
import Testing

@testable import HubCommand

enum HubSectionStub { static let section = HubSection(data: "/var/lib/health-hub", run: "/run/health-hub") }

/// The systemd unit of the hub.
@Suite struct ServiceCommandTests {
    private func unit(_ manager: SystemdUnit.Manager, _ section: HubSection = HubSectionStub.section) -> SystemdUnit {
        SystemdUnit(
            manager: manager, program: "/usr/bin/true", configuration: "/etc/health-hub/hub.conf",
            files: HubFiles(section))
    }

    @Test(arguments: SystemdUnit.Manager.allCases)
    func `a unit delegates its control group, so that the kernel can enforce the memory_limit of plugins`(
        _ manager: SystemdUnit.Manager
    ) {
        let lines = unit(manager).text.split(separator: "\n")
        #expect(lines.contains("Delegate=memory") && !lines.contains("ProtectControlGroups=yes"))
    }

    @Test(
        .enabled(if: Need.systemdAnalyze.isMet, "\(Need.systemdAnalyze.reason)"),
        arguments: SystemdUnit.Manager.allCases) func `systemd-analyze verify finds no fault in the unit`(
            _ manager: SystemdUnit.Manager
        ) async throws
    {
        let folder = try TemporaryFolder()
        let file = folder.path + "/" + SystemdUnit.name
        let text = unit(manager).text.replacingOccurrences(of: "User=health-hub\nGroup=health-hub\n", with: "")
        try Data(text.utf8).write(to: URL(filePath: file))
        let result = try await ChildProcess(
            "/usr/bin/env",
            [
                "XDG_RUNTIME_DIR=\(folder.path)", "systemd-analyze", "--man=no",
                manager == .user ? "--user" : "--system", "verify", file,
            ]
        ).result()
        #expect(result.code == 0, "\(result.errors)")
        #expect(!result.errors.contains("hub.service:"), "\(result.errors)")
    }

    @Test(
        .enabled(if: Need.systemdAnalyze.isMet, "\(Need.systemdAnalyze.reason)"),
        // The control group adds 0.2 to the system's score; the hub needs it to limit the memory of plugins.
        arguments: [(SystemdUnit.Manager.system, 2.7), (.user, 5.0)])
    func `systemd-analyze security rates the unit's exposure as low`(
        _ manager: SystemdUnit.Manager, _ most: Double
    ) async throws {
        let folder = try TemporaryFolder()
        let file = folder.path + "/" + SystemdUnit.name
        try Data(unit(manager).text.utf8).write(to: URL(filePath: file))
        let result = try await ChildProcess(
            "/usr/bin/env",
            [
                "XDG_RUNTIME_DIR=\(folder.path)", "systemd-analyze", manager == .user ? "--user" : "--system",
                "security", "--no-pager", "--offline=true", file,
            ]
        ).result()
        let score = try #require(
            result.output.firstMatch(of: /exposure level for hub.service: ([0-9.]+)/).flatMap { Double($0.1) },
            "\(result.output) \(result.errors)")
        #expect(score <= most, "\(result.output)")
    }

    @Test func `a user's unit asks for no namespaces if the machine has none`() {
        var bare = unit(.user)
        bare.hasNamespaces = false
        #expect(!bare.text.contains("PrivateUsers") && !bare.text.contains("CapabilityBoundingSet"))
        #expect(unit(.user).text.contains("\nPrivateUsers=yes\n"))
    }

    @Test func `the unit waits for READY, has a watchdog, and restarts the hub only after the right exit codes`() {
        for manager in SystemdUnit.Manager.allCases {
            let lines = unit(manager).text.split(separator: "\n")
            for line in [
                "Type=notify", "WatchdogSec=60", "Restart=on-failure", "RestartForceExitStatus=75",
                "RestartPreventExitStatus=64 65 66", "KillMode=mixed",
                "ExecStart=/usr/bin/true run --config /etc/health-hub/hub.conf",
            ] { #expect(lines.contains(line[...]), "\(line)") }
            let families = lines.first { $0.hasPrefix("RestrictAddressFamilies=") }
            #expect(families?.contains("AF_BLUETOOTH") == true)
            #expect(!lines.contains { $0.hasPrefix("PrivateNetwork") || $0.hasPrefix("PrivateDevices") })
        }
    }

    @Test func `the system's unit lets the hub write only to its own folders, wherever they are`() {
        let usual = unit(.system).text
        #expect(usual.contains("StateDirectory=health-hub\nStateDirectoryMode=0700\nRuntimeDirectory=health-hub\n"))
        let elsewhere = unit(.system, HubSection(data: "/srv/my data/100%", run: "/srv/run")).text
        #expect(elsewhere.contains("ReadWritePaths=\"/srv/my data/100%%\"\nReadWritePaths=/srv/run\n"))
    }

    @Test func `the system's unit lets the hub write the folder of its hub.conf below /etc, but not /etc`() {
        func text(_ configuration: String) -> String {
            SystemdUnit(
                manager: .system, program: "/usr/bin/true", configuration: configuration,
                files: HubFiles(HubSectionStub.section)
            ).text
        }
        #expect(text("/etc/health-hub/hub.conf").contains("\nReadWritePaths=/etc/health-hub\n"))
        #expect(!text("/etc/hub.conf").contains("ReadWritePaths"))
    }

    @Test func `the package's units name its places, and leave the folder of a user's hub.conf to systemd`()
        async throws
    {
        func unit(_ manager: String) async throws -> [Substring] {
            try await ChildProcess("hub", ["service", "print", "--packaged", manager]).result().output.split(
                separator: "\n")
        }
        let system = try await unit("--system")
        for line in [
            "ExecStart=/usr/lib/health-hub/bin/hub run --config /etc/health-hub/hub.conf", "User=health-hub",
            "StateDirectory=health-hub", "RuntimeDirectory=health-hub",
        ] { #expect(system.contains(line[...]), "\(line)") }
        let user = try await unit("--user")
        #expect(user.contains("ExecStart=/usr/lib/health-hub/bin/hub run --config %E/health-hub/hub.conf"))
        #expect(!(system + user).contains(SystemdUnit.mark[...]), "hub service remove must not take them away")
    }

    @Test func `install writes one file, prints the next command, and does not touch a unit that hub did not write`()
        async throws
    {
        let folder = try TemporaryFolder()
        try folder.writeSettings()
        func service(_ arguments: String...) async throws -> ChildProcess.Result {
            try await ChildProcess(
                "/usr/bin/env",
                ["XDG_CONFIG_HOME=\(folder.path)/config", Programs.path("hub"), "service"] + arguments
                    + ["--config", folder.configuration]
            ).result()
        }
        let path = folder.path + "/config/systemd/user/hub.service"
        let printed = try await service()
        #expect(printed.code == 0 && printed.output.hasPrefix(SystemdUnit.mark))
        #expect(!FileManager.default.fileExists(atPath: path))
        #expect(try await service("remove").code == HubExit.unhealthy.rawValue)
        let installed = try await service("install")
        #expect(installed.output == "written: \(path)\n")
        #expect(installed.errors.contains("systemctl --user enable --now hub"))
        #expect(try String(contentsOfFile: path, encoding: .utf8) == printed.output)
        #expect(try await service("install").code == 0, "a second installation changes nothing")
        #expect(try await service("remove").output == "removed: \(path)\n")
        try Data("[Unit]\n".utf8).write(to: URL(filePath: path))
        for action in ["install", "remove"] {
            let refused = try await service(action)
            #expect(refused.code == HubExit.unhealthy.rawValue)
            #expect(refused.errors.contains("hub did not write this unit"))
        }
    }

    @Test func `hub run notifies the service manager when it is ready and when it stops`() async throws {
        let folder = try TemporaryFolder()
        try folder.writeSettings()
        let manager = try DatagramSocket(folder.path + "/notify")
        let hub = try ChildProcess(
            "/usr/bin/env",
            [
                "NOTIFY_SOCKET=\(folder.path)/notify", "WATCHDOG_USEC=300000", Programs.path("hub"), "run", "--config",
                folder.configuration,
            ])
        #expect(try manager.next() == "READY=1\nSTATUS=ready")
        #expect(try manager.next().hasPrefix("WATCHDOG=1\nSTATUS=newest sequence 0"))
        hub.signal(SIGTERM)
        var last = try manager.next()
        while last.hasPrefix("WATCHDOG=1") { last = try manager.next() }
        #expect(last.hasPrefix("STOPPING=1\n"))
        #expect(await hub.result().code == 0)
    }
}

/// Receives datagrams; each wait ends after 30 seconds.
private final class DatagramSocket {
    private let descriptor: CInt

    init(_ path: String) throws {
        descriptor = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try #require(result == 0)
    }

    deinit { close(descriptor) }

    func next() throws -> String {
        var file = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        try #require(poll(&file, 1, 30_000) == 1, "the hub sent nothing")
        var bytes = [UInt8](repeating: 0, count: 4_096)
        let count = recv(descriptor, &bytes, bytes.count, 0)
        return String(decoding: bytes[..<max(0, count)], as: UTF8.self)
    }
}
