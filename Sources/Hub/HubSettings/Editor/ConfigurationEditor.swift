public import HubWire

/// Changes the text of a `hub.conf`; all other bytes stay as they are: comments, order and spelling.
///
/// A change counts only if the new text is TOML and all other values are still there. Otherwise the text stays, and the error says what to
/// write by hand.
public struct ConfigurationEditor {
    /// The reason why a change would lose something, and what to do by hand; it contains no value that may be secret.
    public struct EditError: Error, Hashable, CustomStringConvertible {
        /// The line that it is about; `nil` for the whole file.
        public let line: Int?
        public let reason: String

        /// The refusal as a person sees it: `hub.conf:12: …`.
        public func text(in file: String) -> String { "\(file)\(line.map { ":\($0)" } ?? ""): \(reason)" }

        public var description: String { (line.map { "line \($0): " } ?? "") + reason }
    }

    /// Maximum bytes that the hub reads of the file.
    public static let maximumBytes = 65_536

    public private(set) var text: String
    let fields: [Field]

    /// - Throws: a refusal if the text is not TOML.
    public init(_ text: String) throws(EditError) {
        let document = TOMLDocument(text)
        if let fault = document.faults.first { throw EditError(line: fault.position.line, reason: fault.message) }
        (self.text, fields) = (text, document.fields)
    }

    /// The header line of a table: the names that lead to it, such as `["person", "anna"]`.
    public static func header(_ table: [String]) -> String {
        "[\(table.map(tomlKey).joined(separator: "."))]"
    }

    // MARK: - Reading

    /// Whether the table exists.
    public func has(_ table: [String]) -> Bool { if case .table? = entry(table)?.node { true } else { false } }

    /// Whether a setting is written, with any value.
    public func has(_ key: String, in table: [String]) -> Bool { entry(table + [key]) != nil }

    /// The names of the tables right below a table, in the order of the file; those of the file itself for an empty path.
    public func names(in table: [String]) -> [String] {
        fields(of: table).filter { if case .table = $0.entry.node { true } else { false } }.map(\.name)
    }

    /// The written settings of a table except tables, in the order of the file.
    public func settings(of table: [String]) -> [(key: String, value: SettingValue)] {
        fields(of: table).compactMap { field in SettingValue(field.entry.node).map { (field.name, $0) } }
    }

    /// The written value, with references such as `${NAME}` unresolved; nil if there is none or it is a table.
    public func value(_ key: String, in table: [String]) -> SettingValue? {
        entry(table + [key]).flatMap { SettingValue($0.node) }
    }

    // MARK: - Settings

    /// Writes a setting: replaces its value, else puts it after a comment about it, else after the table's own lines; nil removes it.
    ///
    /// A missing table inside an existing one is written as an inline table, such as `slots = { ihealth-hs5 = 0 }`, and goes with its last
    /// entry. A comment after a removed value stays.
    /// - Parameters:
    ///   - uncomments: whether a line `# KEY = …` becomes the setting and keeps its comment; otherwise the line stays above it.
    ///   - isSecret: whether a refusal must not show the value.
    /// - Throws: a refusal if the value contains comments or the table is written in an unusual way.
    public mutating func set(
        _ key: String, in table: [String], to value: SettingValue?, uncomments: Bool = false, isSecret: Bool = true
    ) throws(EditError) {
        guard let value = value?.revealed() else { return try remove(key, in: table) }
        guard self.value(key, in: table) != value else { return }
        guard has(table) || table.count > 1 && has(Array(table.dropLast())) else { throw missing(table) }
        let setting = "\(tomlKey(key)) = \(value.toml)"
        let refusal = refusal(
            table, key,
            "it cannot be changed here without losing something; write \(isSecret ? key : setting) there by hand, then hub apply"
        )
        var bytes = Array(text.utf8)
        if let written = entry(table + [key]) {
            guard SettingValue(written.node) != nil, let range = range(of: written) else { throw refusal }
            bytes.replaceSubrange(range, with: value.toml.utf8)
        } else if let braces = entry(table)?.range.map(shifted) {
            var end = braces.upperBound - 1
            while end > 0, bytes[end - 1] == 0x20 || bytes[end - 1] == 0x09 { end -= 1 }
            bytes.insert(contentsOf: "\(bytes[end - 1] == UInt8(ascii: "{") ? " " : ", ")\(setting)".utf8, at: end)
        } else {
            var lines = SettingsLines(bytes)
            guard let insertion = insertion(of: key, setting, into: table, lines, uncomments) else { throw refusal }
            if insertion.replaces {
                lines.replace(insertion.line, by: insertion.text)
            } else {
                lines.insert(insertion.text, after: insertion.line)
            }
            bytes = lines.bytes
        }
        try adopt(bytes, changing: table + [key], orElse: refusal) { $0.value(key, in: table) == value }
    }

    private mutating func remove(_ key: String, in table: [String]) throws(EditError) {
        guard let written = entry(table + [key]) else { return }
        let refusal = refusal(table, key, "it cannot be removed here without losing something; remove it by hand")
        guard let range = range(of: written) else { throw refusal }
        var bytes = Array(text.utf8)
        if let braces = entry(table)?.range.map(shifted) {
            let parent = Array(table.dropLast())
            if fields(of: table).count == 1, has(parent), entry(parent)?.range == nil {
                return try remove(table.last ?? "", in: parent)
            }
            guard let cut = cut(range, key, from: table, braces, bytes) else { throw refusal }
            bytes.removeSubrange(cut)
        } else {
            let start = bytes[..<range.lowerBound].lastIndex(of: 0x0A).map { $0 + 1 } ?? mark
            let rest = bytes[range.upperBound...].prefix { $0 != 0x0A }
            let comment = rest.drop { $0 == 0x20 || $0 == 0x09 }
            let end = comment.first == UInt8(ascii: "#") ? comment.startIndex : min(rest.endIndex + 1, bytes.count)
            bytes.removeSubrange(start..<end)
        }
        try adopt(bytes, changing: table + [key], orElse: refusal) { $0.has(table) && !$0.has(key, in: table) }
    }

    // MARK: - Tables

    /// Adds a table, which must not exist yet, after the last of its kind or at the end of the file.
    ///
    /// - Parameters:
    ///   - block: lines that end in `\n`, including the header; they get the line ends of the file.
    ///   - atEnd: whether it goes to the end of the file although there are others of its kind.
    public mutating func add(_ table: [String], _ block: String? = nil, atEnd: Bool = false) throws(EditError) {
        let header = Self.header(table)
        if let present = entry(table) {
            throw EditError(line: present.position.line, reason: "there is a \(header) already")
        }
        let block = block ?? "\(header)\n"
        var lines = SettingsLines(Array(text.utf8))
        let bytes: [UInt8]
        if !atEnd, var line = lastLine(of: Array(table.dropLast())) {
            while !lines.isEmpty(line + 1), line < lines.count, !lines.isHeader(line + 1) { line += 1 }
            for piece in ([""] + block.split(separator: "\n").map(String.init)).reversed() {
                lines.insert(piece, after: line)
            }
            bytes = lines.bytes
        } else {
            bytes = lines.appending(block)
        }
        let refusal = EditError(line: nil, reason: "\(header) cannot be written: what stands in it is not TOML")
        try adopt(bytes, changing: table, orElse: refusal) { $0.has(table) }
    }

    /// Removes a table, the comments right below its settings, and those right above it if an empty line separates them from the
    /// text before.
    ///
    /// - Returns: the removed lines.
    public mutating func remove(_ table: [String]) throws(EditError) -> String {
        guard let entry = entry(table), let name = table.last else { throw missing(table) }
        let refusal = refusal(table, nil, "it is written in a way that cannot be removed here; remove it by hand")
        let lines = SettingsLines(Array(text.utf8))
        let headers = Self.headers(of: fields).filter(lines.isHeader)
        let own = Set(Self.headers(of: [Field(name: name, entry: entry)]).filter(lines.isHeader))
        guard let first = own.min(), let last = own.max(),
            headers.allSatisfy({ own.contains($0) || $0 < first || $0 > last })
        else { throw refusal }
        let next = headers.filter { $0 > last }.min().map { lines.firstComment(above: $0) } ?? lines.count + 1
        var taken = lines.taken(from: lines.firstComment(above: first), to: lines.endOfTable(before: next))
        // The last lines of a text may look like comments.
        if (try? Self(String(decoding: taken.lines, as: UTF8.self))) == nil {
            taken = lines.taken(from: lines.firstComment(above: first), to: next)
        }
        try adopt(taken.rest, changing: table, orElse: refusal) { !$0.has(table) }
        return String(decoding: taken.lines, as: UTF8.self)
    }

    // MARK: - Check of the result

    private mutating func adopt(
        _ bytes: [UInt8], changing place: [String], orElse refusal: EditError, _ isRight: (Self) -> Bool
    ) throws(EditError) {
        guard let after = try? Self(String(decoding: bytes, as: UTF8.self)), isRight(after),
            after.values(except: place) == values(except: place)
        else { throw refusal }
        guard bytes.count <= Self.maximumBytes else {
            throw EditError(
                line: nil, reason: "it would have more than \(Self.maximumBytes) bytes, the most that the hub reads")
        }
        self = after
    }

    func missing(_ table: [String]) -> EditError {
        EditError(line: nil, reason: "there is no \(Self.header(table))")
    }

    private func refusal(_ table: [String], _ key: String?, _ reason: String) -> EditError {
        let written = key.flatMap { entry(table + [$0]) } ?? entry(table) ?? entry(Array(table.dropLast()))
        return EditError(
            line: written?.position.line, reason: "\(Self.header(table))\(key.map { " \($0)" } ?? ""): \(reason)")
    }
}
