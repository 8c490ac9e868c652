import Foundation
import HubProcess
import Testing

@testable import HubCommand

/// A hub whose plugin wants more than it was granted (`hostile.py`).
@Suite(.serialized, .timeLimit(.minutes(5)), .enabled(if: Need.python.isMet, "\(Need.python.reason)"))
struct IsolationTests {
    /// Under whom the hub runs, and what the kernel gives it.
    enum Ground: String, CaseIterable, Sendable {
        case asItIs = "as the tests run"
        case ordinary = "as an ordinary user"
        case bare = "without user namespaces"

        /// What stands before the hub's own words.
        var wrapper: [String] {
            switch self {
            case .asItIs: []
            case .ordinary: ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
            case .bare:
                [
                    "unshare", "--user", "--map-root-user", "sh", "-c",
                    #"echo 0 > /proc/sys/user/max_user_namespaces && exec "$@""#, "sh",
                ]
            }
        }

        var canBe: Bool {
            switch self {
            case .asItIs: true
            case .ordinary:
                geteuid() == 0 && Tool.run("setpriv", Array(wrapper.dropFirst()) + [Programs.path("hub"), "--version"])
            case .bare: Tool.run("unshare", Array(wrapper.dropFirst()) + ["true"])
            }
        }
    }

    private struct Attempts: Decodable {
        var found: [String: String?]
        init(from decoder: any Decoder) throws {
            found = try decoder.singleValueContainer().decode([String: String?].self)
        }
    }

    @Test(arguments: Ground.allCases.filter(\.canBe))
    func `R13.11 R13.14 a hostile plugin opens nothing that is not its own, and what it has started ends with it`(
        _ ground: Ground
    ) async throws {
        let folder = try TemporaryFolder()
        let elsewhere = try TemporaryFolder()
        let secret = "s3cret-of-another-plugin-\(UInt32.random(in: 0 ... .max))"
        let sleep = "\(100_000 + UInt32.random(in: 0..<100_000))"
        let source = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "hostile.py").path
        // Beside hub.conf, where hub-confine can hide what it must not see of the folder.
        let place = ground == .bare ? try TemporaryFolder() : folder
        let program = try place.write(String(contentsOfFile: source, encoding: .utf8), to: "hostile.py")
        let report = "\(elsewhere.path)/report"
        let private_ = try elsewhere.write("a person's own\n", to: "private")
        try FileManager.default.copyItem(atPath: "/usr/bin/id", toPath: place.path + "/setuid-id")
        let listener = try Listener(path: "\(elsewhere.path)/socket")
        let port = try Listener()
        func targets(_ processes: [Int]) throws {
            let object: [String: Any] = [
                "run": folder.path + "/run", "data": folder.path + "/data", "conf": folder.configuration,
                "report": report, "secret": secret, "sleep": sleep, "private": private_,
                "outside": "\(elsewhere.path)/written", "socket": "\(elsewhere.path)/socket", "port": port.port,
                "processes": processes,
            ]
            try JSONSerialization.data(withJSONObject: object).write(to: URL(filePath: place.path + "/targets.json"))
        }
        try targets([])
        try folder.write(
            """
            [hub]
            data = "\(folder.path)/data"
            run = "\(folder.path)/run"
            [person.me]
            [plugin.other]
            executable = "\(program)"
            enabled = false
            report = "/nonexistent"
            [plugin.hostile]
            executable = "\(program)"
            enabled = false
            report = "\(report)"
            """)
        try mode(0o755, of: program)
        for path in [
            program, folder.configuration, folder.path, elsewhere.path, private_, place.path + "/targets.json",
        ] {
            if ground == .ordinary { try #require(chown(path, 65_534, 65_534) == 0) }
        }
        try mode(0o4755, of: place.path + "/setuid-id")

        let hub = try ChildProcess(
            "/usr/bin/env",
            ["OTHER_TOKEN=\(secret)"] + ground.wrapper + [
                Programs.path("hub"), "run", "--config", folder.configuration,
            ])
        try await hub.line { $0.contains("ready") }
        for (name, text) in [("keys/hub.json", "a key"), ("plugins/other/diary", "a state")] {
            let path = "\(folder.path)/data/\(name)"
            try FileManager.default.createDirectory(
                atPath: URL(filePath: path).deletingLastPathComponent().path, withIntermediateDirectories: true)
            try text.write(toFile: path, atomically: false, encoding: .utf8)
            if ground == .ordinary {
                chown(path, 65_534, 65_534)
                chown(URL(filePath: path).deletingLastPathComponent().path, 65_534, 65_534)
                chown("\(folder.path)/data/plugins", 65_534, 65_534)
            }
        }
        try targets([Int(hub.pid), Int(getpid())])
        let conf = try String(contentsOfFile: folder.configuration, encoding: .utf8)
        try conf.replacing("enabled = false\nreport = \"\(report)\"", with: "report = \"\(report)\"").write(
            toFile: folder.configuration, atomically: false, encoding: .utf8)
        let gaps = try await isolation(ground, folder)
        hub.signal(SIGHUP)

        var found: [String: String?] = [:]
        for _ in 0..<600 where found.isEmpty {
            try await Task.sleep(for: .milliseconds(100))
            if let bytes = FileManager.default.contents(atPath: report), bytes.last == UInt8(ascii: "\n") {
                found = try JSONDecoder().decode(Attempts.self, from: bytes).found
            }
        }
        #expect(found.count == 25, "\(found) \(hub.errorLines.suffix(5))")
        #expect(ground != .asItIs || geteuid() != 0 || gaps == [], "this machine gives all that is needed")
        var through = found.compactMapValues { $0 }
        // What the hub itself says is not confined here may be reached, and nothing else.
        if gaps.contains("sockets") { through["another program's socket"] = nil }
        if gaps.contains("processes") { through["signals"] = nil }
        #expect(through.isEmpty, "\(ground.rawValue): got through: \(through)")
        #expect(!FileManager.default.fileExists(atPath: "\(elsewhere.path)/written"))
        #expect(!FileManager.default.fileExists(atPath: "/var/tmp/written"))

        #expect(!processes(sleeping: sleep).isEmpty, "the child that shall outlive it runs")
        hub.signal(SIGTERM)
        #expect(await hub.waitForExit() == 0)
        #expect(processes(sleeping: sleep).isEmpty, "and ends with it")
        withExtendedLifetime((listener, port)) {}
    }

    @Test func `R13.12 without hub-confine no plugin starts, and check, status and doctor say what is missing`()
        async throws
    {
        let folder = try TemporaryFolder()
        let bin = try TemporaryFolder()
        // A hub without its programs beside it.
        try FileManager.default.copyItem(atPath: Programs.path("hub"), toPath: bin.path + "/hub")
        let program = try folder.write("#!/bin/sh\ntouch '\(folder.path)/ran'\n", to: "plugin")
        try mode(0o755, of: program)
        try configure("a", program, in: folder)
        func hub(_ words: String...) throws -> ChildProcess {
            try ChildProcess(
                "/usr/bin/env", ["PATH=/usr/bin:/bin", bin.path + "/hub"] + words + ["--config", folder.configuration])
        }
        func expectWord(of command: String) async throws {
            let result = try await hub(command).result()
            #expect(result.code != 0)
            #expect((result.output + result.errors).contains("hub-confine is not beside the hub"), "\(result)")
        }
        try await expectWord(of: "check")
        try await expectWord(of: "doctor")
        let running = try hub("run")
        try await running.line { $0.contains("ready") }
        try await expectWord(of: "status")
        running.signal(SIGTERM)
        #expect(await running.waitForExit() == 0)
        #expect(!FileManager.default.fileExists(atPath: folder.path + "/ran"))
    }

    @Test
    func `R13.13 confine = false is told by check, plugins and doctor, and its plugin still gets a clean environment`()
        async throws
    {
        let folder = try TemporaryFolder()
        let manifest = #"{"name":"open","summary":"S.","version":"1","writes":["weight"]}"#
        let program = try folder.write(
            """
            #!/bin/sh
            test "$1" = --describe && { echo '\(manifest)'; exit; }
            env > '\(folder.path)/environment.part' && mv '\(folder.path)/environment.part' '\(folder.path)/environment'
            cat > /dev/null
            """, to: "plugin")
        try mode(0o755, of: program)
        try configure("open", program, "confine = false", in: folder)
        func hub(_ words: String...) async throws -> ChildProcess.Result {
            try await ChildProcess("hub", words + ["--config", folder.configuration]).result()
        }
        let check = try await hub("check")
        #expect(
            check.code == 0 && (check.output + check.errors).contains("may do all that the hub's user may"), "\(check)")
        let process = try ChildProcess(
            "/usr/bin/env", ["OTHER_TOKEN=secret", Programs.path("hub"), "run", "--config", folder.configuration])
        try await process.line { $0.contains("ready") }
        for _ in 0..<300 where !FileManager.default.fileExists(atPath: folder.path + "/environment") {
            try await Task.sleep(for: .milliseconds(100))
        }
        let variables = try String(contentsOfFile: folder.path + "/environment", encoding: .utf8)
        #expect(!variables.contains("OTHER_TOKEN") && variables.contains("HUB_INSTANCE=open"))
        #expect(variables.contains("HOME=\(folder.path)/data/plugins/open"))
        #expect(try await hub("plugins").output.contains("confined no: it may do all that the hub's user may"))
        #expect(try await hub("doctor").output.contains("plugin open may do all that the hub's user may"))
        process.signal(SIGTERM)
        #expect(await process.waitForExit() == 0)
    }

    /// A hub with one plugin, in its folder.
    private func configure(_ plugin: String, _ program: String, _ more: String = "", in folder: TemporaryFolder) throws
    {
        try folder.write(
            """
            [hub]
            data = "\(folder.path)/data"
            run = "\(folder.path)/run"
            [person.me]
            [plugin.\(plugin)]
            executable = "\(program)"
            \(more)
            """)
    }

    private func mode(_ mode: Int, of path: String) throws {
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    }

    /// The subjects that `hub doctor` says are not confined, where the hub runs.
    private func isolation(_ ground: Ground, _ folder: TemporaryFolder) async throws -> [String] {
        let words = ground.wrapper + [Programs.path("hub-confine"), "--probe"]
        let said = try await ChildProcess("/usr/bin/env", words).result().errors
        guard let rest = said.firstRange(of: "; not: ") else { return [] }
        return said[rest.upperBound...].matches(of: /([a-z]+) \(/).map { String($0.1) }
    }

    private func processes(sleeping time: String) -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []).filter { name in
            guard Int(name) != nil, let words = FileManager.default.contents(atPath: "/proc/\(name)/cmdline") else {
                return false
            }
            return words.elementsEqual("sleep\0\(time)\0".utf8)
        }
    }
}

/// Something of another program that takes connections.
private final class Listener {
    private let descriptor: CInt
    private(set) var port = 0

    /// - Parameter path: of a Unix socket; TCP at a free port if not given.
    init(path: String? = nil) throws {
        descriptor = socket(path == nil ? AF_INET : AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
        if let path {
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
            try bind(&address)
            chmod(path, 0o666)
        } else {
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            try bind(&address)
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            withUnsafeMutablePointer(to: &address) {
                _ = $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
            }
            port = Int(UInt16(bigEndian: address.sin_port))
        }
        try #require(listen(descriptor, 16) == 0)
    }

    private func bind<Address>(_ address: inout Address) throws {
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.bind(descriptor, $0, socklen_t(MemoryLayout<Address>.size))
            }
        }
        try #require(result == 0)
    }

    deinit { close(descriptor) }
}
