/// A text that must not be seen: it prints, dumps, reflects and encodes as `<secret>`.
///
/// Only ``reveal()`` gives the text, so every place that uses it can be found by that one word.
public struct Secret: Sendable, Hashable {
    private let text: String

    /// Wraps `text`; nothing is trimmed.
    public init(_ text: String) {
        self.text = text
    }

    /// The text itself, for the one call that needs it.
    ///
    /// Never put the result into a log line or a message.
    public func reveal() -> String {
        text
    }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// What stands in place of every secret.
    public static let placeholder = "<secret>"

    public var description: String { Self.placeholder }
    public var debugDescription: String { Self.placeholder }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension Secret: Codable {
    /// Reads a text.
    public init(from decoder: any Decoder) throws {
        self.init(try decoder.singleValueContainer().decode(String.self))
    }

    /// Writes `"<secret>"`, never the text.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(Self.placeholder)
    }
}
