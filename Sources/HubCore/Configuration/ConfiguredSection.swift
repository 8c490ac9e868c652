import HubSettings
import HubWire

/// The section of `hub.conf` that the command `configure` writes.
enum ConfiguredSection: Sendable, Hashable {
    case plugin(String), person(String), hub

    /// - Throws: `command` unless one of them is named.
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

    /// What can be written there; `nil` for a plugin, whose manifest says so.
    var declarations: [SettingDeclaration]? {
        switch self {
        case .plugin: nil
        case .person: HubConfiguration.configuredOfPersons
        case .hub: HubConfiguration.configuredOfHub
        }
    }

    /// What the owner types to change it.
    var command: String {
        switch self {
        case .plugin(let name): "hub configure \(name)"
        case .person(let name): "hub configure --person \(name)"
        case .hub: "hub configure --hub"
        }
    }

    func isThere(in text: String) -> Bool { (try? SettingEditor(text, of: table))?.hasTable ?? false }

    /// Adds the section where there is none; one of a plugin stays absent.
    ///
    /// - Throws: `command` for a name that no person can have; what the editor refuses.
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

    /// What stands there of what can be written; `nil` for a plugin, of which the answer to `plugins` says it.
    func settings(in text: String) -> [String: SettingValue]? {
        guard let declarations, let editor = try? SettingEditor(text, of: table) else { return nil }
        let written = declarations.compactMap { one in editor.value(one.name).map { (one.name, $0) } }
        return Dictionary(uniqueKeysWithValues: written)
    }
}
