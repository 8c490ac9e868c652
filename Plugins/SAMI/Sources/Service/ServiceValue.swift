import Foundation

/// JSON that a service sent, of whatever shape.
indirect enum ServiceValue: Hashable, Sendable, Codable {
    case null
    case truth(Bool)
    case whole(Int64)
    case number(Double)
    case text(String)
    case list([ServiceValue])
    case object([String: ServiceValue])

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .truth(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .whole(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .text(value)
        } else if let values = try? container.decode([ServiceValue].self) {
            self = .list(values)
        } else {
            self = .object(try container.decode([String: ServiceValue].self))
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .truth(let value): try container.encode(value)
        case .whole(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .text(let value): try container.encode(value)
        case .list(let values): try container.encode(values)
        case .object(let members): try container.encode(members)
        }
    }

    subscript(_ name: String) -> ServiceValue? {
        guard case .object(let members) = self, let value = members[name], value != .null else { return nil }
        return value
    }

    var object: [String: ServiceValue]? { if case .object(let members) = self { members } else { nil } }
    var list: [ServiceValue]? { if case .list(let values) = self { values } else { nil } }
    var string: String? { if case .text(let text) = self { text } else { nil } }

    /// Text, or a whole number as its digits: codes and ids come as either.
    var word: String? {
        switch self {
        case .text(let text): text
        case .whole(let value): String(value)
        default: nil
        }
    }

    /// A whole number, also one that is written as text.
    var integer: Int64? {
        switch self {
        case .whole(let value): value
        case .number(let value): Int64(exactly: value)
        case .text(let text): Int64(text)
        default: nil
        }
    }

    /// A finite number, also one that is written as text.
    var double: Double? {
        switch self {
        case .whole(let value): Double(value)
        case .number(let value): value
        case .text(let text): Double(text).flatMap { $0.isFinite ? $0 : nil }
        default: nil
        }
    }

    /// Compact JSON, members sorted: the same value is the same text.
    var json: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? "null"
    }
}
