import HubSettings
import HubWire

/// One entry of the hub's answer about its plugins, and how it prints.
struct PluginText: Codable {
    var name: String
    var kind: String
    var enabled: Bool
    var executable: String?
    var summary: String?
    var version: String?
    var reads: [String]?
    var writes: [String]?
    var persons: [String]?
    /// Values as `hub.conf` and the defaults make them; secrets as `<secret>`.
    var settings: [String: SettingValue]
    var declarations: [SettingDeclaration]?
    /// What it can be asked to do.
    var commands: [CommandDeclaration]?
    /// Why its program cannot be asked or started.
    var fault: String?

    var lines: [String] {
        var facts: [(String, String?)] = [
            ("what", summary), ("program", executable.map { version == nil ? $0 : "\($0), version \(version ?? "")" }),
            ("reads", PluginText.types(reads)), ("writes", PluginText.types(writes)),
            ("persons", persons.map { $0.joined(separator: ", ") } ?? "all"), ("fault", fault),
        ]
        facts.removeAll { $0.1 == nil }
        var lines = [name + (kind == name ? "" : " (\(kind))") + (enabled ? "" : ", not enabled")]
        lines += facts.map { "  \($0.0)\(String(repeating: " ", count: 9 - $0.0.count))\($0.1 ?? "")" }
        var table = Table([("  SETTING", .left), ("VALUE", .left), ("FROM", .left), ("MEANING", .left)])
        for declaration in declarations ?? [] {
            let value = settings[declaration.name]
            let from = value == nil ? "" : value == declaration.defaultValue ? "default" : "hub.conf"
            table.add(["  " + declaration.name, value.map(PluginText.text) ?? "-", from, declaration.help])
        }
        return lines + (declarations?.isEmpty ?? true ? [] : table.takeLines()) + commandLines
    }

    /// A line for each command, and one for each of its arguments.
    var commandLines: [String] {
        var table = Table([("  COMMAND", .left), ("ARGUMENT", .left), ("DEFAULT", .left), ("MEANING", .left)])
        for command in commands ?? [] {
            table.add(["  " + command.name, "", "", command.help + (command.canDryRun ? " (--dry-run)" : "")])
            for argument in command.arguments {
                let value = argument.defaultValue.map(PluginText.text) ?? (argument.isRequired ? "needed" : "-")
                table.add(["", argument.name, value, argument.help])
            }
        }
        return commands?.isEmpty ?? true ? [] : table.takeLines()
    }

    private static func types(_ types: [String]?) -> String? {
        types.flatMap { $0.isEmpty ? nil : $0 == ["*"] ? "all types" : $0.joined(separator: ", ") }
    }

    static func text(_ value: SettingValue) -> String {
        switch value {
        case .string(let text): text
        case .integer(let number): String(number)
        case .number(let number): NumberText.shortest(number)
        case .boolean(let truth): String(truth)
        case .list(let values): values.map(text).joined(separator: ", ")
        case .secret: Secret.placeholder
        }
    }
}
