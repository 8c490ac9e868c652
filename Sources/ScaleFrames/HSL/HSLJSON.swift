/// A JSON value of an HSL line.
public enum HSLJSON: Sendable, Hashable {
    case null
    case bool(Bool)
    case int(Int)
    case number(Double)
    case string(String)
    case array([HSLJSON])
    case object([String: HSLJSON])

    /// Reads one value in UTF-8; nil for anything else.
    public init?(_ bytes: [UInt8]) {
        guard String(validating: bytes, as: UTF8.self) != nil else { return nil }
        var reader = HSLJSONReader(bytes)
        guard let value = reader.whole() else { return nil }
        self = value
    }

    public subscript(name: String) -> HSLJSON? {
        guard case .object(let members) = self, let value = members[name], value != .null else { return nil }
        return value
    }

    public var text: String? { if case .string(let text) = self { text } else { nil } }
    public var flag: Bool? { if case .bool(let flag) = self { flag } else { nil } }
    public var items: [HSLJSON]? { if case .array(let items) = self { items } else { nil } }

    /// A whole number, also one written as `72.0`.
    public var whole: Int? {
        switch self {
        case .int(let number): number
        case .number(let number): Int(exactly: number)
        default: nil
        }
    }

    public var decimal: Double? {
        switch self {
        case .int(let number): Double(number)
        case .number(let number): number
        default: nil
        }
    }

    /// Without white space, on one line; what a person reads first comes first.
    public var line: String {
        switch self {
        case .null: "null"
        case .bool(let flag): flag ? "true" : "false"
        case .int(let number): String(number)
        case .number(let number): number.isFinite ? "\(number)" : "null"
        case .string(let text): Self.quoted(text)
        case .array(let items): "[" + items.map(\.line).joined(separator: ",") + "]"
        case .object(let members):
            "{"
                + members.sorted { (Self.rank($0.key), $0.key) < (Self.rank($1.key), $1.key) }
                .map { Self.quoted($0.key) + ":" + $0.value.line }.joined(separator: ",") + "}"
        }
    }

    private static let ranks = ["t", "v", "role", "n", "id", "ref", "dev", "op", "ev", "rid", "status", "code", "name"]

    private static func rank(_ name: String) -> Int { ranks.firstIndex(of: name) ?? ranks.count }

    private static func quoted(_ text: String) -> String {
        var line = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": line += "\\\""
            case "\\": line += "\\\\"
            case "\n": line += "\\n"
            case "\u{0}"..<" ":
                let hex = String(scalar.value, radix: 16)
                line += "\\u" + String(repeating: "0", count: 4 - hex.utf8.count) + hex
            default: line.unicodeScalars.append(scalar)
            }
        }
        return line + "\""
    }
}

extension HSLJSON: ExpressibleByDictionaryLiteral, ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByBooleanLiteral, ExpressibleByFloatLiteral
{
    public init(dictionaryLiteral members: (String, HSLJSON)...) {
        self = .object(Dictionary(members) { _, last in last })
    }
    public init(stringLiteral text: String) { self = .string(text) }
    public init(integerLiteral number: Int) { self = .int(number) }
    public init(booleanLiteral flag: Bool) { self = .bool(flag) }
    public init(floatLiteral number: Double) { self = .number(number) }
}
