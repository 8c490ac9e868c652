import HubCore
import HubWire

/// A description of the permissions that a pack asks for, shown to people before anything of it runs.
package struct PackText: Sendable {
    private let index: PackIndex
    private let sha256: String
    private let packedBytes: Int
    private let origin: PackOrigin

    package init(_ pack: PackReader, _ origin: PackOrigin) {
        (index, sha256, self.origin) = (pack.index, pack.sha256, origin)
        packedBytes = pack.bytes.count
    }

    package var lines: [String] {
        let manifest = index.manifest
        let facts: [(String, String?)] = [
            ("what", manifest.summary), ("pack", size), ("sha256", sha256), ("signed", signed), ("tier", tier),
            ("reads", Self.types(manifest.reads)), ("writes", Self.types(manifest.writes)),
            ("reaches", Self.reaches(manifest)), ("owner's", Self.owner(manifest)),
            ("gets", manifest.profiles ? "the facts about persons' bodies in hub.conf" : nil),
        ]
        let head = ["\(index.name) \(index.version)"]
        return head + facts.compactMap { name, text in text.map { Self.line(name, $0) } }
            + manifest.settings.enumerated().map { place, setting in
                let state = setting.isRequired ? ", needed" : ""
                let kind = setting.isSecret ? " (secret\(state))" : state.isEmpty ? "" : " (needed)"
                return Self.line(place == 0 ? "settings" : "", "\(setting.name)\(kind): \(setting.help)")
            }
            + manifest.commands.enumerated().map { place, command in
                Self.line(place == 0 ? "commands" : "", "\(command.name): \(command.help)")
            }
    }

    private static func line(_ name: String, _ text: String) -> String {
        "  \(name)\(String(repeating: " ", count: 9 - name.count))\(text)"
    }

    private var size: String {
        let count = index.files.count == 1 ? "1 file" : "\(index.files.count) files"
        return "\(count), \(Self.size(index.bytes)) unpacked, \(Self.size(packedBytes)) as it is"
    }

    package static func size(_ bytes: Int) -> String {
        bytes < 10_000 ? "\(bytes) bytes" : bytes < 10_000_000 ? "\(bytes / 1_000) kB" : "\(bytes / 1_000_000) MB"
    }

    private var signed: String {
        switch origin {
        case .signed(let key, let comment): "by the key \(key), which is trusted here; \(comment.prefix(200))"
        case .unknown(let key): "by the key \(key), which is not trusted here: worth as much as no signature"
        case .unsigned: "no: nothing says who made it"
        }
    }

    private var tier: String? {
        index.tier.map { "\($0.tier), say those who made it (\($0.examined)); hub plugin test finds out" }
    }

    package static func types(_ types: [String]) -> String? {
        types.isEmpty ? nil : types.contains("*") ? "all types" : types.joined(separator: ", ")
    }

    /// The owner's rights that it asks for, which only a person can grant.
    private static func owner(_ manifest: Manifest) -> String? {
        manifest.owner.isEmpty
            ? nil
            : "asks for \(manifest.owner.joined(separator: ", ")); it gets what \(OwnerRight.line(manifest.owner, of: manifest.name)) says"
    }

    private static func reaches(_ manifest: Manifest) -> String {
        var places = manifest.reaches
        for setting in manifest.settings {
            switch (setting.access, setting.type) {
            case (.write?, _): places.append("writes to the path that the setting \(setting.name) names")
            case (.folder?, _): places.append("writes into the folder that the setting \(setting.name) names")
            case (.read?, _), (nil, .path), (nil, .list(of: .path)):
                places.append("reads the path that the setting \(setting.name) names")
            default: break
            }
        }
        return places.isEmpty ? "its own files alone" : places.joined(separator: ", ")
    }

    /// The permissions that it asks for and the installed pack does not.
    ///
    /// - Parameter before: the index of the installed pack.
    package func news(since before: PackIndex) -> [String] {
        let (old, new) = (before.manifest, index.manifest)
        func added(_ what: String, _ names: [String], _ former: [String]) -> String? {
            let more = names.filter { !former.contains($0) && !former.contains("*") }
            return more.isEmpty ? nil : "\(what) \(Self.types(more) ?? "")"
        }
        let needed = new.settings.filter { setting in
            setting.isRequired && !old.settings.contains { $0.name == setting.name && $0.isRequired }
        }.map(\.name)
        let written = new.settings.filter { setting in
            [.write, .folder].contains(setting.access)
                && !old.settings.contains { $0.name == setting.name && $0.access == setting.access }
        }.map(\.name)
        return [
            added("reads", new.reads, old.reads), added("writes", new.writes, old.writes),
            added("reaches", new.reaches, old.reaches), added("asks for the owner's rights", new.owner, old.owner),
            added("writes to the path in the setting", written, []),
            new.profiles && !old.profiles ? "gets the facts about persons' bodies in hub.conf" : nil,
            added("needs the setting", needed, []),
            added("has the command", new.commands.map(\.name), old.commands.map(\.name)),
        ].compactMap { $0 }
    }
}
