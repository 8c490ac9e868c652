import HubSettings
import HubWire

/// The configuration of the plugins, for `hub plugins` and `hub status`.
enum PluginCatalogue {
    static func json(_ configuration: HubConfiguration, _ checked: CheckedConfiguration) -> RawJSON {
        RawJSON(encoding: configuration.plugins.map { description(of: $0, checked) })
    }

    private static func description(of plugin: PluginInstance, _ checked: CheckedConfiguration) -> PluginEntry {
        let manifest = checked.manifests[plugin.name]
        let asked = RequestedTypes(plugin, manifest)
        var entry = PluginEntry(
            name: plugin.name, kind: manifest?.name ?? plugin.kind, enabled: plugin.enabled, settings: plugin.settings)
        entry.executable = checked.executables[plugin.name]
        (entry.summary, entry.version) = (manifest?.summary, manifest?.version)
        (entry.reads, entry.writes, entry.profiles) = (manifest?.reads, manifest?.writes, manifest?.profiles)
        let grants = plugin.grants
        if grants != PluginInstance.Grants() {
            entry.granted = PluginEntry.Granted(
                read: grants.read, write: grants.write, reach: grants.reach, owner: grants.owner)
        }
        if case .only(let names) = plugin.persons { entry.persons = names }
        entry.grants = PluginEntry.Grants(
            read: PluginEntry.Scope(asked.read, of: asked.reads, entry.persons),
            write: PluginEntry.Scope(asked.write, of: asked.writes, entry.persons),
            owner: asked.owner.isEmpty ? nil : asked.owner)
        (entry.permissions, entry.history) = (asked.permissions, grants.history.map { "\($0)" })
        (entry.declarations, entry.commands) = (manifest?.settings, manifest?.commands)
        entry.reaches = manifest?.reaches.filter { grants.reach?.contains($0) ?? true }
        entry.owner = manifest.flatMap { $0.owner.isEmpty ? nil : $0.owner }
        guard !plugin.isRemote else {
            entry.remote = true
            return entry
        }
        entry.isolation = plugin.confinement.isOn ? checked.isolation : nil
        (entry.tier, entry.fault) = (checked.tiers[plugin.name], checked.faults[plugin.name])
        return entry
    }

    /// The instances that run, those that cannot, and those with wrong settings.
    static func statuses(_ configuration: HubConfiguration, _ checked: CheckedConfiguration) -> [PluginStatus] {
        let known = configuration.plugins.map { plugin in
            var status = PluginStatus(
                name: plugin.name, kind: checked.manifests[plugin.name]?.name ?? plugin.kind, enabled: plugin.enabled,
                executable: checked.executables[plugin.name],
                fault: plugin.startsHere ? checked.faults[plugin.name] : nil)
            if plugin.isRemote { status.remote = true }
            if plugin.startsHere, plugin.run != .always { status.run = plugin.run.rawValue }
            return status
        }
        let refused = checked.loaded.refusedInstances.map { name in
            PluginStatus(
                name: name, kind: checked.manifests[name]?.name ?? name, enabled: true,
                executable: checked.executables[name],
                fault: checked.faults[name] ?? "its settings have errors: hub check lists them")
        }
        return known + refused.filter { refused in !known.contains { $0.name == refused.name } }
    }
}
