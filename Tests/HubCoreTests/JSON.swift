import Foundation

/// JSON as tests compare it.
enum JSON: Hashable, Sendable, Decodable {
    case null
    case truth(Bool)
    case number(Double)
    case string(String)
    case array([JSON])
    case object([String: JSON])

    /// Of bytes that are no JSON: `null`.
    init(_ bytes: [UInt8]) { self = (try? JSONDecoder().decode(JSON.self, from: Data(bytes))) ?? .null }
    init(_ text: String) { self.init(Array(text.utf8)) }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        // The most frequent first: each that does not fit costs an error.
        if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .truth(value)
        } else if let value = try? container.decode([JSON].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: JSON].self))
        }
    }

    subscript(name: String) -> JSON {
        if case .object(let members) = self { members[name] ?? .null } else { .null }
    }
    subscript(index: Int) -> JSON {
        if case .array(let elements) = self, elements.indices.contains(index) { elements[index] } else { .null }
    }

    var string: String? { if case .string(let text) = self { text } else { nil } }
    var double: Double? { if case .number(let number) = self { number } else { nil } }
    var int: Int64? { double.flatMap { Int64(exactly: $0) } }
    var truth: Bool? { if case .truth(let value) = self { value } else { nil } }
    var array: [JSON] { if case .array(let elements) = self { elements } else { [] } }
    var names: Set<String> { if case .object(let members) = self { Set(members.keys) } else { [] } }

    /// Whether this is what `pattern` says: `*` stands for anything, and members that it does not name are free.
    func fits(_ pattern: JSON) -> Bool {
        switch (self, pattern) {
        case (_, .string("*")): true
        case (.object(let members), .object(let asked)):
            asked.allSatisfy { name, value in members[name]?.fits(value) ?? false }
        case (.array(let elements), .array(let asked)):
            elements.count == asked.count && zip(elements, asked).allSatisfy { $0.fits($1) }
        default: self == pattern
        }
    }
}
