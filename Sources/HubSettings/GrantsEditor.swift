/// Changes the lists in `grants` of a plugin within the text of a `hub.conf`, and leaves every other byte as it is.
public struct GrantsEditor {
    /// What cannot be written without losing something, and what to write by hand.
    public struct Refusal: Error, Hashable, CustomStringConvertible {
        public let description: String
    }

    public private(set) var text: String
    private let instance: String

    /// - Throws: where the text is not TOML, or has no section of this plugin.
    public init(_ text: String, of instance: String) throws(Refusal) {
        (self.text, self.instance) = (text, instance)
        if let fault = TOMLDocument(text).faults.first {
            throw Refusal(description: "line \(fault.position.line): \(fault.message)")
        }
        guard section != nil else {
            throw Refusal(description: "there is no [plugin.\(bareOrQuoted(instance))]")
        }
    }

    /// A list as it is written; `nil` where it is not.
    /// - Parameter key: `read`, `write` or `owner`.
    public func list(_ key: String) -> [String]? {
        guard case .array(let entries)? = entry(key)?.node else { return nil }
        return entries.compactMap { if case .string(let name) = $0.node { name } else { nil } }
    }

    /// Writes a list.
    /// - Throws: with the line to write by hand where comments stand in the list, or the section is written in an unusual way.
    public mutating func set(_ key: String, to types: [String]) throws(Refusal) {
        let value = "[" + types.map(quoted).joined(separator: ", ") + "]"
        let byHand = Refusal(
            description:
                "grants of [plugin.\(bareOrQuoted(instance))] are written in a way that this cannot change without losing something; write \(key) = \(value) there by hand, then hub apply"
        )
        var bytes = Array(text.utf8)
        let mark = TOMLDocument.mark(of: text)
        if let entry = entry(key) {
            guard let range = entry.range.map({ $0.lowerBound + mark..<$0.upperBound + mark }) else { throw byHand }
            guard !bytes[range].contains(0x0A) || !bytes[range].contains(UInt8(ascii: "#")) else { throw byHand }
            bytes.replaceSubrange(range, with: value.utf8)
        } else if let grants, let range = grants.range {
            var end = range.upperBound - 1 + mark
            while end > 0, bytes[end - 1] == 0x20 || bytes[end - 1] == 0x09 { end -= 1 }
            let isEmpty = bytes[end - 1] == UInt8(ascii: "{")
            bytes.insert(contentsOf: "\(isEmpty ? " " : ", ")\(key) = \(value)".utf8, at: end)
        } else if let grants {
            // A table of its own, or dotted keys.
            var lines = SettingsLines(bytes)
            let isHeader = lines.isHeader(grants.position.line)
            let written = isHeader ? "\(key) = \(value)" : "grants.\(key) = \(value)"
            lines.insert(written, after: isHeader ? grants.position.line : grants.position.line - 1)
            bytes = lines.bytes
        } else {
            var lines = SettingsLines(bytes)
            guard let section, lines.isHeader(section.position.line) else { throw byHand }
            lines.insert("grants = { \(key) = \(value) }", after: section.position.line)
            bytes = lines.bytes
        }
        var changed = self
        changed.text = String(decoding: bytes, as: UTF8.self)
        guard TOMLDocument(changed.text).faults.isEmpty, changed.list(key) == types else { throw byHand }
        self = changed
    }

    // MARK: - Places

    private static func field(_ name: String, of entry: Entry?) -> Entry? {
        guard case .table(let fields)? = entry?.node else { return nil }
        return fields.first { $0.name == name }?.entry
    }

    private var section: Entry? {
        Self.field(instance, of: TOMLDocument(text).fields.first { $0.name == "plugin" }?.entry)
    }

    private var grants: Entry? { Self.field("grants", of: section) }

    private func entry(_ key: String) -> Entry? { Self.field(key, of: grants) }
}
