import FoundationEssentials

/// The environment of a plugin's program: nothing of the hub's but what says where programs and zones are and which language is spoken.
///
/// What else stands in the hub's environment may be the secret of another plugin (`${NAME}` of `hub.conf`).
enum PluginEnvironment {
    private static let names: Set<String> = [
        "PATH", "LANG", "LANGUAGE", "TZ", "TZDIR", "SSL_CERT_FILE", "SSL_CERT_DIR",
    ]

    /// - Parameters:
    ///   - temporary: its own folder for files that need not last; `nil`: it may write none.
    ///   - more: what the hub says to it.
    static func of(
        _ hub: [String: String] = ProcessInfo.processInfo.environment, temporary: String?,
        _ more: [String: String] = [:]
    ) -> [String: String] {
        var variables = hub.filter { names.contains($0.key) || $0.key.hasPrefix("LC_") }
        // Programs write below HOME without being asked: that is the plugin's own folder.
        variables["HOME"] = more["HUB_STATE"] ?? "/"
        variables["TMPDIR"] = temporary
        return variables.merging(more) { $1 }
    }
}
