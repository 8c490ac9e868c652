import JSON
import Platform

/// Appends XML 1.0 to a buffer.
extension [UInt8] {
    /// Appends ` name="value"`.
    mutating func append(attribute name: StaticString, _ value: String) {
        append(UInt8(ascii: " "))
        append(literal: name)
        append(literal: "=\"")
        append(xml: value)
        append(UInt8(ascii: "\""))
    }

    /// Appends text or an attribute value.
    mutating func append(xml text: String) { Markup.append(text, to: &self, for: .xml) }
}
