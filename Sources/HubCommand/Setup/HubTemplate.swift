import CSampleConf
import HubSettings

/// The project's `hub.conf`, from which a new one begins and which says what people usually set.
enum HubTemplate {
    static let text = String(
        decoding: UnsafeBufferPointer(start: sample_conf_bytes(), count: sample_conf_size()), as: UTF8.self)

    /// The name of its one person.
    static let person = "me"

    /// A text made of it, with another name for the one person.
    static func text(_ text: String, for name: String) -> String {
        let header = SettingEditor.header(["person", name])
        return text.replacing("[person.\(person)]", with: header)
            .replacing("[\"\(person)\"]", with: "[\(SettingValue.string(name).toml)]")
    }

    /// The plugins that it shows, in its order.
    static let plugins: [String] = (try? SettingEditor(text, of: ["plugin"]))?.names ?? []

    /// The section of a plugin, with the comments above it.
    static func section(_ plugin: String) -> String? {
        guard var editor = try? SectionEditor(text, of: plugin), let lines = try? editor.remove() else { return nil }
        return String(lines.drop { $0 == "\n" })
    }

    /// The settings that the section of a plugin shows, in its order: those it writes, and those in its comments.
    static func shown(_ plugin: String) -> (written: [String], commented: [String]) {
        var shown: (written: [String], commented: [String]) = ([], [])
        for line in (section(plugin) ?? "").split(separator: "\n") {
            guard let match = line.firstMatch(of: #/^(# )?([a-z_]+) = /#) else { continue }
            if match.1 == nil { shown.written.append(String(match.2)) } else { shown.commented.append(String(match.2)) }
        }
        return shown
    }

    /// What of the owner's it suggests for a plugin.
    static func owner(_ plugin: String) -> [String] {
        guard let match = (section(plugin) ?? "").firstMatch(of: /grants = \{.*owner = \[([^\]]*)\]/) else { return [] }
        return match.1.split(separator: ",").map { $0.filter { $0 != " " && $0 != "\"" } }
    }

    /// Whether a value only shows how one is written, and is no scale of theirs.
    static func isExample(_ value: SettingValue) -> Bool { value.string == "rfcomm://00:4D:32:1A:2B:3C" }
}
