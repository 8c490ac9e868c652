import HubSessions
import HubSettings
import HubWire
import Samples

/// What `hub.conf` says of an instance, as its sessions feel it.
///
/// A program that `hub.conf` does not name gets the owner's.
struct InstancePolicy: Sendable, Hashable {
    var grants: Grants
    /// Names of the persons it may write for; `nil` means all.
    var persons: [String]?
    /// Whether the bytes its records were made from are kept.
    var keepsRaw: Bool
    /// How many times the usual it may leave behind of what is limited.
    var limitFactor: Int64 = 1
    /// The plugin's own settings as WELCOME carries them, secrets in plain text.
    var settings: RawJSON
    /// Those of the settings that must not be seen.
    var secrets: [String] = []
    /// The plugin kind that the instance's program says it is; `nil` where any may come.
    var plugin: String?
    /// What its manifest says it can be asked to do; `nil` where no manifest is known.
    var commands: [CommandDeclaration]?
    /// Whether it is told of its persons' bodies what `hub.conf` says.
    var seesProfiles = false

    /// Set where the instance runs on another machine.
    var remote: Remote?

    struct Remote: Hashable, Sendable {
        /// Where it may listen; `nil`: nowhere.
        let feedPort: Int?
    }

    /// Who may open the owner's socket owns the data.
    static func owner(keepsRaw: Bool) -> InstancePolicy {
        InstancePolicy(grants: Grants(), persons: nil, keepsRaw: keepsRaw, settings: .emptyObject)
    }

    init(grants: Grants, persons: [String]?, keepsRaw: Bool, settings: RawJSON) {
        (self.grants, self.persons, self.keepsRaw, self.settings) = (grants, persons, keepsRaw, settings)
    }

    /// The policy of a configured instance.
    ///
    /// What its manifest asks for `hub.conf` may narrow. Without a manifest an instance on another machine gets what `hub.conf` grants it
    /// and no more.
    init(_ instance: PluginInstance, _ manifest: Manifest?) {
        let asked = instance.isRemote ? [] : ["*"]
        let reads = manifest?.reads ?? instance.grants.read ?? asked
        let writes = manifest?.writes ?? instance.grants.write ?? asked
        (plugin, commands) = (manifest?.name ?? (instance.isRemote ? instance.kind : nil), manifest?.commands)
        seesProfiles = manifest?.profiles ?? false
        remote = instance.isRemote ? Remote(feedPort: instance.feedPort) : nil
        if case .only(let names) = instance.persons { persons = names } else { persons = nil }
        let scope = persons ?? ["*"]
        grants = Grants(
            read: Grants.Scope(types: Self.narrowed(reads, to: instance.grants.read), persons: scope),
            write: Grants.Scope(types: Self.narrowed(writes, to: instance.grants.write), persons: scope))
        (keepsRaw, limitFactor) = (instance.keepRaw, Int64(instance.limitFactor))
        settings = Self.json(instance.settings)
        secrets = instance.secrets
    }

    private static func narrowed(_ asked: [String], to granted: [String]?) -> [String] {
        let asked = resolved(asked)
        guard let granted = granted.map(resolved) else { return asked }
        return asked.filter { name in granted.contains { TypePattern($0).covers(name) } }
            + granted.filter { name in !asked.contains(name) && asked.contains { TypePattern($0).covers(name) } }
    }

    /// The policy of a session that declares these types: of a pattern there remain those that it covers (R4.28).
    func declaring(_ types: [TypeDeclaration]) -> InstancePolicy {
        let patterns = grants.write.types.map(TypePattern.init).filter(\.isOfVendor)
        guard !patterns.isEmpty else { return self }
        var policy = self
        let plain = grants.write.types.filter { !TypePattern($0).isOfVendor }
        policy.grants.write.types =
            plain + types.map(\.id).filter { id in !plain.contains(id) && patterns.contains { $0.covers(id) } }
        return policy
    }

    /// Each type by the id that records have: `bodyMass` is `weight`.
    private static func resolved(_ types: [String]) -> [String] {
        var known: Set<String> = []
        return types.map { TypeRegistry.standard.resolve($0)?.id.rawValue ?? $0 }.filter { known.insert($0).inserted }
    }

    private static func json(_ settings: [String: SettingValue]) -> RawJSON {
        RawJSON(encoding: settings.mapValues { $0.revealed() })
    }
}

extension PluginInstance {
    /// What must not be seen of its settings.
    var secrets: [String] { Self.secrets(settings.values) }

    private static func secrets(_ values: some Sequence<SettingValue>) -> [String] {
        values.flatMap { value -> [String] in
            switch value {
            case .secret(let text): [text.reveal()]
            case .list(let values): secrets(values)
            default: []
            }
        }
    }
}
