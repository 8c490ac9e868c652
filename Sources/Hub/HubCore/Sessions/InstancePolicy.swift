import HubSettings
import HubStore
import HubWire

/// The settings of `hub.conf` that govern an instance's sessions.
///
/// A program that `hub.conf` does not name gets the owner's policy.
struct InstancePolicy: Sendable, Hashable {
    /// As in WELCOME: for reading the types that the instance asks for, not those that are granted (R8.120).
    var grants: Grants
    /// The types that it may read from every source.
    let reads: TypeSelection
    /// How far back it may read; `nil` for no limit.
    let history: HistoryLimit?
    /// Names of the persons that it may write for; `nil` means all.
    var persons: [String]?
    /// Whether the hub keeps the bytes from which its records were made.
    var keepsRaw: Bool
    /// The factor by which its limits in the store exceed the usual ones.
    var limitFactor: Int64 = 1
    /// The plugin's own settings as in WELCOME, with secrets in plain text.
    var settings: RawJSON
    /// The settings that must not be shown.
    var secrets: [String] = []
    /// The plugin kind that the instance's program reports; `nil` if any kind may come.
    var plugin: String?
    /// The commands in its manifest; `nil` if no manifest is known.
    var commands: [CommandDeclaration]?
    /// Whether it gets the descriptions of its persons' bodies in `hub.conf`.
    var seesProfiles = false

    /// Set if the instance runs on another machine.
    var remote: Remote?

    struct Remote: Hashable, Sendable {
        /// The port of its feed; `nil` if it has none.
        let feedPort: Int?
    }

    /// The policy of the owner: opening the owner's socket proves ownership of the data.
    static func owner(keepsRaw: Bool) -> InstancePolicy {
        InstancePolicy(grants: Grants(), persons: nil, keepsRaw: keepsRaw, settings: .emptyObject)
    }

    init(grants: Grants, persons: [String]?, keepsRaw: Bool, settings: RawJSON) {
        (self.grants, self.persons, self.keepsRaw, self.settings) = (grants, persons, keepsRaw, settings)
        (reads, history) = (TypeSelection(names: grants.read.types, except: []), nil)
    }

    /// The policy of a configured instance.
    ///
    /// `hub.conf` may narrow the requests of its manifest.
    init(_ instance: PluginInstance, _ manifest: Manifest?) {
        let asked = RequestedTypes(instance, manifest)
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

    /// The policy of a session that declares these types: a pattern is replaced by the declared types that it covers (R4.28).
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

/// The types that an instance asks to read and to write, and their permissions in `hub.conf`.
///
/// If the hub cannot ask a program on this machine, the program gets all types; for one on another machine, `hub.conf` lists them.
struct RequestedTypes {
    let reads, writes: [String]
    let read, write: TypePermissions
    /// The owner's rights that it has: none if its program is elsewhere, or cannot be asked.
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

extension WriteScope {
    /// The records that a session with this grant may write.
    init(_ grant: Grants.Scope) {
        self.init(
            types: grant.types.contains("*") ? nil : Set(grant.types), exceptTypes: Set(grant.denied),
            persons: grant.persons.contains("*") ? nil : Set(grant.persons))
    }
}

extension PluginInstance {
    /// The secrets in its settings.
    var secrets: [String] { Self.secrets(settings.values) }

    /// A text of its program, with each secret replaced by `<secret>`.
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
