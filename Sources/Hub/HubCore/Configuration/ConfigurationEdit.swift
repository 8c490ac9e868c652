import FoundationEssentials
import HubSettings
import HubWire

/// A change of one section: for an instance, settings that its manifest declares, and `enabled`.
struct ConfigurationEdit: Sendable {
    let section: ConfiguredSection
    let enabled: Bool?
    private let written: [(name: String, value: SettingValue)]
    private let removed: [String]
    /// The plugin that asks; `nil` for the owner.
    let asker: String?

    /// Maximum number of settings in one command.
    private static let most = 200

    /// - Parameters:
    ///   - set: each is `NAME=VALUE`, VALUE in JSON.
    ///   - unset: the names of the settings.
    /// - Throws: `command`, with all problems; it does not repeat given values, because they may be secrets.
    init(_ section: ConfiguredSection, enabled: Bool?, set: [String], unset: [String], asker: String?)
        throws(OwnCommandFailure)
    {
        (self.section, self.enabled, removed, self.asker) = (section, enabled, unset, asker)
        var (read, problems): ([(name: String, value: SettingValue)], [String]) = ([], [])
        for text in set {
            guard let split = text.utf8.firstIndex(of: UInt8(ascii: "=")), split != text.startIndex else {
                problems.append("set: expected NAME=VALUE, VALUE in JSON, such as poll_every=\"5min\"")
                continue
            }
            let name = String(text[..<split])
            guard let value = Self.value(text[text.utf8.index(after: split)...]) else {
                problems.append(
                    "set: \(name.prefix(64)): expected text in quotation marks, a number, true, false or a list of these, in JSON"
                )
                continue
            }
            read.append((name, value))
        }
        written = read
        let names = read.map(\.name) + unset
        for name in Set(names).sorted() where names.count(where: { $0 == name }) > 1 {
            problems.append("\(name.prefix(64)): it is named twice")
        }
        if names.count > Self.most { problems.append("set, unset: at most \(Self.most) settings at a time") }
        if section.plugin == nil, enabled != nil { problems.append("enabled: only an instance has it") }
        if section.plugin != nil, names.isEmpty, enabled == nil {
            problems.append("name what to change: enabled, set or unset")
        }
        guard problems.isEmpty else { throw OwnCommandFailure(problems: Array(problems.prefix(20))) }
    }

    private static func value(_ text: Substring) -> SettingValue? {
        let values = try? JSONDecoder().decode([SettingValue].self, from: Data("[\(text)]".utf8))
        return values?.count == 1 ? values?.first : nil
    }

    private var names: [String] { written.map(\.name) + removed }

    /// Refuses changes that are not allowed with any content of the file.
    ///
    /// - Parameters:
    ///   - declarations: the settings of the section, or of its program's manifest; `nil` if they are not known.
    ///   - isConfined: whether its program is confined.
    /// - Throws: `command` for a setting that the section does not have; `forbidden` for a setting that a plugin may not change.
    func judge(_ declarations: [SettingDeclaration]?, isConfined: Bool) throws(OwnCommandFailure) {
        if let asker, let instance = section.plugin {
            guard asker != instance else {
                throw OwnCommandFailure(
                    "forbidden", "\(asker) cannot change its own section; use hub configure \(asker), or edit hub.conf")
            }
            guard isConfined else {
                throw OwnCommandFailure(
                    "forbidden",
                    "[plugin.\(instance)] has confine = false: its program has all rights of the hub's user, so only the owner may change its settings (hub configure)"
                )
            }
        }
        guard !names.isEmpty else { return }
        guard let declarations else {
            throw OwnCommandFailure(
                "absent",
                "the settings of \(section.plugin ?? "it") are not known, because its program does not report them; hub status says why"
            )
        }
        let known = declarations.map(\.name)
        var problems: [String] = []
        guard let instance = section.plugin else {
            // A slot decides which person records are assigned to, so only the owner may set it.
            let slots = section.person != nil && asker == nil
            let others = names.filter { !known.contains($0) && !(slots && HubConfiguration.configuredSlot($0) != nil) }
                .map { name in
                    "\(name.prefix(64)): of \(ConfigurationEditor.header(section.table)) only \(known.joined(separator: ", ")) can be set; the owner writes others into hub.conf"
                }
            guard others.isEmpty else { throw OwnCommandFailure(problems: Array(others.prefix(20))) }
            return
        }
        for name in names where !known.contains(name) || SettingDeclaration.reservedNames.contains(name) {
            let isHubs = SettingDeclaration.reservedNames.contains(name)
            let hint = nearestName(to: name, among: known).map { "did you mean \($0)?" }
            problems.append(
                isHubs
                    ? "\(name): is not a setting of the program; the owner changes it "
                        + (name == "enabled" ? "with hub configure \(instance) --enable or --disable" : "in hub.conf")
                    : "\(name.prefix(64)): \(instance) has no such setting; \(hint ?? (known.isEmpty ? "it has none" : "it has \(known.sorted().joined(separator: ", "))"))"
            )
        }
        guard problems.isEmpty else { throw OwnCommandFailure(problems: Array(problems.prefix(20))) }
    }

    /// Writes the change into the text of `hub.conf`.
    ///
    /// - Throws: `command` if there is no such instance, or no person can have the name; `file` if the change must be made by hand; `forbidden` if
    ///   a plugin may not make it.
    func apply(
        to text: String, _ declarations: [SettingDeclaration], known instances: [String]
    ) throws(OwnCommandFailure) -> (text: String, changes: [ConfigureReport.Change]) {
        do {
            var editor = try ConfigurationEditor(text)
            let table = section.table
            if let person = section.person, !editor.has(table),
                let name = names.first(where: { HubConfiguration.configuredSlot($0) != nil })
            {
                throw OwnCommandFailure(problems: ["\(name): hub.conf has no person \(person.prefix(64))"])
            }
            if section != .hub || !written.isEmpty { try section.add(to: &editor) }
            var changes: [ConfigureReport.Change] = []
            if let instance = section.plugin, !editor.has(table) {
                let hint = nearestName(to: instance, among: instances).map { "; did you mean \($0)?" }
                throw OwnCommandFailure(
                    "command",
                    "COMMAND.args: instance: hub.conf has no [plugin.\(instance.prefix(64))]\(hint ?? "; hub plugins lists those of hub.conf, hub setup adds one")"
                )
            }
            if let instance = section.plugin, let enabled, editor.isEnabled(instance) != enabled {
                changes.append(.init("enabled", from: .boolean(!enabled), to: .boolean(enabled)))
                try editor.setEnabled(instance, enabled)
            }
            for (name, value) in written.map({ ($0.name, Optional($0.value)) }) + removed.map({ ($0, nil) }) {
                if section.person != nil, let slot = HubConfiguration.configuredSlot(name) {
                    let was = editor.value(slot.instance, in: table + ["slots"])
                    guard was != value else { continue }
                    try editor.set(slot.instance, in: table + ["slots"], to: value, isSecret: false)
                    changes.append(.init(name, from: was, to: value))
                    continue
                }
                guard let declaration = declarations.first(where: { $0.name == name }) else { continue }
                let before = editor.text
                if asker != nil { try mayChange(declaration, from: editor, to: value) }
                let (was, wasThere) = (editor.value(name, in: table), editor.has(name, in: table))
                try editor.set(name, in: table, to: value, isSecret: declaration.isSecret)
                guard editor.text != before else { continue }
                changes.append(
                    declaration.isSecret ? .init(secret: name, wasSet: wasThere) : .init(name, from: was, to: value))
            }
            return (editor.text, changes)
        } catch let failure as OwnCommandFailure {
            throw failure
        } catch let refusal as ConfigurationEditor.EditError {
            throw OwnCommandFailure("file", refusal.text(in: "hub.conf"))
        } catch { throw OwnCommandFailure("file", "hub.conf: \(error)") }
    }

    /// - Throws: `forbidden` for a value that would let a program reach another place, or that refers to a value outside the file.
    private func mayChange(
        _ declaration: SettingDeclaration, from editor: ConfigurationEditor, to value: SettingValue?
    ) throws(OwnCommandFailure) {
        let name = declaration.name
        let refusal = declaration.refusalToProgram(from: editor.value(name, in: section.table), to: value)
        guard let refusal else { return }
        throw OwnCommandFailure(
            "forbidden", "\(name): \(refusal); change it with \(section.command), or in hub.conf")
    }
}
