import Foundation
import Glibc

/// A run of a plugin that wants more than it was granted (`Tests/Support/HostilePlugin/hostile.py`); it needs ``Need/python``.
public struct HostilePlugin: Sendable {
    /// The user of the hub, and the parts of the kernel that it may use.
    public enum Ground: String, CaseIterable, Sendable {
        case asItIs = "as the user of the tests"
        case ordinary = "as an ordinary user"
        case bare = "without user namespaces"
        case covered = "with parts of /proc covered, as in a systemd unit or a container"

        /// The command in front of the hub's own.
        public var wrapper: [String] {
            switch self {
            case .asItIs: []
            case .ordinary: ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
            case .bare:
                [
                    "unshare", "--user", "--map-root-user", "sh", "-c",
                    #"echo 0 > /proc/sys/user/max_user_namespaces && exec "$@""#, "sh",
                ]
            case .covered: ["unshare", "--mount", "sh", "-c", #"mount --bind /proc/sys /proc/sys && exec "$@""#, "sh"]
            }
        }

        public var canBe: Bool {
            switch self {
            case .asItIs: true
            case .ordinary:
                geteuid() == 0 && Tool.run("setpriv", Array(wrapper.dropFirst()) + [Programs.path("hub"), "--version"])
            case .bare, .covered: Tool.run("unshare", Array(wrapper.dropFirst()) + ["true"])
            }
        }
    }

    /// The number of attempts that `hostile.py` makes, including checks that allowed actions succeed.
    public static let attempts = 25

    /// The number of attempts that it made: fewer if it was not started, or ended early.
    public private(set) var made = 0
    /// The attempts that succeeded, except those that the hub reports as not confined on this machine.
    public private(set) var through: [String: String] = [:]
    /// The subjects that the hub reports as not confined here.
    public private(set) var gaps: [String] = []
    /// Whether the process that tries to outlive the plugin ran before the hub ended, and whether it still ran after that.
    public private(set) var isLeftBehind = (before: false, after: false)
    /// The exit code of the hub.
    public private(set) var code = 0
    /// The last lines of the hub's log.
    public private(set) var log: [String] = []

    /// Runs a hub with this plugin until all attempts are made and the hub has ended.
    public init(on ground: Ground) async throws {
        let (folder, elsewhere) = (try TemporaryFolder(), try TemporaryFolder())
        let secret = "s3cret-of-another-plugin-\(UInt32.random(in: 0 ... .max))"
        let sleep = "\(100_000 + UInt32.random(in: 0..<100_000))"
        let source = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../HostilePlugin/hostile.py").standardizedFileURL.path
        // Beside hub.conf, because hub-confine can then hide the rest of that folder.
        let place = ground == .bare ? try TemporaryFolder() : folder
        let program = try place.write(String(contentsOfFile: source, encoding: .utf8), to: "hostile.py")
        let report = "\(elsewhere.path)/report"
        let private_ = try elsewhere.write("a person's own\n", to: "private")
        try FileManager.default.copyItem(atPath: "/usr/bin/id", toPath: place.path + "/setuid-id")
        let (listener, port) = (try Listener(path: "\(elsewhere.path)/socket"), try Listener())
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
        let section = "[plugin.hostile]\nexecutable = \"\(program)\"\n"
        let conf = """
            [hub]
            data = "\(folder.path)/data"
            run = "\(folder.path)/run"
            [person.me]
            [plugin.other]
            executable = "\(program)"
            enabled = false
            report = "/nonexistent"
            \(section)report = "\(report)"

            """
        try folder.write(conf.replacing(section, with: section + "enabled = false\n"))
        chmod(program, 0o755)
        let owned = [
            program, folder.configuration, folder.path, elsewhere.path, private_, place.path + "/targets.json",
        ]
        if ground == .ordinary { for path in owned { chown(path, 65_534, 65_534) } }
        chmod(place.path + "/setuid-id", 0o4755)

        let hub = try ChildProcess(
            "/usr/bin/env",
            ["OTHER_TOKEN=\(secret)"] + ground.wrapper + [
                Programs.path("hub"), "run", "--config", folder.configuration,
            ])
        try await hub.line { $0.contains("ready") }
        for (name, text) in [("keys/hub.json", "a key"), ("plugins/other/diary", "a state")] {
            let path = "\(folder.path)/data/\(name)"
            let above = URL(filePath: path).deletingLastPathComponent().path
            try FileManager.default.createDirectory(atPath: above, withIntermediateDirectories: true)
            try text.write(toFile: path, atomically: false, encoding: .utf8)
            guard ground == .ordinary else { continue }
            for path in [path, above, "\(folder.path)/data/plugins"] { chown(path, 65_534, 65_534) }
        }
        try targets([Int(hub.pid), Int(getpid())])
        try conf.write(toFile: folder.configuration, atomically: false, encoding: .utf8)
        gaps = try await Self.gaps(on: ground)
        hub.signal(SIGHUP)

        var found: [String: String?] = [:]
        for _ in 0..<600 where found.isEmpty {
            try await Task.sleep(for: .milliseconds(100))
            if let bytes = FileManager.default.contents(atPath: report), bytes.last == UInt8(ascii: "\n") {
                found = try JSONDecoder().decode([String: String?].self, from: bytes)
            }
        }
        made = found.count
        through = found.compactMapValues { $0 }
        if gaps.contains("sockets") { through["another program's socket"] = nil }
        if gaps.contains("processes") { through["signals"] = nil }
        for path in ["\(elsewhere.path)/written", "/var/tmp/written"]
        where FileManager.default.fileExists(atPath: path) {
            through["a file outside"] = path
        }
        // The child process has its name only after its exec.
        try await eventually { Self.isRunning(sleep) }
        isLeftBehind.before = true
        hub.signal(SIGTERM)
        code = await hub.waitForExit()
        isLeftBehind.after = Self.isRunning(sleep)
        log = hub.errorLines.suffix(5)
        withExtendedLifetime((listener, port)) {}
    }

    /// The subjects that the hub reports as not confined in this environment.
    private static func gaps(on ground: Ground) async throws -> [String] {
        let words = ground.wrapper + [Programs.path("hub-confine"), "--probe"]
        let said = try await ChildProcess("/usr/bin/env", words).result().errors
        guard let rest = said.firstRange(of: "; not: ") else { return [] }
        return said[rest.upperBound...].matches(of: /([a-z]+) \(/).map { String($0.1) }
    }

    private static func isRunning(_ sleep: String) -> Bool {
        ((try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []).contains { name in
            guard Int(name) != nil, let words = FileManager.default.contents(atPath: "/proc/\(name)/cmdline") else {
                return false
            }
            return words.elementsEqual("sleep\0\(sleep)\0".utf8)
        }
    }
}

/// A socket of another program that accepts connections.
private final class Listener {
    private let descriptor: CInt
    private(set) var port = 0

    struct CannotListen: Error {}

    /// - Parameter path: the path of a Unix socket; `nil`: TCP at a free port.
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
        guard listen(descriptor, 16) == 0 else { throw CannotListen() }
    }

    private func bind<Address>(_ address: inout Address) throws {
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.bind(descriptor, $0, socklen_t(MemoryLayout<Address>.size))
            }
        }
        guard result == 0 else { throw CannotListen() }
    }

    deinit { close(descriptor) }
}
