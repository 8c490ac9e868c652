/// One setting of a plugin or of a table of `hub.conf`, as its manifest declares it.
///
/// The JSON form is part of the output of `--describe` and does not change within a major version of the protocol. Members:
/// `name`, `help`, `default` (absent: none), `required` and `secret` (absent: false), `type`, and depending on the type:
///
/// | `type` | further members (all optional except those marked) |
/// |---|---|
/// | `string` | `pattern` (matches the whole text), `expected` (the rule in words), `example` |
/// | `integer`, `number` | `minimum`, `maximum` |
/// | `duration`, `size` | `minimum`, `maximum`, as texts: `"30s"`, `"256MiB"` |
/// | `choice` | `choices` (required) |
/// | `url` | `schemes` |
/// | `list` | `items` (required): an object with `type` and its members |
/// | `boolean`, `path`, `timeZone`, `date`, `timeOfDay` | none |
///
/// `access` (``SettingAccess``) is the program's access to the place that a `path` or a text names.
public struct SettingDeclaration: Sendable, Hashable {
    /// Lowercase letters, digits and `_`, beginning with a letter: `poll_every`.
    public var name: String
    /// The type of its values.
    public var type: SettingType
    /// One sentence that explains the setting.
    public var help: String
    /// The value if the setting is not written; nil: no value then.
    public var defaultValue: SettingValue?
    /// Whether the instance cannot start without it.
    public var isRequired: Bool
    /// Whether its value must stay hidden; only for `string`, `url` and `path`.
    public var isSecret: Bool
    /// The access of the program to the place it names; nil: a `path` is read, and other values name no place.
    public var access: SettingAccess?

    /// A declaration; ``faults(in:)`` checks whether it is valid.
    public init(
        _ name: String, _ type: SettingType, help: String, default defaultValue: SettingValue? = nil,
        required isRequired: Bool = false, secret isSecret: Bool = false, access: SettingAccess? = nil
    ) {
        (self.name, self.type, self.help, self.defaultValue) = (name, type, help, defaultValue)
        (self.isRequired, self.isSecret, self.access) = (isRequired, isSecret, access)
    }
}

extension SettingDeclaration: Codable {
    private enum Key: String, CodingKey {
        case name, help, `default`, required, secret, access
    }

    /// Reads the object form.
    public init(from decoder: any Decoder) throws {
        let object = try decoder.container(keyedBy: Key.self)
        self.init(
            try object.decode(String.self, forKey: .name), try SettingType(from: decoder),
            help: try object.decode(String.self, forKey: .help),
            default: try object.decodeIfPresent(SettingValue.self, forKey: .default),
            required: try object.decodeIfPresent(Bool.self, forKey: .required) ?? false,
            secret: try object.decodeIfPresent(Bool.self, forKey: .secret) ?? false,
            access: try object.decodeIfPresent(SettingAccess.self, forKey: .access))
    }

    /// Writes the object form without members that have their default value.
    public func encode(to encoder: any Encoder) throws {
        var object = encoder.container(keyedBy: Key.self)
        try object.encode(name, forKey: .name)
        try object.encode(help, forKey: .help)
        try object.encodeIfPresent(defaultValue, forKey: .default)
        if isRequired { try object.encode(true, forKey: .required) }
        if isSecret { try object.encode(true, forKey: .secret) }
        try object.encodeIfPresent(access, forKey: .access)
        try type.encode(to: encoder)
    }
}

extension SettingDeclaration {
    /// Keys of `[plugin.<instance>]` that the hub reads itself and that no plugin may declare.
    public static let reservedNames = [
        "enabled", "executable", "kind", "persons", "grants", "keep_raw", "memory_limit", "remote", "feed_port",
        "limit_factor", "confine", "readable", "run",
    ]

    /// The faults of the declarations themselves, in sentences for the plugin's author; empty if there are none.
    public static func faults(in declarations: [SettingDeclaration]) -> [String] {
        faults(in: declarations, of: "setting", reserved: reservedNames)
    }

    /// The faults of the declarations of a command's arguments, which may have any names.
    public static func faults(inArguments declarations: [SettingDeclaration]) -> [String] {
        faults(in: declarations, of: "argument", reserved: [])
    }

    private static func faults(
        in declarations: [SettingDeclaration], of what: String, reserved: [String]
    ) -> [String] {
        var seen: Set<String> = []
        return declarations.flatMap { declaration in
            let repeated = seen.insert(declaration.name).inserted ? [] : ["it is declared twice"]
            return (repeated + declaration.faults(reserved)).map { "\(what) \"\(declaration.name)\": \($0)" }
        }
    }

    private func faults(_ reserved: [String]) -> [String] {
        var faults: [String] = []
        if name.wholeMatch(of: /[a-z][a-z0-9_]{0,63}/) == nil {
            faults.append("a name is at most 64 small letters, digits and _, beginning with a letter")
        }
        if reserved.contains(name) { faults.append("the hub reads this key itself") }
        if help.isEmpty || help.contains(where: \.isNewline) { faults.append("help is one line of text") }
        if isSecret {
            if defaultValue != nil { faults.append("a secret has no default") }
            switch type {
            case .string, .url, .path: break
            default: faults.append("only a string, a url or a path can be secret")
            }
        }
        if let access, !access.suits(type) {
            faults.append(
                access == .link
                    ? "access \"link\" is for a string or a url" : "access \"\(access.rawValue)\" is for a path")
        }
        if isRequired, defaultValue != nil { faults.append("a setting with a default cannot be required") }
        faults += type.faults()
        if let defaultValue, faults.isEmpty {
            let judge = ValueJudge(environment: .empty, directory: "/")
            if case .bad(let complaint) = judge.judge(Node(defaultValue), as: type) {
                faults.append("the default does not obey its own rule: \(complaint.message)")
            }
        }
        return faults
    }
}

extension SettingType {
    fileprivate func faults() -> [String] {
        func order<Value>(_ bounds: Bounds<Value>) -> [String] {
            guard let low = bounds.minimum, let high = bounds.maximum, !(low <= high) else { return [] }
            return ["minimum \(low) is above maximum \(high)"]
        }
        switch self {
        case .string(let rule):
            guard let pattern = rule.pattern else { return [] }
            guard let regex = try? Regex(pattern) else { return ["\(tomlQuoted(pattern)) is not a regular expression"] }
            guard let example = rule.example else { return ["a pattern needs an example"] }
            return (try? regex.wholeMatch(in: example)) == nil ? ["the example does not match the pattern"] : []
        case .integer(let bounds): return order(bounds)
        case .number(let bounds): return order(bounds)
        case .duration(let bounds): return order(bounds)
        case .size(let bounds): return order(bounds)
        case .choice(let choices):
            return choices.isEmpty || Set(choices).count != choices.count
                ? ["choices must be at least one text, all different"] : []
        case .url(let schemes): return schemes.isEmpty ? ["a url needs a scheme"] : []
        case .list(of: .list): return ["a list cannot hold lists"]
        case .list(let element): return element.faults()
        case .boolean, .path, .timeZone, .date, .timeOfDay: return []
        }
    }
}
