/// Changes the lists in `grants` of a plugin within the text of a `hub.conf`, and leaves every other byte as it is.
public struct GrantsEditor {
    public typealias Refusal = SectionEditor.Refusal

    public private(set) var text: String
    private let section: [String]

    /// - Throws: where the text is not TOML, or has no section of this plugin.
    public init(_ text: String, of instance: String) throws(Refusal) {
        (self.text, section) = (text, ["plugin", instance])
        guard try SettingEditor(text, of: section).hasTable else {
            throw Refusal(description: "there is no \(SettingEditor.header(section))")
        }
    }

    /// A list as it is written; `nil` where it is not.
    /// - Parameter key: `read`, `write` or `owner`.
    public func list(_ key: String) -> [String]? {
        (try? SettingEditor(text, of: section + ["grants"]))?.value(key)?.list?.compactMap(\.string)
    }

    /// Writes a list.
    /// - Throws: with the line to write by hand where comments stand in the list, or the section is written in an unusual way.
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
        // Dotted keys, like what is not there yet, have no place to which something could be added.
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
