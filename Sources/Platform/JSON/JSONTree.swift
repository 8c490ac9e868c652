/// A JSON value that keeps every number as written, because some services distinguish `7200` and `7200.0`.
public indirect enum JSONTree: Hashable, Sendable {
    case null
    case truth(Bool)
    /// The digits as written.
    case number(String)
    case text(String)
    case list([JSONTree])
    /// Members in order.
    case object([Member])

    public struct Member: Hashable, Sendable {
        public var name: String
        public var value: JSONTree

        public init(_ name: String, _ value: JSONTree) { (self.name, self.value) = (name, value) }
    }

    /// Matches the limits of most services' readers; the reader recurses to this depth.
    private static let depthLimit = 512

    /// Reads a JSON text in UTF-8; `nil` if it is invalid, nests deeper than 512 values, or escapes half a character.
    public init?(_ bytes: [UInt8]) {
        let tree: JSONTree? = bytes.withUnsafeBytes { buffer in
            guard var scanner = try? JSONScanner(buffer) else { return nil }
            scanner.skipSpace()
            guard let value = try? scanner.value(), (try? scanner.finish()) != nil, value.depth <= Self.depthLimit
            else {
                return nil
            }
            return Self.read(value, in: buffer)
        }
        guard let tree else { return nil }
        self = tree
    }

    private static func read(_ value: JSONValue, in bytes: UnsafeRawBufferPointer) -> JSONTree? {
        switch value.kind {
        case .null: return .null
        case .true: return .truth(true)
        case .false: return .truth(false)
        case .number:
            return .number(String(decoding: bytes[value.start..<value.end], as: UTF8.self))
        case .string: return JSONText.string(value, in: bytes).map(JSONTree.text)
        case .array, .object: return container(value, in: bytes)
        }
    }

    private static func container(_ value: JSONValue, in bytes: UnsafeRawBufferPointer) -> JSONTree? {
        var scanner = JSONScanner(bytes, within: value)
        let isObject = value.kind == .object
        guard scanner.take(UInt8(ascii: isObject ? "{" : "[")) else { return nil }
        var (items, members): ([JSONTree], [Member]) = ([], [])
        scanner.skipSpace()
        while let next = scanner.next, next != UInt8(ascii: isObject ? "}" : "]") {
            var name: String?
            if isObject {
                guard let found = try? scanner.name(), let text = JSONText.string(found, in: bytes) else { return nil }
                name = text
            }
            guard let inner = try? scanner.value(), let tree = read(inner, in: bytes) else { return nil }
            if let name { members.append(Member(name, tree)) } else { items.append(tree) }
            scanner.skipSpace()
            if scanner.take(UInt8(ascii: ",")) { scanner.skipSpace() }
        }
        return isObject ? .object(members) : .list(items)
    }

    /// The member of an object; if several have the name, the last one, as in most readers.
    public subscript(_ name: String) -> JSONTree? {
        guard case .object(let members) = self else { return nil }
        return members.last { $0.name == name }?.value
    }

    public var text: String? { if case .text(let text) = self { text } else { nil } }
    public var truth: Bool? { if case .truth(let truth) = self { truth } else { nil } }
    public var list: [JSONTree]? { if case .list(let items) = self { items } else { nil } }
    public var members: [Member]? { if case .object(let members) = self { members } else { nil } }
    public var double: Double? { if case .number(let digits) = self { Double(digits) } else { nil } }
    /// A number written as a whole number: `7200`, but not `7200.0` or `72e2`.
    public var integer: Int? { if case .number(let digits) = self { Int(digits) } else { nil } }

    /// Compact JSON.
    public var json: String { String(decoding: bytes, as: UTF8.self) }

    /// Compact JSON in UTF-8.
    public var bytes: [UInt8] {
        var out: [UInt8] = []
        write(to: &out)
        return out
    }

    private func write(to out: inout [UInt8]) {
        switch self {
        case .null: out.append(literal: "null")
        case .truth(let truth): out.append(literal: truth ? "true" : "false")
        case .number(let digits): out.append(json: digits)
        case .text(let text): out.append(quoted: text)
        case .list(let items):
            out.append(UInt8(ascii: "["))
            for (index, item) in items.enumerated() {
                if index > 0 { out.append(UInt8(ascii: ",")) }
                item.write(to: &out)
            }
            out.append(UInt8(ascii: "]"))
        case .object(let members):
            out.append(UInt8(ascii: "{"))
            for (index, member) in members.enumerated() {
                if index > 0 { out.append(UInt8(ascii: ",")) }
                out.append(quoted: member.name)
                out.append(UInt8(ascii: ":"))
                member.value.write(to: &out)
            }
            out.append(UInt8(ascii: "}"))
        }
    }
}

extension JSONTree: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral, ExpressibleByNilLiteral
{
    public init(stringLiteral text: String) { self = .text(text) }
    public init(booleanLiteral truth: Bool) { self = .truth(truth) }
    public init(integerLiteral number: Int) { self = .number(String(number)) }
    public init(arrayLiteral items: JSONTree...) { self = .list(items) }
    public init(dictionaryLiteral members: (String, JSONTree)...) {
        self = .object(members.map { Member($0.0, $0.1) })
    }
    public init(nilLiteral: ()) { self = .null }

    public init(_ number: Int) { self = .number(String(number)) }
    /// A text, or null if it is nil.
    public init(_ text: String?) { self = text.map(JSONTree.text) ?? .null }
}
