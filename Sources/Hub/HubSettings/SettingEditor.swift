public import HubWire

/// Changes single settings of one table within the text of a `hub.conf`, and leaves all other bytes as they are.
public struct SettingEditor {
    public typealias Refusal = SectionEditor.Refusal

    public private(set) var text: String
    private let table: [String]

    /// - Parameter table: the names of its header, such as `["hub"]` or `["person", "anna"]`; empty to read the settings above all tables.
    /// - Throws: a refusal if the text is not TOML.
    public init(_ text: String, of table: [String]) throws(Refusal) {
        (self.text, self.table) = (text, table)
        if let fault = TOMLDocument(text).faults.first {
            throw Refusal(description: "line \(fault.position.line): \(fault.message)")
        }
    }

    private var header: String { Self.header(table) }

    /// The header line of a table.
    public static func header(_ table: [String]) -> String {
        "[\(table.map(tomlKey).joined(separator: "."))]"
    }

    var entry: Entry? { Self.entry(table, in: TOMLDocument(text).fields) }

    private static func entry(_ path: [String], in fields: [Field]) -> Entry? {
        guard let first = path.first, let entry = fields.first(where: { $0.name == first })?.entry else { return nil }
        if path.count == 1 { return entry }
        guard case .table(let fields) = entry.node else { return nil }
        return self.entry(Array(path.dropFirst()), in: fields)
    }

    private var fields: [Field] {
        if table.isEmpty { return TOMLDocument(text).fields }
        guard case .table(let fields)? = entry?.node else { return [] }
        return fields
    }

    /// Whether the table exists.
    public var hasTable: Bool { if case .table? = entry?.node { true } else { false } }

    /// The names of the tables right below this one, in the order of the file.
    public var names: [String] {
        fields.filter { if case .table = $0.entry.node { true } else { false } }.map(\.name)
    }

    /// The written settings except tables, in the order of the file.
    public var settings: [(key: String, value: SettingValue)] {
        fields.compactMap { field in SettingValue(field.entry.node).map { (field.name, $0) } }
    }

    /// The written value, with references such as `${NAME}` unresolved; nil if there is none or it is a table.
    public func value(_ key: String) -> SettingValue? {
        field(key).flatMap { SettingValue($0.node) }
    }

    /// Whether a setting is written, with any value.
    public func has(_ key: String) -> Bool { field(key) != nil }

    /// Whether the written value is or contains a reference: `${NAME}` or `${file:PATH}`.
    public func isReference(_ key: String) -> Bool { value(key)?.hasReference ?? false }

    private func field(_ key: String) -> Entry? { fields.first { $0.name == key }?.entry }

    /// Writes a setting: replaces its value, else puts it after a comment about it, else after the table's own lines.
    ///
    /// - Parameter uncomments: whether a line `# KEY = …` becomes the setting and keeps its comment; otherwise the line stays above it.
    /// - Throws: a refusal if the value contains comments or the table is written in an unusual way; it omits the value, which may be secret.
    public mutating func set(_ key: String, to value: SettingValue, uncomments: Bool = false) throws(Refusal) {
        let value = value.revealed()
        guard self.value(key) != value else { return }
        let byHand = Refusal(
            description:
                "\(header) is written in a way that this cannot change without losing something; write \(key) there by hand"
        )
        guard hasTable, let entry else { throw Refusal(description: "there is no \(header)") }
        var bytes = Array(text.utf8)
        let mark = TOMLDocument.mark(of: text)
        if let written = field(key) {
            guard SettingValue(written.node) != nil, let range = Self.place(of: written, bytes, mark) else {
                throw byHand
            }
            bytes.replaceSubrange(range, with: value.toml.utf8)
        } else if let range = entry.range {
            var end = range.upperBound - 1 + mark
            while end > 0, bytes[end - 1] == 0x20 || bytes[end - 1] == 0x09 { end -= 1 }
            let gap = bytes[end - 1] == UInt8(ascii: "{") ? " " : ", "
            bytes.insert(contentsOf: "\(gap)\(tomlKey(key)) = \(value.toml)".utf8, at: end)
        } else {
            var lines = SettingsLines(bytes)
            guard lines.isHeader(entry.position.line) else { throw byHand }
            let line = "\(tomlKey(key)) = \(value.toml)"
            if let sample = sample(of: key, below: entry.position.line, lines, mark) {
                if uncomments, let comment = sample.comment {
                    lines.replace(sample.line, by: Self.padded(line, comment))
                } else {
                    lines.insert(line, after: sample.line)
                }
            } else {
                lines.insert(line, after: lastOwnLine(entry.position.line, bytes, mark))
            }
            bytes = lines.bytes
        }
        try take(bytes, changing: key, to: value, orElse: byHand)
    }

    /// Removes a setting and its line; a comment after it stays.
    ///
    /// - Throws: a refusal with what to do by hand, if the value contains comments or the table is written in an unusual way.
    public mutating func remove(_ key: String) throws(Refusal) {
        guard let written = field(key) else { return }
        let byHand = Refusal(
            description: "\(header) is written in a way that this cannot change; take \(key) out by hand")
        var bytes = Array(text.utf8)
        let mark = TOMLDocument.mark(of: text)
        guard entry?.range == nil, let range = Self.place(of: written, bytes, mark) else { throw byHand }
        let start = bytes[..<range.lowerBound].lastIndex(of: 0x0A).map { $0 + 1 } ?? mark
        let rest = bytes[range.upperBound...].prefix { $0 != 0x0A }
        let comment = rest.drop { $0 == 0x20 || $0 == 0x09 }
        let end = comment.first == UInt8(ascii: "#") ? comment.startIndex : min(rest.endIndex + 1, bytes.count)
        bytes.removeSubrange(start..<end)
        try take(bytes, changing: key, to: nil, orElse: byHand)
    }

    /// Writes or removes (nil) one entry of a table within this one, such as `slots = { ihealth-hs5 = 0 }`; adds that table if it is missing.
    ///
    /// - Throws: a refusal with what to do by hand, if the table is written in an unusual way.
    public mutating func set(_ key: String, of name: String, to value: SettingValue?) throws(Refusal) {
        var inner = try SettingEditor(text, of: table + [name])
        let byHand = Refusal(
            description: "\(header) is written in a way that this cannot change; write \(name) there by hand")
        guard inner.value(key) != value else { return }
        if let value, inner.hasTable {
            try inner.set(key, to: value)
            text = inner.text
        } else if let value {
            var lines = SettingsLines(Array(text.utf8))
            guard let entry, entry.range == nil, lines.isHeader(entry.position.line), field(name) == nil else {
                throw byHand
            }
            let line = lastOwnLine(entry.position.line, lines.bytes, TOMLDocument.mark(of: text))
            lines.insert("\(tomlKey(name)) = { \(tomlKey(key)) = \(value.toml) }", after: line)
            try takeInner(String(decoding: lines.bytes, as: UTF8.self), key, of: name, to: value, orElse: byHand)
        } else if let range = inner.entry?.range {
            let rest = inner.settings.filter { $0.key != key }
            guard rest.count == inner.fields.count - 1 else { throw byHand }
            guard !rest.isEmpty else { return try remove(name) }
            var bytes = Array(text.utf8)
            let mark = TOMLDocument.mark(of: text)
            let entries = rest.map { "\(tomlKey($0.key)) = \($0.value.toml)" }.joined(separator: ", ")
            bytes.replaceSubrange(range.lowerBound + mark..<range.upperBound + mark, with: "{ \(entries) }".utf8)
            try takeInner(String(decoding: bytes, as: UTF8.self), key, of: name, to: nil, orElse: byHand)
        } else {
            try inner.remove(key)
            text = inner.text
        }
    }

    private mutating func takeInner(
        _ changed: String, _ key: String, of name: String, to value: SettingValue?, orElse refusal: Refusal
    ) throws(Refusal) {
        let place = table + [name]
        guard let after = try? SettingEditor(changed, of: place), after.value(key) == value,
            Self.rest(of: TOMLDocument(changed).fields, without: place)
                == Self.rest(of: TOMLDocument(text).fields, without: place)
        else { throw refusal }
        text = changed
    }

    /// Inserts this table, which must not exist yet, after the last of its kind or at the end of the file.
    ///
    /// - Parameter block: lines that end in `\n`, including the header; they get the line ends of the file.
    public mutating func insert(_ block: String) throws(Refusal) {
        guard entry == nil else { throw Refusal(description: "there is a \(header) already") }
        let bytes = Array(text.utf8)
        let siblings = try SettingEditor(text, of: Array(table.dropLast()))
        let places = siblings.fields.map(\.entry).filter { $0.range == nil }
        let changed: String
        var lines = SettingsLines(bytes)
        if let last = places.flatMap({ Self.lines(of: $0, bytes, TOMLDocument.mark(of: text)) }).max() {
            var line = last
            while !lines.isEmpty(line + 1), line < lines.count, !lines.isHeader(line + 1) { line += 1 }
            for piece in ([""] + block.split(separator: "\n").map(String.init)).reversed() {
                lines.insert(piece, after: line)
            }
            changed = String(decoding: lines.bytes, as: UTF8.self)
        } else {
            changed = SectionEditor.appended(block, to: text)
        }
        let refusal = Refusal(description: "\(header) cannot be written: what stands in it is not TOML")
        guard let after = try? SettingEditor(changed, of: table), after.hasTable,
            Self.rest(of: TOMLDocument(changed).fields, without: table)
                == Self.rest(
                    of: TOMLDocument(text).fields, without: table)
        else { throw refusal }
        self = after
    }

    // MARK: - Places

    /// The byte range of a value; nil if there are comments between the elements of a list.
    private static func place(of entry: Entry, _ bytes: [UInt8], _ mark: Int) -> Range<Int>? {
        guard let range = entry.range.map({ $0.lowerBound + mark..<$0.upperBound + mark }) else { return nil }
        guard case .array = entry.node else { return range }
        return bytes[range].contains(0x0A) && bytes[range].contains(UInt8(ascii: "#")) ? nil : range
    }

    /// A line `# KEY = VALUE` in the table and the comment after its value; nil if no such line is a setting.
    private func sample(
        of key: String, below header: Int, _ lines: SettingsLines, _ mark: Int
    ) -> (line: Int, comment: String?)? {
        let places = LineTable(lines.bytes)
        let within = fields.compactMap { field in
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

    private func lastOwnLine(_ header: Int, _ bytes: [UInt8], _ mark: Int) -> Int {
        let table = LineTable(bytes)
        return fields.compactMap { field in
            field.entry.range.map { table.position(of: $0.upperBound - 1 + mark).line }
        }.filter { $0 > header }.max() ?? header
    }

    /// The lines of a table and of everything in it.
    private static func lines(of entry: Entry, _ bytes: [UInt8], _ mark: Int) -> [Int] {
        let end = entry.range.map { LineTable(bytes).position(of: $0.upperBound - 1 + mark).line }
        guard end == nil, case .table(let fields) = entry.node else { return [end ?? entry.position.line] }
        return [entry.position.line] + fields.flatMap { lines(of: $0.entry, bytes, mark) }
    }

    // MARK: - Check of the result

    private mutating func take(
        _ bytes: [UInt8], changing key: String, to value: SettingValue?, orElse refusal: Refusal
    ) throws(Refusal) {
        let changed = String(decoding: bytes, as: UTF8.self)
        let place = table + [key]
        guard let after = try? SettingEditor(changed, of: table), after.value(key) == value, after.hasTable,
            after.has(key) == (value != nil),
            Self.rest(of: TOMLDocument(changed).fields, without: place)
                == Self.rest(of: TOMLDocument(text).fields, without: place)
        else { throw refusal }
        self = after
    }

    /// All values except that of one place, each with its path.
    private static func rest(of fields: [Field], without place: [String], below path: [String] = []) -> [String] {
        fields.flatMap { field -> [String] in
            let path = path + [field.name]
            guard path != place else { return [] }
            guard case .table(let fields) = field.entry.node, field.entry.range == nil || place.starts(with: path)
            else { return ["\(path): \(field.entry.source)"] }
            return rest(of: fields, without: place, below: path)
        }
    }
}

extension SettingValue {
    /// A value as it is written; nil for tables and for values that contain tables.
    init?(_ node: Node) {
        switch node {
        case .string(let text), .date(let text), .dateTime(let text): self = .string(text)
        // A time of day is whole minutes (``SettingType/timeOfDay``).
        case .time(let text):
            self = .string(text.hasSuffix(":00") && text.utf8.count == 8 ? String(text.dropLast(3)) : text)
        case .integer(let number): self = .integer(number)
        case .number(let number): self = .number(number)
        case .boolean(let truth): self = .boolean(truth)
        case .array(let entries):
            let values = entries.compactMap { SettingValue($0.node) }
            guard values.count == entries.count else { return nil }
            self = .list(values)
        case .table: return nil
        }
    }

    /// Whether the text, or one in the list, contains a reference in the sense of `hub.conf`.
    public var hasReference: Bool {
        switch self {
        case .string(let text): text.utf8.firstRange(of: Array("${".utf8)) != nil
        case .secret(let secret): SettingValue.string(secret.reveal()).hasReference
        case .list(let values): values.contains(where: \.hasReference)
        case .integer, .number, .boolean: false
        }
    }

    /// The value as TOML; a secret as `"<secret>"`.
    public var toml: String {
        switch self {
        case .string(let text): tomlQuoted(text)
        case .integer(let number): String(number)
        case .number(let number): String(number)
        case .boolean(let truth): String(truth)
        case .list(let values): "[" + values.map(\.toml).joined(separator: ", ") + "]"
        case .secret: tomlQuoted(Secret.placeholder)
        }
    }
}
