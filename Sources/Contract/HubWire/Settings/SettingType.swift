/// Limits of a setting, both inclusive and optional.
public struct Bounds<Value: Comparable & Hashable & Sendable>: Sendable, Hashable {
    /// The least allowed value.
    public var minimum: Value?
    /// The greatest allowed value.
    public var maximum: Value?

    /// Limits; none without arguments.
    public init(_ minimum: Value? = nil, _ maximum: Value? = nil) {
        (self.minimum, self.maximum) = (minimum, maximum)
    }

    /// Whether `value` lies within both limits.
    public func contains(_ value: Value) -> Bool {
        minimum.map { $0 <= value } ?? true && maximum.map { value <= $0 } ?? true
    }
}

/// The rule for the texts of a `string` setting.
public struct TextRule: Sendable, Hashable {
    /// A regular expression that must match the whole text.
    public var pattern: String?
    /// The rule in words that follow "expected": `six pairs of hex digits`.
    public var expected: String?
    /// A text that obeys the rule.
    public var example: String?

    /// A rule; without arguments it allows any text.
    public init(pattern: String? = nil, expected: String? = nil, example: String? = nil) {
        (self.pattern, self.expected, self.example) = (pattern, expected, example)
    }
}

/// The type of a setting's values.
///
/// The set is closed: `hub.conf`, `--describe` and the page all know every case.
public indirect enum SettingType: Sendable, Hashable {
    /// Text of at most 4,096 bytes, not empty.
    case string(TextRule = TextRule())
    case integer(Bounds<Int64> = Bounds())
    /// A finite number.
    case number(Bounds<Double> = Bounds())
    case boolean
    /// `30s`, `5min`, `1h30min` (``SettingDuration``).
    case duration(Bounds<SettingDuration> = Bounds())
    /// `256MiB` (``ByteSize``).
    case size(Bounds<ByteSize> = Bounds())
    /// One of the texts.
    case choice([String])
    /// A path; `~/` is the home directory, and a relative path starts at the settings file's directory. The value is absolute.
    case path
    /// An absolute URL with one of the schemes.
    case url(schemes: [String] = ["https", "http"])
    /// An IANA zone that the machine knows.
    case timeZone
    /// A calendar day, a TOML date or `"YYYY-MM-DD"`. The value is the text.
    case date
    /// A local time in whole minutes, a TOML time or `"HH:MM"`. The value is the text `HH:MM`.
    case timeOfDay
    /// Any number of values of one type, which cannot be a list itself.
    case list(of: SettingType)
}

extension SettingType {
    /// The allowed values, in words that follow "expected" in a message.
    public var expected: String {
        switch self {
        case .string(let rule):
            (rule.expected ?? (rule.pattern.map { "text that matches \($0)" } ?? "text"))
                + (rule.example.map { ", such as \(tomlQuoted($0))" } ?? "")
        case .integer(let bounds): "a whole number" + describe(bounds)
        case .number(let bounds): "a number" + describe(bounds)
        case .boolean: "true or false"
        case .duration(let bounds): "a duration\(describe(bounds)), such as \"30s\", \"5min\" or \"2h\""
        case .size(let bounds): "a size\(describe(bounds)), such as \"256MiB\""
        case .choice(let choices):
            choices.count == 1 ? tomlQuoted(choices[0]) : "one of " + listed(choices.map(tomlQuoted))
        case .path: "a path"
        case .url(let schemes): "a URL that begins with " + listed(schemes.map { "\($0)://" })
        case .timeZone: "an IANA time zone, such as \"Europe/Berlin\""
        case .date: "a date, such as 1980-04-12"
        case .timeOfDay: "a time of day, such as \"04:00\""
        case .list(let element): "a list, each element \(element.expected)"
        }
    }

    /// The word for the type in JSON and in documentation.
    public var name: String {
        switch self {
        case .string: "string"
        case .integer: "integer"
        case .number: "number"
        case .boolean: "boolean"
        case .duration: "duration"
        case .size: "size"
        case .choice: "choice"
        case .path: "path"
        case .url: "url"
        case .timeZone: "timeZone"
        case .date: "date"
        case .timeOfDay: "timeOfDay"
        case .list: "list"
        }
    }

    /// All words of ``name``.
    public static let names = [
        "string", "integer", "number", "boolean", "duration", "size", "choice", "path", "url", "timeZone", "date",
        "timeOfDay", "list",
    ]

    private func describe<Value>(_ bounds: Bounds<Value>) -> String {
        switch (bounds.minimum, bounds.maximum) {
        case (nil, nil): ""
        case (let low?, nil): " of at least \(low)"
        case (nil, let high?): " of at most \(high)"
        case (let low?, let high?): " from \(low) to \(high)"
        }
    }
}

/// `a, b or c`.
func listed(_ names: [String]) -> String {
    guard let last = names.last, names.count > 1 else { return names.first ?? "" }
    return names.dropLast().joined(separator: ", ") + " or " + last
}

/// The text as a TOML basic string.
package func tomlQuoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
        switch scalar {
        case "\"": result += "\\\""
        case "\\": result += "\\\\"
        case "\n": result += "\\n"
        case "\t": result += "\\t"
        case "\r": result += "\\r"
        case _ where scalar.value < 0x20 || scalar.value == 0x7F:
            let hex = String(scalar.value, radix: 16, uppercase: true)
            result += "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
        default: result.unicodeScalars.append(scalar)
        }
    }
    return result + "\""
}

extension SettingType: Codable {
    private enum Key: String, CodingKey {
        case type, minimum, maximum, pattern, expected, example, choices, schemes, items
    }

    /// Reads the object form: `type` and the members of that type; see ``SettingDeclaration``.
    public init(from decoder: any Decoder) throws {
        let object = try decoder.container(keyedBy: Key.self)
        func bounds<Value: Decodable>(_: Value.Type) throws -> Bounds<Value> {
            Bounds(
                try object.decodeIfPresent(Value.self, forKey: .minimum),
                try object.decodeIfPresent(Value.self, forKey: .maximum))
        }
        let name = try object.decode(String.self, forKey: .type)
        switch name {
        case "string":
            self = .string(
                TextRule(
                    pattern: try object.decodeIfPresent(String.self, forKey: .pattern),
                    expected: try object.decodeIfPresent(String.self, forKey: .expected),
                    example: try object.decodeIfPresent(String.self, forKey: .example)))
        case "integer": self = .integer(try bounds(Int64.self))
        case "number": self = .number(try bounds(Double.self))
        case "boolean": self = .boolean
        case "duration": self = .duration(try bounds(SettingDuration.self))
        case "size": self = .size(try bounds(ByteSize.self))
        case "choice": self = .choice(try object.decode([String].self, forKey: .choices))
        case "path": self = .path
        case "url":
            self = .url(schemes: try object.decodeIfPresent([String].self, forKey: .schemes) ?? ["https", "http"])
        case "timeZone": self = .timeZone
        case "date": self = .date
        case "timeOfDay": self = .timeOfDay
        case "list":
            let element = try object.decode(SettingType.self, forKey: .items)
            if case .list = element {
                throw DecodingError.dataCorruptedError(
                    forKey: .items, in: object, debugDescription: "a list cannot hold lists")
            }
            self = .list(of: element)
        default:
            throw DecodingError.dataCorruptedError(
                forKey: .type, in: object, debugDescription: "\"\(name)\" is not a type of setting")
        }
    }

    /// Writes the object form.
    public func encode(to encoder: any Encoder) throws {
        var object = encoder.container(keyedBy: Key.self)
        func write<Value: Encodable>(_ bounds: Bounds<Value>) throws {
            try object.encodeIfPresent(bounds.minimum, forKey: .minimum)
            try object.encodeIfPresent(bounds.maximum, forKey: .maximum)
        }
        try object.encode(name, forKey: .type)
        switch self {
        case .string(let rule):
            try object.encodeIfPresent(rule.pattern, forKey: .pattern)
            try object.encodeIfPresent(rule.expected, forKey: .expected)
            try object.encodeIfPresent(rule.example, forKey: .example)
        case .integer(let bounds): try write(bounds)
        case .number(let bounds): try write(bounds)
        case .duration(let bounds): try write(bounds)
        case .size(let bounds): try write(bounds)
        case .choice(let choices): try object.encode(choices, forKey: .choices)
        case .url(let schemes): try object.encode(schemes, forKey: .schemes)
        case .list(let element): try object.encode(element, forKey: .items)
        case .boolean, .path, .timeZone, .date, .timeOfDay: break
        }
    }
}
