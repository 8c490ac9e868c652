import JSON

/// A JSON object kept as text, byte for byte as its source wrote it but without white space between tokens.
///
/// Numbers keep their digits and members their order, so the hub rounds and reorders nothing. Equality compares the bytes.
public struct JSONObject: Hashable, Sendable {
    /// Compact JSON, from `{` to `}`.
    public let text: String

    /// The most bytes of compact text that metadata or extra members of one record may have.
    public static let maximumBytes = 16_384
    /// Maximum nesting depth of objects and arrays.
    public static let maximumDepth = 8

    /// Checks and compacts `text`; `nil` when it is not a JSON object or exceeds the bounds.
    public init?(_ text: String) {
        var copy = text
        let compact: String? = copy.withUTF8 { utf8 in
            let bytes = UnsafeRawBufferPointer(utf8)
            guard var scanner = try? JSONScanner(bytes) else { return nil }
            scanner.skipSpace()
            guard let value = try? scanner.value(), (try? scanner.finish()) != nil, value.kind == .object,
                value.depth <= JSONObject.maximumDepth, !value.hasLoneSurrogate
            else { return nil }
            return JSONText.compact(value, in: bytes)
        }
        guard let compact, compact.utf8.count <= JSONObject.maximumBytes else { return nil }
        self.text = compact
    }

    /// Takes text that a codec has already checked and compacted.
    public init(trusted text: String) { self.text = text }

    /// Equal byte for byte.
    public static func == (left: JSONObject, right: JSONObject) -> Bool { left.text.hasSameBytes(as: right.text) }

    /// Whether the object has no members.
    public var isEmpty: Bool { text == "{}" }
}
