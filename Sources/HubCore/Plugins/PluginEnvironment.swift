import FoundationEssentials
import Glibc

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
        // A script becomes `hub bridge plugin`, wherever the hub is installed.
        let folders = variables["PATH", default: "/usr/bin:/bin"]
        if !folders.split(separator: ":").contains(OwnProgram.folder[...]) {
            variables["PATH"] = folders + ":" + OwnProgram.folder
        }
        // Programs write below HOME without being asked: that is the plugin's own folder.
        variables["HOME"] = more["HUB_STATE"] ?? "/"
        variables["TMPDIR"] = temporary
        return variables.merging(more) { $1 }
    }
}

/// The hub's own program, which every plugin may start (R13.15): a script becomes `hub bridge plugin` by it.
enum OwnProgram {
    private static let process = ProgramReach.resolved("/proc/self/exe")
    static let folder = String(process[..<(process.lastIndex(of: "/") ?? process.startIndex)])
    /// Beside a program that starts plugins as the hub does, such as hub-plugin; else the process itself.
    static let path = access(folder + "/hub", X_OK) == 0 ? folder + "/hub" : process
}
