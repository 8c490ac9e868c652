import Foundation

/// One finding in the hub's own status (the answer to `status`) that a person should know, and the command that repairs it.
package struct StatusFinding: Sendable {
    package enum Severity: String, Sendable, Encodable, Comparable, CaseIterable {
        /// All is well.
        case good
        /// Worth knowing; nothing has to be done.
        case note
        /// It does harm or will do so.
        case warning
        /// The hub cannot do its work or does not keep its promises.
        case error

        package static func < (left: Severity, right: Severity) -> Bool { left.rank < right.rank }
        private var rank: Int { Severity.allCases.firstIndex(of: self) ?? 0 }
    }

    package let severity: Severity
    /// One sentence.
    package let text: String
    /// The command that repairs it, or what to do.
    package let repair: String?
    /// The instance that it is about, if it is about one.
    package let plugin: String?

    init(_ severity: Severity, _ text: String, repair: String? = nil, plugin: String? = nil) {
        (self.severity, self.text, self.repair, self.plugin) = (severity, text, repair, plugin)
    }

    /// All findings; at least one, also if all is well.
    package static func all(in status: some Sequence<UInt8>) -> [StatusFinding] {
        // Does not use this program's own types: an older or newer hub has other members.
        guard let members = try? JSONSerialization.jsonObject(with: Data(status)) as? [String: Any] else {
            return [StatusFinding(.error, "the hub's status cannot be read", repair: "hub status --json")]
        }
        var found: [StatusFinding] = []
        if let store = members["store"] as? [String: Any] {
            if let state = store["state"] as? String, state != "ok" {
                let reason = store["error"] as? String ?? state
                found.append(StatusFinding(.error, "the store does not work, nothing is confirmed: \(reason)"))
            }
            if let warning = store["warning"] as? String { found.append(StatusFinding(.warning, warning)) }
        }
        if let inbox = members["inbox"] as? Int, inbox > 0 {
            found.append(
                StatusFinding(
                    .note, "\(NumberText.count(inbox, "record")) waiting for a person", repair: "hub samples --nobody"))
        }
        for case let plugin as [String: Any] in members["plugins"] as? [Any] ?? [] { found += self.plugin(plugin) }
        // Sinks and expected sources have a member `well` and a sentence.
        for (list, value) in members.sorted(by: { $0.key < $1.key }) where list != "plugins" {
            for case let entry as [String: Any] in value as? [Any] ?? [] where entry["well"] as? Bool == false {
                let name = (entry["name"] ?? entry["instance"]) as? String ?? list
                let text = (entry["note"] ?? entry["advice"]) as? String ?? "is not well"
                found.append(StatusFinding(.warning, "\(name): \(text)", repair: "hub status"))
            }
        }
        if found.allSatisfy({ $0.severity == .note }) {
            found.append(StatusFinding(.good, "it runs, and says it is well"))
        }
        return found
    }

    private static func plugin(_ plugin: [String: Any]) -> [StatusFinding] {
        guard plugin["enabled"] as? Bool == true, let name = plugin["name"] as? String else { return [] }
        let state = plugin["state"] as? String
        func warning(_ text: String) -> StatusFinding {
            StatusFinding(.warning, text, repair: look(at: plugin, name), plugin: name)
        }
        if let advice = plugin["advice"] as? String {
            let isOver = state == "quarantined" || state == "failed"
            return [
                StatusFinding(
                    isOver ? .error : .warning, "\(name): \(advice)", repair: look(at: plugin, name), plugin: name)
            ]
        }
        let tokens = plugin["tokens"] as? [Any] ?? []
        let logIns = tokens.compactMap { ($0 as? [String: Any])?["advice"] as? String }
        if !logIns.isEmpty {
            return logIns.map { StatusFinding(.warning, "\(name): \($0)", repair: "hub status", plugin: name) }
        }
        if plugin["hasError"] as? Bool == true, let error = plugin["lastError"] as? String {
            return [warning("\(name) says: \(error)")]
        }
        // Between its runs, or when all its work is done, a plugin needs no session.
        guard plugin["alive"] as? Bool == false, state != "finished", state != "resting" else { return [] }
        let reason = (plugin["lastError"] as? String).map { ": \($0)" } ?? ""
        return [warning("\(name) has no session\(reason)")]
    }

    /// The place to see more; an instance on another machine has its log there, and its advice says what to do.
    private static func look(at plugin: [String: Any], _ name: String) -> String? {
        guard plugin["remote"] as? Bool == true else { return "hub logs \(name)" }
        let program = "hub-\(plugin["kind"] as? String ?? name)"
        return "on its machine: \(program) --run --key FILE, with the key of hub keys new \(name)"
    }
}
