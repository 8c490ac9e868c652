import FoundationEssentials
import Glibc

/// The environment of a plugin's program: of the hub's variables, only those for search paths, time zone and language.
///
/// Other variables of the hub may be secrets of another plugin (`${NAME}` in `hub.conf`).
enum PluginEnvironment {
    private static let names: Set<String> = [
        "PATH", "LANG", "LANGUAGE", "TZ", "TZDIR", "SSL_CERT_FILE", "SSL_CERT_DIR",
    ]

    /// - Parameters:
    ///   - temporary: its own folder for temporary files; `nil` if it may not write any.
    ///   - more: the variables that the hub adds.
    static func of(
        _ hub: [String: String] = ProcessInfo.processInfo.environment, temporary: String?,
        _ more: [String: String] = [:]
    ) -> [String: String] {
        var variables = hub.filter { names.contains($0.key) || $0.key.hasPrefix("LC_") }
        // A script can run `hub bridge plugin`, wherever the hub is installed.
        let folders = variables["PATH", default: "/usr/bin:/bin"]
        if !folders.split(separator: ":").contains(OwnProgram.folder[...]) {
            variables["PATH"] = folders + ":" + OwnProgram.folder
        }
        // Many programs write below HOME by default, so it is the plugin's own folder.
        variables["HOME"] = more["HUB_STATE"] ?? "/"
        variables["TMPDIR"] = temporary
        return variables.merging(more) { $1 }
    }
}

/// The hub's own program, which every plugin may start (R13.15): a script uses it to run `hub bridge plugin`.
enum OwnProgram {
    private static let process = ConfinementRules.resolved("/proc/self/exe")
    static let folder = String(process[..<(process.lastIndex(of: "/") ?? process.startIndex)])
    /// The program beside one that starts plugins like the hub, such as hub-plugin; otherwise the process itself.
    static let path = access(folder + "/hub", X_OK) == 0 ? folder + "/hub" : process
}
