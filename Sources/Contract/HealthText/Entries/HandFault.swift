/// Why typed text is not accepted, or why the hub's answer is not understood.
package struct HandFault: Error, Hashable, CustomStringConvertible {
    package enum Kind: Hashable, Sendable {
        /// The text is not a value, time or name; the message says what to type instead.
        case typed
        /// The hub's answer has an unknown form.
        case answer
    }

    package let kind: Kind
    /// The field concerned, such as `distance`; `nil` for the value itself.
    package let field: String?
    package let message: String
    /// The fields in which to correct the error, if not in ``field``.
    package let remedy: [String]

    package init(_ message: String, field: String? = nil, remedy: [String] = [], kind: Kind = .typed) {
        (self.kind, self.field, self.message, self.remedy) = (kind, field, message, remedy)
    }

    package var description: String { message }

    /// The beginning of typed text, for a message that quotes it.
    package static func cut(_ text: String) -> String { text.count > 60 ? "\(text.prefix(60))…" : text }
}
