/// One `[plugin.…]` of `hub.conf` with the manifest of its program, as `hub plugins --json` prints it and the door returns it to the owner.
package struct PluginEntry: Codable, Sendable {
    package var name, kind: String
    package var enabled: Bool
    package var executable: String?
    package var summary, version: String?
    package var remote: Bool?
    /// The types that its manifest asks for.
    package var reads, writes: [String]?
    /// The restrictions in `hub.conf`; absent if there are none.
    package var granted: Granted?
    /// The types and persons that it may read and write.
    package var grants: Grants?
    /// The decision about each type that it asks for.
    package var permissions: [Permission]?
    /// How far back it may read; absent if that is not limited.
    package var history: String?
    package var persons: [String]?
    /// Whether it gets the descriptions of its persons' bodies in `hub.conf`.
    package var profiles: Bool?
    /// Values from `hub.conf` and the defaults; secrets print as `<secret>`.
    package var settings: [String: SettingValue]
    package var declarations: [SettingDeclaration]?
    package var commands: [CommandDeclaration]?
    /// The places that its program reaches beyond its own files.
    package var reaches: [String]?
    /// The owner's rights that its manifest asks for; absent if there are none.
    package var owner: [String]?
    /// How its program is confined; absent if the hub does not start it, or `hub.conf` turns confinement off.
    package var isolation: Isolation?
    /// The tested reliability of its program.
    package var tier: PluginTier?
    /// Why its program cannot be asked or started.
    package var fault: String?

    package init(
        name: String, kind: String, enabled: Bool, settings: [String: SettingValue] = [:],
        commands: [CommandDeclaration]? = nil
    ) {
        (self.name, self.kind, self.enabled) = (name, kind, enabled)
        (self.settings, self.commands) = (settings, commands)
    }

    package struct Granted: Codable, Sendable {
        package var read, write, reach, owner: [String]?

        package init(read: [String]?, write: [String]?, reach: [String]?, owner: [String]?) {
            (self.read, self.write, self.reach, self.owner) = (read, write, reach, owner)
        }
    }

    package struct Grants: Codable, Sendable {
        package var read, write: Scope
        /// The owner's rights that it is granted; absent if there are none.
        package var owner: [String]?

        package init(read: Scope, write: Scope, owner: [String]?) {
            (self.read, self.write, self.owner) = (read, write, owner)
        }
    }

    package struct Scope: Codable, Sendable {
        package var types: [String]
        /// Excluded from `types`; absent if nothing is.
        package var denied: [String]?
        package var persons: [String]

        package init(_ permissions: TypePermissions, of asked: [String], _ persons: [String]?) {
            let denied = permissions.denied(of: asked)
            (types, self.denied) = (permissions.granted(of: asked), denied.isEmpty ? nil : denied)
            self.persons = persons ?? ["*"]
        }
    }

    package func has(_ command: String) -> Bool { commands?.contains { $0.name == command } ?? false }
}

/// How plugins are confined on this machine: by the program `hub-confine`, as far as the kernel supports it.
public struct Isolation: Sendable, Hashable, Codable {
    /// A part that is not confined.
    public struct Gap: Sendable, Hashable, Codable {
        /// A word as in ``confined``.
        public let subject: String
        public let reason: String
    }

    /// `hub-confine`; `nil` if it cannot be used; then no plugin starts that must be confined.
    package private(set) var launcher: String?
    /// The parts that are confined: `files`, `sockets`, `processes`, `network`, `calls`.
    public private(set) var confined: [String] = []
    public private(set) var gaps: [Gap] = []
    /// Why plugins cannot be confined at all, with the remedy.
    public private(set) var fault: String?

    private enum CodingKeys: String, CodingKey { case confined, gaps, fault }

    package static let program = "hub-confine"

    /// - Parameter line: the first line that `hub-confine` prints: `hub-confine: process 7; confined: files, calls; not: sockets (why)`.
    package init(launcher: String, line: String) {
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

    package init(fault: String) { (launcher, self.fault) = (nil, fault) }

    /// Whether the kernel supports user namespaces, in which a plugin has a separate root.
    public var hasNamespaces: Bool { confined.contains("sockets") }

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

/// The tested reliability of a plugin's program and its origin, as `hub plugins` shows it.
package struct PluginTier: Codable, Hashable, Sendable {
    package var tier: String
    /// `examined` by `hub plugin test` on this machine, or `declared` by the maker of its pack.
    package var origin: String
    package var examined: String

    package init(tier: String, origin: String, examined: String) {
        (self.tier, self.origin, self.examined) = (tier, origin, examined)
    }

    /// The tier as a text for people.
    package var text: String {
        origin == "examined"
            ? "\(tier), as hub plugin test found here on \(examined)"
            : "\(tier), say those who made it (\(examined)); not examined here"
    }
}
