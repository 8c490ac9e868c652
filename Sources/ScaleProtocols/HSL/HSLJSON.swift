import JSON

/// A JSON value of an HSL line.
public enum HSLJSON: Sendable, Hashable {
    case null
    case bool(Bool)
    case int(Int)
    case number(Double)
    case string(String)
    case array([HSLJSON])
    case object([String: HSLJSON])

    /// Reads one value in UTF-8; nil for anything else, and for more than 64 values inside each other.
    public init?(_ bytes: [UInt8]) {
        guard let tree = JSONTree(bytes) else { return nil }
        self.init(tree)
    }

    private init?(_ tree: JSONTree) {
        switch tree {
        case .null: self = .null
        case .truth(let flag): self = .bool(flag)
        case .text(let text): self = .string(text)
        case .number(let digits):
            if let number = Int(digits) {
                self = .int(number)
            } else {
                guard let number = Double(digits), number.isFinite else { return nil }
                self = .number(number)
            }
        case .list(let trees):
            var items: [HSLJSON] = []
            for tree in trees {
                guard let item = HSLJSON(tree) else { return nil }
                items.append(item)
            }
            self = .array(items)
        case .object(let trees):
            var members: [String: HSLJSON] = [:]
            for tree in trees {
                guard let member = HSLJSON(tree.value) else { return nil }
                members[tree.name] = member
            }
            self = .object(members)
        }
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

    private static func quoted(_ text: String) -> String { JSONTree.text(text).json }
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
