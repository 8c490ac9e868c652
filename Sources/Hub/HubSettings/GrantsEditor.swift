import HubWire

/// Changes the lists in `grants` of a plugin within the text of a `hub.conf`, and leaves all other bytes as they are.
public struct GrantsEditor {
    public typealias Refusal = SectionEditor.Refusal

    public private(set) var text: String
    private let section: [String]

    /// - Throws: a refusal if the text is not TOML or has no section of this plugin.
    public init(_ text: String, of instance: String) throws(Refusal) {
        (self.text, section) = (text, ["plugin", instance])
        guard try SettingEditor(text, of: section).hasTable else {
            throw Refusal(description: "there is no \(SettingEditor.header(section))")
        }
    }

    /// A list as it is written; `nil` if it is not written.
    ///
    /// - Parameter key: `read`, `write` or `owner`.
    public func list(_ key: String) -> [String]? {
        (try? SettingEditor(text, of: section + ["grants"]))?.value(key)?.list?.compactMap(\.string)
    }

    /// Writes a list.
    ///
    /// - Throws: a refusal with the line to write by hand, if the list contains comments or the section is written in an unusual way.
    public mutating func set(_ key: String, to types: [String]) throws(Refusal) {
        let value = SettingValue.list(types.map { .string($0) })
        do throws(Refusal) { text = try changed(key, to: value) } catch {
            throw Refusal(
                description:
                    "grants of \(SettingEditor.header(section)) are written in a way that this cannot change without losing something; write \(key) = \(value.toml) there by hand, then hub apply"
            )
        }
    }

    private func changed(_ key: String, to value: SettingValue) throws(Refusal) -> String {
        var (editor, lines) = (try SettingEditor(text, of: section + ["grants"]), SettingsLines(Array(text.utf8)))
        let header = try SettingEditor(text, of: section).entry?.position.line ?? 0
        // Dotted keys and missing tables have no place to add to.
        let hasPlace = editor.entry.map { $0.range != nil || lines.isHeader($0.position.line) } ?? false
        guard !hasPlace, !editor.has(key), lines.isHeader(header) else {
            try editor.set(key, to: value)
            return editor.text
        }
        let setting = "\(key) = \(value.toml)"
        lines.insert(editor.hasTable ? "grants.\(setting)" : "grants = { \(setting) }", after: header)
        let text = String(decoding: lines.bytes, as: UTF8.self)
        guard try SettingEditor(text, of: section + ["grants"]).value(key) == value else {
            throw Refusal(description: "")
        }
        return text
    }
}
