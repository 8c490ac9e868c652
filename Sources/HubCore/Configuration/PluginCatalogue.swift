import HubSettings
import HubWire

/// What the configuration says of the plugins: for `hub plugins` and `hub status`.
enum PluginCatalogue {
    private struct Entry: Encodable {
        var name, kind: String
        var enabled: Bool
        var executable: String?
        var summary, version: String?
        var reads, writes: [String]?
        var persons: [String]?
        /// Secrets print as `<secret>`.
        var settings: [String: SettingValue]
        var declarations: [SettingDeclaration]?
        var commands: [CommandDeclaration]?
        var fault: String?
    }

    static func json(_ configuration: HubConfiguration, _ checked: CheckedConfiguration) -> RawJSON {
        JSONText().object(
            configuration.plugins.map { plugin in
                let manifest = checked.manifests[plugin.name]
                var persons: [String]?
                if case .only(let names) = plugin.persons { persons = names }
                return Entry(
                    name: plugin.name, kind: plugin.kind, enabled: plugin.enabled,
                    executable: checked.executables[plugin.name], summary: manifest?.summary,
                    version: manifest?.version,
                    reads: manifest?.reads, writes: manifest?.writes, persons: persons, settings: plugin.settings,
                    declarations: manifest?.settings, commands: manifest?.commands, fault: checked.faults[plugin.name])
            })
    }

    /// The instances that run, those that cannot, and those whose settings are wrong.
    static func statuses(_ configuration: HubConfiguration, _ checked: CheckedConfiguration) -> [PluginStatus] {
        let known = configuration.plugins.map { plugin in
            PluginStatus(
                name: plugin.name, kind: plugin.kind, enabled: plugin.enabled,
                executable: checked.executables[plugin.name],
                fault: plugin.enabled ? checked.faults[plugin.name] : nil)
        }
        let refused = checked.loaded.refusedInstances.map { name in
            PluginStatus(
                name: name, kind: name, enabled: true, executable: checked.executables[name],
                fault: checked.faults[name] ?? "its settings have errors: hub check lists them")
        }
        return known + refused.filter { refused in !known.contains { $0.name == refused.name } }
    }
}
