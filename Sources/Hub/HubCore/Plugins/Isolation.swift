import FoundationEssentials
import HubWire
import Subprocess
import SystemPackage

/// How plugins are confined on this machine: by the program `hub-confine`, as far as the kernel supports it.
public struct Isolation: Sendable, Hashable, Codable {
    /// A part that is not confined.
    public struct Gap: Sendable, Hashable, Codable {
        /// A word as in ``confined``.
        public let subject: String
        public let reason: String
    }

    /// `hub-confine`; `nil` if it cannot be used; then no plugin starts that must be confined.
    private(set) var launcher: String?
    /// The parts that are confined: `files`, `sockets`, `processes`, `network`, `calls`.
    public private(set) var confined: [String] = []
    public private(set) var gaps: [Gap] = []
    /// Why plugins cannot be confined at all, with the remedy.
    public private(set) var fault: String?

    private enum CodingKeys: String, CodingKey { case confined, gaps, fault }

    static let program = "hub-confine"

    /// - Parameter line: the first line that `hub-confine` prints: `hub-confine: process 7; confined: files, calls; not: sockets (why)`.
    init(launcher: String, line: String) {
        self.launcher = launcher
        for part in line.split(separator: ";").map({ $0.trimmingPrefix { $0 == " " } }) {
            if part.hasPrefix("confined: ") {
                confined = part.dropFirst("confined: ".count).split(separator: ", ").map(String.init)
            } else if part.hasPrefix("not: ") {
                gaps = part.dropFirst("not: ".count).split(separator: "), ").compactMap { gap in
                    guard let open = gap.firstIndex(of: "(") else { return nil }
                    let reason = gap[gap.index(after: open)...]
                    return Gap(
                        subject: String(gap[..<open].dropLast()),
                        reason: String(reason.last == ")" ? reason.dropLast() : reason))
                }
            }
        }
        confined.removeAll { $0 == "nothing" }
    }

    private init(fault: String) { (launcher, self.fault) = (nil, fault) }

    /// Whether the kernel supports user namespaces, in which a plugin has a separate root.
    public var hasNamespaces: Bool { confined.contains("sockets") }

    /// - Parameter programPath: the path of the hub.
    public static func look(programPath: String) async -> Isolation {
        await look(
            ExecutableFinder(
                programPath: programPath, searchPath: ProcessInfo.processInfo.environment["PATH"] ?? ""))
    }

    /// Finds `hub-confine` as plugins are found, and runs its probe.
    static func look(_ finder: ExecutableFinder) async -> Isolation {
        guard case .found(let path) = finder.find(program) else {
            return Isolation(
                fault:
                    "the hub's own program \(program) is not beside the hub or in PATH, without which no plugin starts: install it there (make build makes it)"
            )
        }
        do {
            let result = try await run(
                .path(FilePath(path)), arguments: ["--probe"], environment: .custom([:] as [Environment.Key: String]),
                output: .discarded, error: .string(limit: 4_096))
            let lines = result.standardError.split(separator: "\n").map(String.init)
            guard result.terminationStatus.isSuccess,
                let line = lines.first(where: { $0.hasPrefix("\(program): process ") })
            else {
                return Isolation(fault: "\(path) does not work here: \(lines.last ?? "\(result.terminationStatus)")")
            }
            return Isolation(launcher: path, line: line)
        } catch {
            return Isolation(fault: "\(path) cannot be run: \(error)")
        }
    }

    /// One line for people.
    public var text: String {
        if let fault { return "no: \(fault)" }
        let gaps = gaps.map { "\($0.subject) (\($0.reason))" }.joined(separator: ", ")
        return (confined.isEmpty ? "nothing" : confined.joined(separator: ", "))
            + (gaps.isEmpty ? "" : "; not: \(gaps)")
    }

    /// The effect of each gap: the things that a plugin can do.
    public static func consequence(of subject: String) -> String {
        switch subject {
        case "files":
            "plugins can read and write every file that the hub's user can, the store and the tokens among them"
        case "sockets": "plugins can connect to sockets of other programs of this user, such as the session bus"
        case "processes": "plugins can send signals to other programs of this user"
        case "network": "plugins whose manifest asks for no network reach it, or can wait for connections"
        default: "plugins can make every system call"
        }
    }
}
