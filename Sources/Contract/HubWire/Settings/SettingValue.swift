/// The checked value of a setting.
///
/// Types written as text in `hub.conf` (durations, sizes, choices, paths, URLs, zones, dates) stay text here, so a value has the same form
/// in `hub.conf`, in JSON and in a plugin. ``duration`` and ``size`` parse such a text exactly.
public enum SettingValue: Sendable, Hashable {
    case string(String)
    case integer(Int64)
    /// Always finite.
    case number(Double)
    case boolean(Bool)
    case list([SettingValue])
    case secret(Secret)
}

extension SettingValue {
    /// The text of a `string`; nil for everything else, including a secret.
    public var string: String? {
        if case .string(let text) = self { text } else { nil }
    }

    /// The value of an `integer`.
    public var integer: Int64? {
        if case .integer(let value) = self { value } else { nil }
    }

    /// The value of a `number`, or of an `integer` that a double holds exactly.
    public var number: Double? {
        switch self {
        case .number(let value): value
        case .integer(let value): Double(exactly: value)
        default: nil
        }
    }

    /// The value of a `boolean`.
    public var boolean: Bool? {
        if case .boolean(let value) = self { value } else { nil }
    }

    /// The elements of a `list`.
    public var list: [SettingValue]? {
        if case .list(let values) = self { values } else { nil }
    }

    /// The elements of a `list` whose elements are all texts.
    public var strings: [String]? {
        guard let list else { return nil }
        let texts = list.compactMap(\.string)
        return texts.count == list.count ? texts : nil
    }

    /// The duration of a text such as `"30s"`.
    public var duration: SettingDuration? { string.flatMap { SettingDuration($0) } }

    /// The size of a text such as `"256MiB"`.
    public var size: ByteSize? { string.flatMap { ByteSize($0) } }

    /// The secret, or a plain text wrapped as one (plugins receive plain texts in WELCOME).
    public var secret: Secret? {
        switch self {
        case .secret(let secret): secret
        case .string(let text): Secret(text)
        default: nil
        }
    }

    /// The value with secrets as plain text, for the one message that hands them to their plugin.
    public func revealed() -> SettingValue {
        switch self {
        case .secret(let secret): .string(secret.reveal())
        case .list(let values): .list(values.map { $0.revealed() })
        default: self
        }
    }
}

extension SettingValue: Codable {
    /// Reads a JSON boolean, number, string or array.
    ///
    /// A whole number becomes an `integer` even if it was a `number` before: JSON does not distinguish `5` from `5.0`.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let value = try? container.decode(Bool.self) {
            self = .boolean(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .integer(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else {
            self = .list(try container.decode([SettingValue].self))
        }
    }

    /// Writes the plain JSON value; a secret as `"<secret>"` (see ``revealed()``).
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .string(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .boolean(let value): try container.encode(value)
        case .list(let values): try container.encode(values)
        case .secret(let secret): try container.encode(secret)
        }
    }
}
