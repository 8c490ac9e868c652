/// Changes single settings of a section, and leaves every other byte as it is, comments among them.
extension SectionEditor {
    /// A setting as it is written; `nil` where it is not, or is a table, or holds one.
    public func written(_ key: String) -> SettingValue? { entry(key).flatMap { SettingValue(written: $0.node) } }

    /// Whether a setting is written, whatever it holds.
    public func has(_ key: String) -> Bool { entry(key) != nil }

    /// Whether what is written is, or has in it, a reference to what stands elsewhere: `${NAME}` or `${file:PATH}`.
    public func isReference(_ key: String) -> Bool { written(key)?.hasReference ?? false }

    /// Writes a setting: in place of what is written, else below the line of a comment that shows it (`# key = …`), else below the header.
    ///
    /// A setting that has this value already is left as it is written.
    /// - Throws: with the line to write by hand where comments stand in a list, or the section is written in an unusual way.
    public mutating func set(_ key: String, to value: SettingValue) throws(Refusal) {
        guard let section else { throw Refusal(description: "there is no \(header)") }
        let value = value.revealed()
        guard written(key) != value else { return }
        let byHand = Refusal(
            description: "\(key) cannot be written into \(header) without losing something; do it by hand")
        let line = "\(bareOrQuoted(key)) = \(value.toml)"
        if let entry = entry(key) {
            guard let range = entry.range, !hasComments(entry) else { throw byHand }
            let mark = TOMLDocument.mark(of: text)
            var bytes = Array(text.utf8)
            bytes.replaceSubrange(
                range.lowerBound + mark..<range.upperBound + mark, with: value.toml.utf8)
            guard adopt(bytes, key, value) else { throw byHand }
            return
        }
        let lines = SettingsLines(Array(text.utf8))
        guard lines.isHeader(section.position.line) else { throw byHand }
        for place in places(for: key, below: section.position.line, lines) {
            var changed = lines
            changed.insert(line, after: place)
            if adopt(changed.bytes, key, value) { return }
        }
        throw byHand
    }

    /// Takes a setting out, with its line; a comment behind it stays.
    ///
    /// - Throws: with what to do by hand where more than the setting would go.
    public mutating func unset(_ key: String) throws(Refusal) {
        guard let entry = entry(key) else { return }
        let byHand = Refusal(
            description: "\(key) cannot be taken out of \(header) without losing something; do it by hand")
        guard let range = entry.range, !hasComments(entry) else { throw byHand }
        let mark = TOMLDocument.mark(of: text)
        var bytes = Array(text.utf8)
        let end = range.upperBound + mark
        let blanks: [UInt8] = [0x20, 0x09]
        let start = bytes[..<(range.lowerBound + mark)].lastIndex(of: 0x0A).map { $0 + 1 } ?? mark
        let name = [Array(key.utf8), Array(quoted(key).utf8), Array("'\(key)'".utf8)]
        let before = Array(bytes[start..<(range.lowerBound + mark)].filter { !blanks.contains($0) })
        guard name.contains(where: { before == $0 + [UInt8(ascii: "=")] }) else { throw byHand }
        let rest = bytes[end...].prefix { $0 != 0x0A }
        let comment = rest.drop { blanks.contains($0) }
        if comment.first == UInt8(ascii: "#") {
            bytes.removeSubrange(start..<comment.startIndex)
        } else {
            bytes.removeSubrange(start..<min(rest.endIndex + 1, bytes.count))
        }
        guard adopt(bytes, key, nil) else { throw byHand }
    }

    private func entry(_ key: String) -> Entry? {
        guard case .table(let fields)? = section?.node else { return nil }
        return fields.first { $0.name == key }?.entry
    }

    /// Whether comments stand between the elements of a list.
    private func hasComments(_ entry: Entry) -> Bool {
        guard case .array = entry.node, let range = entry.range else { return false }
        let bytes = Array(text.utf8.dropFirst(TOMLDocument.mark(of: text)))[range]
        return bytes.contains(0x0A) && bytes.contains(UInt8(ascii: "#"))
    }

    /// Lines below which a setting may be written, the best first.
    private func places(for key: String, below header: Int, _ lines: SettingsLines) -> [Int] {
        let next = Self.places(of: TOMLDocument(text).fields).filter { $0 > header && lines.isHeader($0) }.min()
        let shown = (header + 1..<max(header + 1, next ?? lines.count + 1)).first { number in
            let words = lines[number].drop { $0 == UInt8(ascii: "#") || $0 == 0x20 || $0 == 0x09 }
            guard lines[number].first == UInt8(ascii: "#"), words.starts(with: key.utf8) else { return false }
            return words.dropFirst(key.utf8.count).first { $0 != 0x20 } == UInt8(ascii: "=")
        }
        return (shown.map { [$0] } ?? []) + [header]
    }

    /// Takes another text where it says of this setting what is meant, and of all else what it said before.
    private mutating func adopt(_ bytes: [UInt8], _ key: String, _ value: SettingValue?) -> Bool {
        var changed = self
        changed.text = String(decoding: bytes, as: UTF8.self)
        let document = TOMLDocument(changed.text)
        guard document.faults.isEmpty, changed.written(key) == value, changed.has(key) == (value != nil),
            document.meaning(without: key, of: instance) == TOMLDocument(text).meaning(without: key, of: instance)
        else { return false }
        self = changed
        return true
    }
}

extension SettingValue {
    /// A value as it is written; `nil` for a table.
    fileprivate init?(written node: Node) {
        switch node {
        case .string(let text), .date(let text), .dateTime(let text): self = .string(text)
        // A time of day is whole minutes (``SettingType/timeOfDay``).
        case .time(let text):
            self = .string(text.hasSuffix(":00") && text.utf8.count == 8 ? String(text.dropLast(3)) : text)
        case .integer(let number): self = .integer(number)
        case .number(let number): self = .number(number)
        case .boolean(let truth): self = .boolean(truth)
        case .array(let entries):
            let values = entries.compactMap { SettingValue(written: $0.node) }
            guard values.count == entries.count else { return nil }
            self = .list(values)
        case .table: return nil
        }
    }

    /// Whether the text, or one in the list, has what `hub.conf` takes for a reference.
    public var hasReference: Bool {
        switch self {
        case .string(let text): text.utf8.firstRange(of: Array("${".utf8)) != nil
        case .secret(let secret): SettingValue.string(secret.reveal()).hasReference
        case .list(let values): values.contains(where: \.hasReference)
        case .integer, .number, .boolean: false
        }
    }
}

extension TOMLDocument {
    /// All that it says but for one setting of a plugin, as a text that is the same for the same.
    fileprivate func meaning(without key: String, of instance: String) -> String {
        Node.table(fields).meaning(without: ["plugin", instance, key])
    }
}

extension Node {
    fileprivate func meaning(without path: ArraySlice<String>) -> String {
        switch self {
        case .string(let text): quoted(text)
        case .integer(let number): "\(number)"
        case .number(let number): "\(number)f"
        case .boolean(let truth): "\(truth)"
        case .date(let text), .time(let text), .dateTime(let text): "<\(text)>"
        case .array(let entries): "[\(entries.map { $0.node.meaning(without: []) }.joined(separator: ","))]"
        case .table(let fields):
            "{"
                + fields.map { field in
                    guard field.name == path.first else {
                        return "\(quoted(field.name)):\(field.entry.node.meaning(without: []))"
                    }
                    guard path.count > 1 else { return "" }
                    return "\(quoted(field.name)):\(field.entry.node.meaning(without: path.dropFirst()))"
                }.filter { !$0.isEmpty }.joined(separator: ",") + "}"
        }
    }
}
