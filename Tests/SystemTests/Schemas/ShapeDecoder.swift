import HubWire
import JSON

/// Finds the schema of the JSON that a type reads: decodes the type from a decoder that notes each member.
///
/// Documentation comments of members are their descriptions.
struct ShapeDecoder: Decoder {
    struct Unknown: Error { let type: String }

    fileprivate final class Members {
        var names: [String] = []
        var schemas: [String: JSONTree] = [:]
        var optional: Set<String> = []
    }

    private static let comments: Result<SourceComments, any Error> = Result { try SourceComments("Contract/HubWire") }

    fileprivate let members = Members()
    let codingPath: [any CodingKey] = []
    let userInfo: [CodingUserInfoKey: Any] = [:]

    static func schema(of type: any Decodable.Type) throws -> JSONTree { try shape(of: type).schema }

    /// The schema of a type, and any value of it.
    fileprivate static func shape<Value: Decodable>(of type: Value.Type) throws -> (value: Value, schema: JSONTree) {
        let (value, schema): (Any, JSONTree) =
            switch type {
            case is String.Type: ("", ["type": "string"])
            case is Bool.Type: (false, ["type": "boolean"])
            case is Int.Type: (0, ["type": "integer"])
            case is Int64.Type: (Int64(0), ["type": "integer"])
            case is Double.Type: (0.0, ["type": "number"])
            case is SettingValue.Type: (SettingValue.boolean(false), [:])
            case let words as any (CaseIterable & RawRepresentable).Type: try Self.words(words)
            case let list as any ShapedList.Type: (list.init(), ["type": "array", "items": try list.items])
            case let map as any ShapedMap.Type:
                (map.init(), ["type": "object", "additionalProperties": try map.values])
            default: try object(type)
            }
        guard let value = value as? Value else { throw Unknown(type: "\(type)") }
        return (value, schema)
    }

    private static func object<Value: Decodable>(_ type: Value.Type) throws -> (Any, JSONTree) {
        let decoder = ShapeDecoder()
        let value = try Value(from: decoder)
        let comments = try Self.comments.get()[String(reflecting: type).replacing("HubWire.", with: "")]
        let schemas = decoder.members.names.map { name in
            let description = comments[name].map { [JSONTree.Member("description", .text($0))] } ?? []
            let schema = decoder.members.schemas[name]?.members ?? []
            return (name: name, schema: JSONTree.object(description + schema))
        }
        return (value, object(schemas, optional: decoder.members.optional))
    }

    static func object(_ members: [(name: String, schema: JSONTree)], optional: Set<String> = []) -> JSONTree {
        let needed = members.map(\.name).filter { !optional.contains($0) }
        var object: [JSONTree.Member] = [
            .init("type", "object"), .init("properties", .object(members.map { .init($0.name, $0.schema) })),
        ]
        if !needed.isEmpty { object.append(.init("required", .list(needed.map(JSONTree.text)))) }
        return .object(object)
    }

    private static func words<Word: CaseIterable & RawRepresentable>(_ type: Word.Type) throws -> (Any, JSONTree) {
        let words = Word.allCases.compactMap { $0.rawValue as? String }
        guard let first = Word.allCases.first, !words.isEmpty else { throw Unknown(type: "\(type)") }
        return (first, ["enum": .list(words.map(JSONTree.text))])
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
        KeyedDecodingContainer(Keyed(members: members))
    }
    func unkeyedContainer() throws -> any UnkeyedDecodingContainer { throw Unknown(type: "a list") }
    func singleValueContainer() throws -> any SingleValueDecodingContainer { throw Unknown(type: "a value") }

    private struct Keyed<Key: CodingKey>: KeyedDecodingContainerProtocol {
        let members: Members
        let codingPath: [any CodingKey] = []
        let allKeys: [Key] = []

        func contains(_ key: Key) -> Bool { true }
        /// Called only for optional members.
        func decodeNil(forKey key: Key) -> Bool {
            members.optional.insert(key.stringValue)
            return false
        }
        func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
            let (value, schema) = try ShapeDecoder.shape(of: type)
            members.names.append(key.stringValue)
            members.schemas[key.stringValue] = schema
            return value
        }
        private func member<Value: Decodable>(_ type: Value.Type, _ key: Key) throws -> Value {
            try decode(type, forKey: key)
        }
        func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try member(type, key) }
        func decode(_ type: String.Type, forKey key: Key) throws -> String { try member(type, key) }
        func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try member(type, key) }
        func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try member(type, key) }
        func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try member(type, key) }
        func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try member(type, key) }
        func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try member(type, key) }
        func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try member(type, key) }
        func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try member(type, key) }
        func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try member(type, key) }
        func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try member(type, key) }
        func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try member(type, key) }
        func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try member(type, key) }
        func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try member(type, key) }
        func nestedContainer<Nested: CodingKey>(
            keyedBy type: Nested.Type, forKey key: Key
        ) throws -> KeyedDecodingContainer<Nested> { throw Unknown(type: key.stringValue) }
        func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
            throw Unknown(type: key.stringValue)
        }
        func superDecoder() throws -> any Decoder { throw Unknown(type: "super") }
        func superDecoder(forKey key: Key) throws -> any Decoder { throw Unknown(type: key.stringValue) }
    }
}

private protocol ShapedList {
    init()
    static var items: JSONTree { get throws }
}
extension Array: ShapedList where Element: Decodable {
    fileprivate static var items: JSONTree { get throws { try ShapeDecoder.schema(of: Element.self) } }
}

private protocol ShapedMap {
    init()
    static var values: JSONTree { get throws }
}
extension Dictionary: ShapedMap where Key == String, Value: Decodable {
    fileprivate static var values: JSONTree { get throws { try ShapeDecoder.schema(of: Value.self) } }
}
