/// Why typed text is not accepted: it is not a value, time or name; the message says what to type instead.
package struct EntryError: Error, Hashable, CustomStringConvertible {
    /// The field concerned, such as `distance`; `nil` for the value itself.
    package let field: String?
    package let message: String
    /// The fields in which to correct the error, if not in ``field``.
    package let remedy: [String]

    package init(_ message: String, field: String? = nil, remedy: [String] = []) {
        (self.field, self.message, self.remedy) = (field, message, remedy)
    }

    package var description: String { message }

    /// The beginning of typed text, for a message that quotes it.
    package static func cut(_ text: String) -> String { text.count > 60 ? "\(text.prefix(60))…" : text }
}
