import JSON
import NIOCore
import PluginKit

/// Detects plugins whose state has changed since the last check.
struct PluginWatch {
    static let interval = Duration.seconds(3)

    struct Change {
        let name: String
        let bytes: ByteBuffer
    }

    /// Members whose changes are reported; record counts change all the time.
    private static let members = [
        "enabled", "state", "alive", "fresh", "delivering", "hasError", "lastError", "advice", "isFallback", "tokens",
    ]

    /// Nil before the first check, which reports nothing.
    private var known: [String: [JSONTree?]]?

    /// - Parameter status: the hub's answer to `status`.
    mutating func changes(_ status: RawJSON) -> [Change] {
        var (found, changes): ([String: [JSONTree?]], [Change]) = ([:], [])
        for plugin in JSONTree(status.bytes)?["plugins"]?.list ?? [] {
            guard let name = plugin["name"]?.text else { continue }
            let state = Self.members.map { plugin[$0] }
            found[name] = state
            guard let known, known[name] != state else { continue }
            changes.append(Change(name: name, bytes: EventText.event("status", data: plugin.bytes)))
        }
        known = found
        return changes
    }
}
