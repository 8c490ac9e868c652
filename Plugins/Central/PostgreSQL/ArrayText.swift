/// Formats arrays as parameters of a statement.
public enum ArrayText {
    /// The text of a one-dimensional PostgreSQL array; `nil` becomes NULL.
    ///
    /// Each element is quoted, so that no text has a special meaning (documentation of PostgreSQL, 8.15.6).
    public static func of(_ elements: some Sequence<String?>) -> String {
        var text: [UInt8] = [UInt8(ascii: "{")]
        for element in elements {
            if text.count > 1 { text.append(UInt8(ascii: ",")) }
            guard let element else {
                text += "NULL".utf8
                continue
            }
            text.append(UInt8(ascii: "\""))
            for byte in element.utf8 {
                if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { text.append(UInt8(ascii: "\\")) }
                text.append(byte)
            }
            text.append(UInt8(ascii: "\""))
        }
        text.append(UInt8(ascii: "}"))
        return String(decoding: text, as: UTF8.self)
    }
}
