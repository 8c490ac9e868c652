public import HubWire

/// Renders a plugin's declarations as a commented block of `hub.conf`, so that no documentation can differ from them.
public enum SampleConfiguration {
    /// A block `[plugin.<instance>]`: `##` lines explain; a `#` line is a default or an example that takes effect without its `#`.
    public static func render(instance: String, declarations: [SettingDeclaration]) -> String {
        (["[plugin.\(tomlKey(instance))]"] + lines(instance, declarations)).joined(separator: "\n") + "\n"
    }

    /// The section of a plugin that is about to run: its given settings, its grants, and explanations of all other settings.
    ///
    /// - Parameters:
    ///   - title: one line for people.
    ///   - kind: the kind, if it differs from the name of the section.
    ///   - settings: lines that take effect.
    ///   - grants: the lists to write, including empty ones; without the owner's rights, which a person must write.
    ///   - owner: the owner's rights that the plugin asks for.
    public static func section(
        instance: String, title: String, kind: String?, settings: [String], grants: PluginInstance.Grants,
        owner: [String] = [], declarations: [SettingDeclaration]
    ) -> String {
        let given = Set(settings.map { $0.prefix { $0 != "=" && $0 != " " } }.map(String.init))
        let lists = [("read", grants.read), ("write", grants.write), ("reach", grants.reach)].compactMap { key, list in
            list.map { "\(key) = [\($0.map(tomlQuoted).joined(separator: ", "))]" }
        }
        let title = String(title.map { $0.isNewline ? " " : $0 })
        let head = ["# \(title)", "[plugin.\(tomlKey(instance))]"] + (kind.map { ["kind = \(tomlQuoted($0))"] } ?? [])
        let grants =
            [
                "## Its rights to read, write and reach: all that it asks for.",
                "grants = { \(lists.joined(separator: ", ")) }",
            ] + ownerLines(owner)
        let others = lines(instance, declarations.filter { !given.contains($0.name) })
        let own = settings.flatMap { line -> [String] in
            let name = line.prefix { $0 != "=" && $0 != " " }
            return declarations.filter { $0.name == name }.map { "## \($0.help)" } + [line]
        }
        return (head + own + grants + others).joined(separator: "\n") + "\n"
    }

    /// Comment lines that show how a person grants the owner's rights.
    private static func ownerLines(_ words: [String]) -> [String] {
        guard !words.isEmpty else { return [] }
        return [
            "## It asks for rights that only you have, and they are not granted. To grant them, add to grants:",
            "## owner = [\(words.map(tomlQuoted).joined(separator: ", "))]",
        ]
    }

    private static func lines(_ instance: String, _ declarations: [SettingDeclaration]) -> [String] {
        var lines: [String] = []
        for declaration in declarations {
            let state =
                declaration.isRequired ? " Needed." : declaration.defaultValue == nil ? " Not set by default." : ""
            lines.append("## \(declaration.help)")
            lines.append("## Takes \(declaration.type.expected).\(state)")
            let value: String
            if declaration.isSecret {
                value = tomlQuoted("${\(variable(instance, declaration.name))}")
            } else if let defaultValue = declaration.defaultValue {
                value = defaultValue.toml
            } else {
                value = declaration.type.example
            }
            lines.append("# \(declaration.name) = \(value)")
        }
        return lines
    }

    /// The environment variable that a rendered block names for a secret: `EXIST_CLIENT_SECRET`.
    public static func variable(_ instance: String, _ setting: String) -> String {
        let name = "\(instance)_\(setting)".uppercased().map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" }
        return (name.first?.isNumber == true ? "_" : "") + String(name)
    }
}

extension SettingType {
    /// A TOML value that obeys the type.
    fileprivate var example: String {
        func within<Value>(_ bounds: Bounds<Value>, _ usual: Value) -> Value {
            bounds.contains(usual) ? usual : bounds.minimum ?? bounds.maximum ?? usual
        }
        return switch self {
        case .string(let rule): tomlQuoted(rule.example ?? "text")
        case .integer(let bounds): String(within(bounds, 1))
        case .number(let bounds): String(within(bounds, 1))
        case .boolean: "true"
        case .duration(let bounds):
            tomlQuoted(SettingDuration("30s").map { within(bounds, $0).description } ?? "")
        case .size(let bounds): tomlQuoted(ByteSize("1MiB").map { within(bounds, $0).description } ?? "")
        case .choice(let choices): tomlQuoted(choices.first ?? "")
        case .path: tomlQuoted("/path/to/it")
        case .url(let schemes): tomlQuoted("\(schemes.first ?? "https")://example.org")
        case .timeZone: tomlQuoted("Europe/Berlin")
        case .date: "1980-04-12"
        case .timeOfDay: tomlQuoted("04:00")
        case .list(let element): "[\(element.example)]"
        }
    }
}
