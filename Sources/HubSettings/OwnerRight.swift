/// What only the owner may ask of the hub and have it do, unless `hub.conf` grants it to a plugin whose manifest asks for it: a word for each
/// (Protocol §12.3).
public enum OwnerRight: String, Sendable, Hashable, Codable, CaseIterable {
    /// How the hub, its plugins, sinks, devices and sessions are.
    case status
    /// What `hub.conf` and the manifests say of the plugins.
    case plugins
    /// The persons, and what is known of them.
    case persons
    /// What each instance gave, and what became of it.
    case accounts
    /// The story of a record.
    case trace
    /// The last lines of a plugin's log.
    case logs

    /// To command plugins whatever their manifests declare.
    case commands
    /// To command the hub: a word for each of its own commands.
    case apply, assign, configure, edit, erase, forgetSink = "forget-sink", log, logout, release
    case reloadKeys = "reload-keys", replay, restart, retention, retract, stop

    /// Those that let it command something.
    public static let ofCommands = Set(allCases).subtracting([.status, .plugins, .persons, .accounts, .trace, .logs])

    /// In `hub.conf`: all that the manifest asks for.
    public static let all = "*"

    /// The words of a manifest that `hub.conf` grants, each once, in the manifest's order; a word that there is not is never granted.
    ///
    /// - Parameter written: `owner` of `grants`; `nil` where it is not written, which grants nothing.
    public static func granted(of asked: [String], by written: [String]?) -> [String] {
        guard let written else { return [] }
        var known: Set<String> = []
        return asked.filter { word in
            OwnerRight(rawValue: word) != nil && (written.contains(all) || written.contains(word))
                && known.insert(word).inserted
        }
    }

    /// The line of `hub.conf` that grants these, for a sentence that says what to do.
    public static func line(_ words: [String], of instance: String) -> String {
        "grants = { owner = [\(words.map(quoted).joined(separator: ", "))] } in [plugin.\(bareOrQuoted(instance))] of hub.conf"
    }
}
