import HubWire

/// The lines of a `hub.conf` as a person may see them: without hidden values.
public struct ShownLines {
    public struct Line: Sendable {
        /// The line as it is written, without its line end.
        public let text: String
        /// The line with `<secret>` in place of hidden values.
        public let shown: String
        /// The header line of its table, which may be this line; nil above all tables.
        public let header: String?
    }

    public let lines: [Line]

    /// - Parameters:
    ///   - text: the text; if it is not TOML, everything is hidden, because values cannot be recognized in it.
    ///   - isHidden: decides by the names that lead to a setting, including settings in comments. A value that is only a reference, such as
    ///     `"${NAME}"`, is shown.
    public init(_ text: String, isHidden: ([String]) -> Bool) {
        let (document, mark) = (TOMLDocument(text), TOMLDocument.mark(of: text))
        let values = Self.values(of: document.fields, below: []).map { names, entry, range in
            let range = range.lowerBound + mark..<range.upperBound + mark
            return (range: range, isSecret: isHidden(names) && !Self.isReference(entry.node))
        }
        var (lines, table, header) = ([Line](), [String](), String?.none)
        for line in Array(text.utf8).dropFirst(mark).split(separator: 0x0A, omittingEmptySubsequences: false) {
            let line = line.last == 0x0D ? line.dropLast() : line
            let written = String(decoding: line, as: UTF8.self)
            guard document.faults.isEmpty else {
                lines.append(Line(text: written, shown: written.isEmpty ? "" : Secret.placeholder, header: nil))
                continue
            }
            var shown = Self.shown(line, without: values.filter(\.isSecret).map(\.range))
            if !values.contains(where: {
                $0.range.lowerBound < line.startIndex && line.startIndex < $0.range.upperBound
            }) {
                switch written.first(where: { $0 != " " && $0 != "\t" }) {
                case "[": (table, header) = (Self.names(TOMLDocument(written).fields), written)
                case "#": shown = Self.comment(written) { isHidden(table + $0) }
                default: break
                }
            }
            lines.append(Line(text: written, shown: shown, header: header))
        }
        if lines.last?.text.isEmpty == true { lines.removeLast() }
        self.lines = lines
    }

    /// All values that are not tables, each with the names that lead to it and its range.
    private static func values(of fields: [Field], below table: [String]) -> [([String], Entry, Range<Int>)] {
        fields.flatMap { field -> [([String], Entry, Range<Int>)] in
            let names = table + [field.name]
            switch (field.entry.node, field.entry.range) {
            case (.table(let fields), _): return values(of: fields, below: names)
            case (.array(let entries), nil):
                return entries.flatMap { values(of: [Field(name: field.name, entry: $0)], below: table) }
            case (_, let range): return range.map { [(names, field.entry, $0)] } ?? []
            }
        }
    }

    private static func isReference(_ node: Node?) -> Bool {
        guard case .string(let text)? = node else { return false }
        return text.wholeMatch(of: /\$\{[^}]+\}/) != nil
    }

    private static func shown(_ line: ArraySlice<UInt8>, without ranges: [Range<Int>]) -> String {
        var (shown, place) = ("", line.startIndex)
        for range in ranges where range.overlaps(line.startIndex..<line.endIndex) {
            shown += String(decoding: line[place..<max(place, range.lowerBound)], as: UTF8.self) + Secret.placeholder
            place = min(range.upperBound, line.endIndex)
        }
        return shown + String(decoding: line[place...], as: UTF8.self)
    }

    /// A comment that contains a setting, such as `# token = "…"`, with its value hidden if necessary.
    private static func comment(_ line: String, isHidden: ([String]) -> Bool) -> String {
        let content = line.drop { " \t#".contains($0) }
        guard let sign = content.firstIndex(of: "=") else { return line }
        let (key, value) = (TOMLDocument("\(content[..<sign])= 0"), content[content.index(after: sign)...])
        guard key.faults.isEmpty, isHidden(names(key.fields)),
            !isReference(TOMLDocument("value =\(value)").fields.first?.entry.node)
        else { return line }
        return "\(line[...sign]) \(Secret.placeholder)"
    }

    /// The names that lead to the first value.
    private static func names(_ fields: [Field]) -> [String] {
        guard let field = fields.first else { return [] }
        guard case .table(let fields) = field.entry.node else { return [field.name] }
        return [field.name] + names(fields)
    }
}
