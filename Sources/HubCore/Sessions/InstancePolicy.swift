import HubSessions
import HubSettings
import HubStore
import HubWire

/// What `hub.conf` says of an instance, as its sessions feel it.
///
/// A program that `hub.conf` does not name gets the owner's.
struct InstancePolicy: Sendable, Hashable {
    /// As WELCOME says them: of reading what the instance asks for, not what of it is granted (R8.120).
    var grants: Grants
    /// The types that it may read whatever source they are of.
    let reads: TypeSelection
    /// How far back; `nil`: all there is.
    let history: HistoryLimit?
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
        (reads, history) = (TypeSelection(names: grants.read.types, except: []), nil)
    }

    /// The policy of a configured instance.
    ///
    /// What its manifest asks for `hub.conf` may narrow.
    init(_ instance: PluginInstance, _ manifest: Manifest?) {
        let asked = AskedTypes(instance, manifest)
        (plugin, commands) = (manifest?.name ?? (instance.isRemote ? instance.kind : nil), manifest?.commands)
        seesProfiles = manifest?.profiles ?? false
        remote = instance.isRemote ? Remote(feedPort: instance.feedPort) : nil
        if case .only(let names) = instance.persons { persons = names } else { persons = nil }
        let scope = persons ?? ["*"]
        grants = Grants(
            read: Grants.Scope(types: TypePermissions(nil).granted(of: asked.reads), persons: scope),
            write: Grants.Scope(
                types: asked.write.granted(of: asked.writes), denied: asked.write.denied(of: asked.writes),
                persons: scope),
            owner: asked.owner)
        reads = TypeSelection(
            names: asked.read.granted(of: asked.reads), except: asked.read.denied(of: asked.reads))
        history = instance.grants.history
        (keepsRaw, limitFactor) = (instance.keepRaw, Int64(instance.limitFactor))
        settings = Self.json(instance.settings)
        secrets = instance.secrets
    }

    /// The policy of a session that declares these types: of a pattern there remain those that it covers (R4.28).
    func declaring(_ types: [TypeDeclaration]) -> InstancePolicy {
        let patterns = grants.write.types.map(TypePattern.init).filter(\.isOfVendor)
        guard !patterns.isEmpty else { return self }
        var policy = self
        let plain = grants.write.types.filter { !TypePattern($0).isOfVendor }
        policy.grants.write.types =
            plain
            + types.map(\.id).filter { id in
                !plain.contains(id) && !policy.grants.write.denied.contains(id) && patterns.contains { $0.covers(id) }
            }
        return policy
    }

    private static func json(_ settings: [String: SettingValue]) -> RawJSON {
        RawJSON(encoding: settings.mapValues { $0.revealed() })
    }
}

/// What an instance asks to read and to write, and what `hub.conf` says of it.
///
/// Where the hub cannot ask a program on this machine, it gets all; of one on another machine `hub.conf` says what it may.
struct AskedTypes {
    let reads, writes: [String]
    let read, write: TypePermissions
    /// What of the owner's it may: nothing where its program is elsewhere, or cannot be asked.
    let owner: [String]

    init(_ instance: PluginInstance, _ manifest: Manifest?) {
        (reads, writes) = (manifest?.reads ?? [TypePermissions.all], manifest?.writes ?? [TypePermissions.all])
        let unsaid: [String]? = manifest == nil && instance.isRemote ? [] : nil
        read = TypePermissions(instance.grants.read ?? unsaid)
        write = TypePermissions(instance.grants.write ?? unsaid)
        owner = instance.isRemote ? [] : OwnerRight.granted(of: manifest?.owner ?? [], by: instance.grants.owner)
    }

    var permissions: [Permission] { Permission.all(reads: reads, read, writes: writes, write) }
}

extension PluginInstance {
    /// What must not be seen of its settings.
    var secrets: [String] { Self.secrets(settings.values) }

    /// A text of its program's, with `<secret>` in the place of each of them.
    func withoutSecrets(_ text: String) -> String {
        secrets.reduce(text) { $0.replacing($1, with: Secret.placeholder) }
    }

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
