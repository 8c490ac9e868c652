import HubSettings
import HubWire

/// The section of `hub.conf` that the command `configure` writes.
enum ConfiguredSection: Sendable, Hashable {
    case plugin(String), person(String), hub

    /// - Throws: `command` unless exactly one of them is named.
    init(plugin: String?, person: String?, isHub: Bool) throws(OwnCommandFailure) {
        switch (plugin, person, isHub) {
        case (let name?, nil, false): self = .plugin(name)
        case (nil, let name?, false): self = .person(name)
        case (nil, nil, true): self = .hub
        default: throw OwnCommandFailure(problems: ["name one of instance, person and hub"])
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

    func isThere(in text: String) -> Bool { (try? ConfigurationEditor(text))?.has(table) ?? false }

    /// Adds the section if there is none; never adds one of a plugin.
    ///
    /// - Throws: `command` for a name that no person can have; errors of the editor.
    func add(to editor: inout ConfigurationEditor) throws {
        guard plugin == nil, !editor.has(table) else { return }
        if let person, let fault = HubConfiguration.fault(ofPerson: person, besides: editor.names(in: ["person"])) {
            throw OwnCommandFailure(problems: ["person: \(fault)"])
        }
        try editor.add(table)
    }

    /// The values of the settings that can be written; `nil` for a plugin, because the answer to `plugins` has them.
    func settings(in text: String) -> [String: SettingValue]? {
        guard let declarations, let editor = try? ConfigurationEditor(text) else { return nil }
        let written = declarations.compactMap { one in editor.value(one.name, in: table).map { (one.name, $0) } }
        return Dictionary(uniqueKeysWithValues: written)
    }
}
