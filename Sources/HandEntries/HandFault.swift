/// Why what a person has typed is not taken, or the hub's answer to it is not understood.
package struct HandFault: Error, Hashable, CustomStringConvertible {
    package enum Kind: Hashable, Sendable {
        /// What was typed is not a value, time or name; the message says what to type instead.
        case typed
        /// The hub's answer is none that this program knows.
        case answer
    }

    package let kind: Kind
    /// What it is about beside the value, such as `distance`; `nil` for the value itself.
    package let field: String?
    package let message: String
    /// The fields in which to type what the message asks for, where that is not ``field``.
    package let remedy: [String]

    package init(_ message: String, field: String? = nil, remedy: [String] = [], kind: Kind = .typed) {
        (self.kind, self.field, self.message, self.remedy) = (kind, field, message, remedy)
    }

    package var description: String { message }

    /// The beginning of what was typed, for a message that quotes it.
    package static func cut(_ text: String) -> String { text.count > 60 ? "\(text.prefix(60))…" : text }
}
