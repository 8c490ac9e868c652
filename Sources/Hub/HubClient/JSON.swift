import Foundation
package import HubWire

/// Reads and writes complete JSON values.
package enum JSON {
    package static func decode<Value: Decodable>(_ type: Value.Type, from bytes: some Sequence<UInt8>) throws -> Value {
        try JSONDecoder().decode(type, from: Data(bytes))
    }

    /// Decodes an answer of the hub.
    package static func answer<Value: Decodable>(_ type: Value.Type, _ value: RawJSON) throws(Failure) -> Value {
        do { return try decode(type, from: value.bytes) } catch {
            throw Failure(.dialogue, "the hub's answer is of another version than this program: \(error)")
        }
    }

    /// One compact line, members sorted by name.
    package static func line(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }
}
