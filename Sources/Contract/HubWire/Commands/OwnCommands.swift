/// The namespace of the hub's commands, and their table; ``OwnerRight`` has a case for each.
package enum OwnCommands {
    package static let all: [any OwnCommand.Type] = [
        Apply.self, Assign.self, Configure.self, Edit.self, Erase.self, ForgetSink.self, Log.self, LogOut.self,
        Release.self, ReloadKeys.self, Replay.self, Restart.self, Retention.self, Retract.self, Setup.self, Stop.self,
    ]
}

/// A right of the owner: to ask something of the hub, or to have it do something (Protocol §12.3).
///
/// Other programs have it only if `hub.conf` grants it to a plugin whose manifest asks for it.
public enum OwnerRight: String, Sendable, Hashable, Codable, CaseIterable {
    /// Read the state of the hub, its plugins, sinks, devices and sessions.
    case status
    /// Read the plugins as described in `hub.conf` and the manifests.
    case plugins
    /// Read the persons and their attributes.
    case persons
    /// Read the numbers of records that each instance gave, by their results.
    case accounts
    /// Read the history of a record.
    case trace
    /// Read the last lines of a plugin's log.
    case logs

    /// Run commands of plugins, whatever their manifests declare.
    case commands
    /// Run a command of the hub: one right for each command of ``OwnCommands``, with the same name.
    case apply, assign, configure, edit, erase, forgetSink = "forget-sink", log, logout, release
    case reloadKeys = "reload-keys", replay, restart, retention, retract, setup, stop

    /// The rights to run commands.
    public static let ofCommands = Set(allCases).subtracting([.status, .plugins, .persons, .accounts, .trace, .logs])

    /// The rights that a manifest may ask for and `hub.conf` may grant.
    ///
    /// ``setup`` belongs to the page of the set-up alone, while there is no `hub.conf`.
    public static let grantable = allCases.filter { $0 != .setup }

    /// In `hub.conf`: all rights that the manifest asks for.
    public static let all = "*"

    /// The rights of a manifest that `hub.conf` grants, each once, in the manifest's order; unknown words are never granted.
    ///
    /// - Parameter written: `owner` of `grants`; `nil` if it is not written, which grants nothing.
    public static func granted(of asked: [String], by written: [String]?) -> [String] {
        guard let written else { return [] }
        var known: Set<String> = []
        return asked.filter { word in
            OwnerRight(rawValue: word).map(grantable.contains) ?? false
                && (written.contains(all) || written.contains(word)) && known.insert(word).inserted
        }
    }

    /// The line of `hub.conf` that grants these rights, for use in a sentence.
    public static func line(_ words: [String], of instance: String) -> String {
        "grants = { owner = [\(words.map(tomlQuoted).joined(separator: ", "))] } in [plugin.\(tomlKey(instance))] of hub.conf"
    }
}
