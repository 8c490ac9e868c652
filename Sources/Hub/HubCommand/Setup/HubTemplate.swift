import CSampleConf
import HubSettings
import HubWire

/// The project's `hub.conf`: the start of every new file, and the source of the usual settings.
enum HubTemplate {
    static let text = String(
        decoding: UnsafeBufferPointer(start: sample_conf_bytes(), count: sample_conf_size()), as: UTF8.self)

    /// The name of its one person.
    static let person = "me"

    /// A text made from it, with another name for the one person.
    static func text(_ text: String, for name: String) -> String {
        let header = ConfigurationEditor.header(["person", name])
        return text.replacing("[person.\(person)]", with: header)
            .replacing("[\"\(person)\"]", with: "[\(SettingValue.string(name).toml)]")
    }

    /// The plugins that it shows, in its order.
    static let plugins: [String] = (try? ConfigurationEditor(text))?.names(in: ["plugin"]) ?? []

    /// The section of a plugin, with the comments above it.
    static func section(_ plugin: String) -> String? {
        guard var editor = try? ConfigurationEditor(text), let lines = try? editor.remove(["plugin", plugin]) else {
            return nil
        }
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

    /// The owner's rights that it suggests for a plugin.
    static func owner(_ plugin: String) -> [String] {
        guard let match = (section(plugin) ?? "").firstMatch(of: /grants = \{.*owner = \[([^\]]*)\]/) else { return [] }
        return match.1.split(separator: ",").map { $0.filter { $0 != " " && $0 != "\"" } }
    }

    /// Whether a value is only an example of the format and not a real device.
    static func isExample(_ value: SettingValue) -> Bool { value.string == "rfcomm://00:4D:32:1A:2B:3C" }
}
