import HubSettings
import HubWire

/// The configuration of the plugins, for `hub plugins` and `hub status`.
enum PluginCatalogue {
    private struct Entry: Encodable {
        var name, kind: String
        var enabled: Bool
        var executable: String?
        var summary, version: String?
        var remote: Bool?
        /// The types that its manifest asks for.
        var reads, writes: [String]?
        /// The restrictions in `hub.conf`; absent if there are none.
        var granted: Granted?
        /// The types and persons that it may read and write.
        var grants: Grants
        /// The decision about each type that it asks for.
        var permissions: [Permission]
        /// How far back it may read; absent if that is not limited.
        var history: String?
        var persons: [String]?
        /// Whether it gets the descriptions of its persons' bodies in `hub.conf`.
        var profiles: Bool?
        /// Secrets print as `<secret>`.
        var settings: [String: SettingValue]
        var declarations: [SettingDeclaration]?
        var commands: [CommandDeclaration]?
        /// The places that its program reaches beyond its own files.
        var reaches: [String]?
        /// The owner's rights that its manifest asks for; absent if there are none.
        var owner: [String]?
        /// How its program is confined; absent if the hub does not start it, or `hub.conf` turns confinement off.
        var isolation: Isolation?
        /// The tested reliability of its program.
        var tier: PluginTier?
        var fault: String?

        struct Granted: Encodable {
            var read, write, reach, owner: [String]?
        }
        struct Grants: Encodable {
            var read, write: Scope
            /// The owner's rights that it is granted; absent if there are none.
            var owner: [String]?
            struct Scope: Encodable {
                var types: [String]
                /// Excluded from `types`; absent if nothing is.
                var denied: [String]?
                var persons: [String]

                init(_ permissions: TypePermissions, of asked: [String], _ persons: [String]?) {
                    let denied = permissions.denied(of: asked)
                    (types, self.denied) = (permissions.granted(of: asked), denied.isEmpty ? nil : denied)
                    self.persons = persons ?? ["*"]
                }
            }

            init(_ asked: RequestedTypes, _ persons: [String]?) {
                (read, write) = (
                    Scope(asked.read, of: asked.reads, persons), Scope(asked.write, of: asked.writes, persons)
                )
                owner = asked.owner.isEmpty ? nil : asked.owner
            }
        }
    }

    static func json(_ configuration: HubConfiguration, _ checked: CheckedConfiguration) -> RawJSON {
        RawJSON(
            encoding:
                configuration.plugins.map { plugin in
                    let manifest = checked.manifests[plugin.name]
                    var persons: [String]?
                    if case .only(let names) = plugin.persons { persons = names }
                    let asked = RequestedTypes(plugin, manifest)
                    return Entry(
                        name: plugin.name, kind: manifest?.name ?? plugin.kind, enabled: plugin.enabled,
                        executable: checked.executables[plugin.name], summary: manifest?.summary,
                        version: manifest?.version,
                        remote: plugin.isRemote ? true : nil, reads: manifest?.reads, writes: manifest?.writes,
                        granted: plugin.grants == PluginInstance.Grants()
                            ? nil
                            : Entry.Granted(
                                read: plugin.grants.read, write: plugin.grants.write, reach: plugin.grants.reach,
                                owner: plugin.grants.owner),
                        grants: Entry.Grants(asked, persons), permissions: asked.permissions,
                        history: plugin.grants.history.map { "\($0)" }, persons: persons,
                        profiles: manifest?.profiles, settings: plugin.settings,
                        declarations: manifest?.settings, commands: manifest?.commands,
                        reaches: manifest?.reaches.filter { plugin.grants.reach?.contains($0) ?? true },
                        owner: manifest.flatMap { $0.owner.isEmpty ? nil : $0.owner },
                        isolation: plugin.isRemote || !plugin.confinement.isOn ? nil : checked.isolation,
                        tier: plugin.isRemote ? nil : checked.tiers[plugin.name],
                        fault: plugin.isRemote ? nil : checked.faults[plugin.name])
                })
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
