/// A value of a settings file.
package enum Node {
    case string(String)
    case integer(Int64)
    /// May be infinite or NaN, because TOML has both.
    case number(Double)
    case boolean(Bool)
    /// `YYYY-MM-DD`.
    case date(String)
    /// `HH:MM:SS`, with a fraction if there is one.
    case time(String)
    /// `YYYY-MM-DDTHH:MM:SS`, with a fraction and an offset if they are there.
    case dateTime(String)
    case array([Entry])
    case table([Field])

    package init(_ value: SettingValue) {
        switch value {
        case .string(let text): self = .string(text)
        case .integer(let number): self = .integer(number)
        case .number(let number): self = .number(number)
        case .boolean(let truth): self = .boolean(truth)
        case .list(let values):
            self = .array(
                values.map { Entry(node: Node($0), position: SourcePosition(line: 1, column: 1), source: "") })
        case .secret(let secret): self = .string(secret.reveal())
        }
    }
}

/// A value, the position of its key (of the value itself in an array) and the value as written, on one line.
package struct Entry {
    package var node: Node
    package var position: SourcePosition
    /// Empty for a table made by headers or dotted keys.
    package var source: String
    /// The byte range of the value; `nil` for such a table.
    package var range: Range<Int>?
}

/// A key and its value.
package struct Field {
    package var name: String
    package var entry: Entry

    package init(name: String, entry: Entry) {
        (self.name, self.entry) = (name, entry)
    }
}

/// A fault in the grammar of the text.
package struct SyntaxFault {
    package var position: SourcePosition
    package var message: String
}

/// A settings file as values with positions: TOML 1.0.
///
/// One mistake does not hide the others: the parser drops a faulty statement (after a faulty header, the whole table) and reads the rest,
/// up to 20 faults.
package struct TOMLDocument {
    /// In the order of the file; empty if there are too many faults.
    package var fields: [Field] = []
    package var faults: [SyntaxFault] = []
    /// Tables that lost a statement to a fault: a setting that seems missing there may only be misspelt.
    package var damaged: Set<[PathStep]> = []

    private static let largest = 1 << 20
    private static let maximumFaults = 20

    package init(_ text: String) {
        guard text.utf8.count <= Self.largest else {
            faults = [SyntaxFault(position: .init(line: 1, column: 1), message: "a settings file has at most 1 MiB")]
            return
        }
        var bytes = Array(text.utf8)
        bytes.removeFirst(Self.mark(of: text))
        var parser = TOMLParser(bytes, maximumFaults: Self.maximumFaults)
        parser.parse()
        (faults, damaged) = (parser.faults, parser.damaged)
        if faults.count < Self.maximumFaults { fields = parser.fields }
    }

    /// The length of its byte order mark in bytes; ranges of entries are counted from after it.
    package static func mark(of text: String) -> Int {
        let mark = "\u{FEFF}".utf8
        return text.utf8.starts(with: mark) ? mark.count : 0
    }
}
