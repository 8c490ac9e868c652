import JSON
import Samples

/// One JSON value as text that passes through without being parsed: command arguments, settings, the body of a PING.
///
/// Values are equal if their bytes are. It prints only its size, because settings hold secrets and results hold health values.
public struct RawJSON: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    /// Valid UTF-8, from the first to the last byte of the value.
    public let bytes: [UInt8]

    /// The object without members.
    public static let emptyObject = RawJSON(trusted: [0x7B, 0x7D])

    /// Wraps bytes that are known to be one JSON value, such as an encoder's output.
    public init(trusted bytes: [UInt8]) { self.bytes = bytes }

    /// Checks `text`; `nil` if it is not one JSON value.
    public init?(_ text: String) {
        let bytes = Array(text.utf8)
        let isValid = bytes.withUnsafeBytes { bytes in
            do throws(JSONSyntaxError) {
                var scanner = try JSONScanner(bytes)
                scanner.skipSpace()
                _ = try scanner.value()
                try scanner.finish()
                return true
            } catch {
                return false
            }
        }
        guard isValid else { return nil }
        self.bytes = bytes
    }

    public var text: String { String(decoding: bytes, as: UTF8.self) }

    /// The text of a JSON string; `nil` for any other value.
    public var textValue: String? {
        bytes.withUnsafeBytes { bytes in
            guard var scanner = try? JSONScanner(bytes) else { return nil }
            scanner.skipSpace()
            guard let value = try? scanner.value(), value.kind == .string else { return nil }
            return JSONText.string(value, in: bytes)
        }
    }

    public var isObject: Bool { bytes.first { $0 > 0x20 } == UInt8(ascii: "{") }

    /// This object with `members` added at the end; each replaces a member of the same name.
    ///
    /// The other members keep their place and spelling. The hub adds `person`, `source` and `time` to a LIVE body this way.
    ///
    /// - Returns: `nil` if this is not an object.
    public func setting(_ members: [(name: String, value: RawJSON)]) -> RawJSON? {
        bytes.withUnsafeBytes { bytes in
            guard let object = try? ObjectReader(bytes, path: "") else { return nil }
            var body = ObjectWriter()
            for member in object.members where !members.contains(where: { $0.name == member.name }) {
                body.member(member.name, raw: object.raw(member.value))
            }
            for member in members { body.member(member.name, raw: member.value) }
            return RawJSON(trusted: body.finished())
        }
    }

    /// An object with one number, such as the body of a PING.
    package static func object(_ member: String, _ number: Int64) -> RawJSON {
        var body = ObjectWriter()
        body.member(member, integer: number)
        return RawJSON(trusted: body.finished())
    }

    /// The integer value of a member of this object; `nil` if it is anything else.
    package func integer(_ member: String) -> Int64? {
        bytes.withUnsafeBytes { bytes in
            guard let object = try? ObjectReader(bytes, path: "") else { return nil }
            return object.value(member).flatMap(object.integer)
        }
    }

    /// A JSON string.
    public static func string(_ text: String) -> RawJSON {
        var bytes: [UInt8] = []
        bytes.append(quoted: text)
        return RawJSON(trusted: bytes)
    }

    public var description: String { "<\(bytes.count) bytes of JSON>" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
