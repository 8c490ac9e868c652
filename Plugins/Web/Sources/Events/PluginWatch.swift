import JSON
import NIOCore
import PluginKit

/// Finds which plugins have another state than when they were looked at last.
struct PluginWatch {
    static let interval = Duration.seconds(3)

    struct Change {
        let name: String
        let bytes: ByteBuffer
    }

    /// What of a plugin is told when it changes; the counts of its records change all the time.
    private static let members = [
        "enabled", "state", "alive", "fresh", "delivering", "hasError", "lastError", "advice", "isFallback", "tokens",
    ]

    /// `nil` before the first look, which tells of nothing.
    private var known: [String: [JSONTree?]]?

    /// - Parameter status: the hub's answer to the question `status`.
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
