/// A text that must stay hidden: it prints, dumps, reflects and encodes as `<secret>`.
///
/// Only ``reveal()`` gives the text, so a search for that word finds every use.
public struct Secret: Sendable, Hashable {
    private let text: String

    /// Wraps `text` without trimming it.
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
    /// The text shown in place of every secret.
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
