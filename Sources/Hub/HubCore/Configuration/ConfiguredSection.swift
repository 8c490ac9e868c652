import HubSettings
import HubWire

/// The section of `hub.conf` that the command `configure` writes.
enum ConfiguredSection: Sendable, Hashable {
    case plugin(String), person(String), hub

    /// - Throws: `command` unless exactly one of them is named.
    init(plugin: String?, person: String?, isHub: Bool) throws(CommandFailure) {
        switch (plugin, person, isHub) {
        case (let name?, nil, false): self = .plugin(name)
        case (nil, let name?, false): self = .person(name)
        case (nil, nil, true): self = .hub
        default: throw CommandFailure(problems: ["name one of instance, person and hub"])
        }
    }

    var table: [String] {
        switch self {
        case .plugin(let name): ["plugin", name]
        case .person(let name): ["person", name]
        case .hub: ["hub"]
        }
    }

    var plugin: String? { if case .plugin(let name) = self { name } else { nil } }
    var person: String? { if case .person(let name) = self { name } else { nil } }

    /// The settings that can be written; `nil` for a plugin, whose manifest declares them.
    var declarations: [SettingDeclaration]? {
        switch self {
        case .plugin: nil
        case .person: HouseholdSettings.configuredOfPersons
        case .hub: [HouseholdSettings.zone]
        }
    }

    /// The command for the owner to change the section.
    var command: String {
        switch self {
        case .plugin(let name): "hub configure \(name)"
        case .person(let name): "hub configure --person \(name)"
        case .hub: "hub configure --hub"
        }
    }

    func isThere(in text: String) -> Bool { (try? SettingEditor(text, of: table))?.hasTable ?? false }

    /// Adds the section if there is none; never adds one of a plugin.
    ///
    /// - Throws: `command` for a name that no person can have; errors of the editor.
    func added(to text: String) throws -> String {
        guard plugin == nil, !isThere(in: text) else { return text }
        var editor = try SettingEditor(text, of: table)
        if let person {
            let others = try SettingEditor(text, of: ["person"]).names
            if let fault = HubConfiguration.fault(ofPerson: person, besides: others) {
                throw CommandFailure(problems: ["person: \(fault)"])
            }
        }
        try editor.insert(SettingEditor.header(table) + "\n")
        return editor.text
    }

    /// The values of the settings that can be written; `nil` for a plugin, because the answer to `plugins` has them.
    func settings(in text: String) -> [String: SettingValue]? {
        guard let declarations, let editor = try? SettingEditor(text, of: table) else { return nil }
        let written = declarations.compactMap { one in editor.value(one.name).map { (one.name, $0) } }
        return Dictionary(uniqueKeysWithValues: written)
    }
}
