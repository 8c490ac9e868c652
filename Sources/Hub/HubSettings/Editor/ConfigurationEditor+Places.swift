import HubWire

/// The places of tables and values in the text.
extension ConfigurationEditor {
    func entry(_ path: [String]) -> Entry? { Self.entry(path, in: fields) }

    private static func entry(_ path: [String], in fields: [Field]) -> Entry? {
        guard let first = path.first, let entry = fields.first(where: { $0.name == first })?.entry else { return nil }
        if path.count == 1 { return entry }
        guard case .table(let fields) = entry.node else { return nil }
        return self.entry(Array(path.dropFirst()), in: fields)
    }

    func fields(of table: [String]) -> [Field] {
        if table.isEmpty { return fields }
        guard case .table(let fields)? = entry(table)?.node else { return [] }
        return fields
    }

    /// The number of bytes before the text's first character.
    var mark: Int { TOMLDocument.mark(of: text) }

    func shifted(_ range: Range<Int>) -> Range<Int> { range.lowerBound + mark..<range.upperBound + mark }

    /// The byte range of a value; nil if there are comments between the elements of a list, or for a table with its own lines.
    func range(of entry: Entry) -> Range<Int>? {
        guard let range = entry.range.map(shifted) else { return nil }
        guard case .array = entry.node else { return range }
        let bytes = Array(text.utf8)[range]
        return bytes.contains(0x0A) && bytes.contains(UInt8(ascii: "#")) ? nil : range
    }

    /// The bytes of an entry in braces, with one of the commas beside it.
    func cut(
        _ range: Range<Int>, _ key: String, from table: [String], _ braces: Range<Int>, _ bytes: [UInt8]
    ) -> Range<Int>? {
        let ends = fields(of: table).map { $0.entry.range.map(shifted)?.upperBound }
        guard !ends.contains(nil) else { return nil }
        if let before = ends.compactMap(\.self).filter({ $0 < range.upperBound }).max() {
            return before..<range.upperBound
        }
        func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
        let start = braces.lowerBound + 1
        guard ends.count > 1 else { return start..<range.upperBound }
        guard let comma = bytes[range.upperBound...].firstIndex(where: { !isSpace($0) }),
            bytes[comma] == UInt8(ascii: ","),
            let next = bytes[(comma + 1)...].firstIndex(where: { !isSpace($0) })
        else { return nil }
        return (bytes[start...].firstIndex { !isSpace($0) } ?? start)..<next
    }

    /// The place of a new setting: after a line, or instead of a comment about it.
    ///
    /// - Returns: nil if the table has no lines of its own, because it is written with dotted keys.
    func insertion(
        of key: String, _ setting: String, into table: [String], _ lines: SettingsLines, _ uncomments: Bool
    ) -> (line: Int, text: String, replaces: Bool)? {
        let parent = Array(table.dropLast())
        if let line = entry(table)?.position.line, lines.isHeader(line) {
            guard let sample = sample(of: key, in: table, below: line, lines) else {
                return (lastOwnLine(of: table, below: line), setting, false)
            }
            guard uncomments, let comment = sample.comment else { return (sample.line, setting, false) }
            return (sample.line, Self.padded(setting, comment), true)
        }
        // The table is missing in its parent, or the parent's lines are dotted keys: `grants.read = []`.
        guard let name = table.last.map(tomlKey), let outer = entry(parent), outer.range == nil,
            lines.isHeader(outer.position.line)
        else { return nil }
        return (
            lastOwnLine(of: parent, below: outer.position.line),
            has(table) ? "\(name).\(setting)" : "\(name) = { \(setting) }", false
        )
    }

    /// A line `# KEY = VALUE` in the table and the comment after its value; nil if no such line is a setting.
    private func sample(
        of key: String, in table: [String], below header: Int, _ lines: SettingsLines
    ) -> (line: Int, comment: String?)? {
        let places = LineTable(lines.bytes)
        let within = fields(of: table).compactMap { field in
            field.entry.range.map { field.entry.position.line..<places.position(of: $0.upperBound - 1 + mark).line + 1 }
        }
        var line = header + 1
        while line <= lines.count, !lines.isHeader(line) {
            // This is not a comment, but part of a text or a list.
            if let range = within.first(where: { $0.contains(line) }) {
                line = range.upperBound
                continue
            }
            let text = String(decoding: lines[line].filter { $0 != 0x0D }, as: UTF8.self)
            if let match = text.wholeMatch(of: /#+[ \t]*([A-Za-z0-9_\-]+)([ \t]*=.*)/), match.1 == key {
                let statement = "\(match.1)\(match.2)"
                let document = TOMLDocument(statement)
                guard document.faults.isEmpty, let range = document.fields.first?.entry.range else {
                    return (line, nil)
                }
                let rest = String(decoding: Array(statement.utf8)[range.upperBound...], as: UTF8.self)
                return (line, String(rest.drop { $0 == " " || $0 == "\t" }))
            }
            line += 1
        }
        return nil
    }

    /// Aligns a comment like those of the project's own file, if there is room.
    private static func padded(_ line: String, _ comment: String) -> String {
        guard !comment.isEmpty else { return line }
        return line + String(repeating: " ", count: max(2, 43 - line.count)) + comment
    }

    private func lastOwnLine(of table: [String], below header: Int) -> Int {
        let places = LineTable(Array(text.utf8))
        return fields(of: table).compactMap { field in
            field.entry.range.map { places.position(of: $0.upperBound - 1 + mark).line }
        }.filter { $0 > header }.max() ?? header
    }

    /// The last line of the tables below a table that have their own lines; nil if there are none.
    func lastLine(of table: [String]) -> Int? {
        let places = LineTable(Array(text.utf8))
        func lines(of entry: Entry) -> [Int] {
            let end = entry.range.map { places.position(of: $0.upperBound - 1 + mark).line }
            guard end == nil, case .table(let fields) = entry.node else { return [end ?? entry.position.line] }
            return [entry.position.line] + fields.flatMap { lines(of: $0.entry) }
        }
        return fields(of: table).map(\.entry).filter { $0.range == nil }.flatMap(lines).max()
    }

    /// The lines at which tables begin.
    static func headers(of fields: [Field]) -> [Int] {
        fields.flatMap { field -> [Int] in
            guard field.entry.range == nil else { return [] }
            switch field.entry.node {
            case .table(let fields): return [field.entry.position.line] + headers(of: fields)
            case .array(let entries):
                return entries.flatMap { headers(of: [Field(name: field.name, entry: $0)]) }
            default: return []
            }
        }
    }

    /// All values except those of one place, each with its path, and all other empty tables.
    func values(except place: [String]) -> [String] { Self.values(of: fields, except: place, below: []) }

    private static func values(of fields: [Field], except place: [String], below path: [String]) -> [String] {
        fields.flatMap { field -> [String] in
            let path = path + [field.name]
            guard path != place else { return [] }
            switch field.entry.node {
            case .table(let fields) where field.entry.range == nil || place.starts(with: path):
                let isEmpty = fields.isEmpty && !place.starts(with: path)
                return isEmpty ? ["\(path)"] : values(of: fields, except: place, below: path)
            case .array(let entries) where field.entry.range == nil:
                return entries.flatMap {
                    values(of: [Field(name: field.name, entry: $0)], except: place, below: Array(path.dropLast()))
                }
            default: return ["\(path): \(field.entry.source)"]
            }
        }
    }
}
