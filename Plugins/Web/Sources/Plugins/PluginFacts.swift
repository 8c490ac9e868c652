import HealthText
import PluginKit

/// The state of an instance, its section of `hub.conf`, and its manifest.
struct PluginFacts: Sendable {
    /// An entry of the answer to `plugins`.
    struct Description: Decodable, Sendable {
        struct Scope: Decodable, Sendable {
            var types: [String]
            var denied: [String]?
        }
        struct Grants: Decodable, Sendable { var read, write: Scope }
        struct Tier: Decodable, Sendable { var tier: String }
        struct Isolation: Decodable, Sendable {}
        var name: String
        var summary, version, fault: String?
        var grants: Grants
        var persons, reaches: [String]?
        var isolation: Isolation?
        var tier: Tier?
        /// Secrets are shown as `<secret>`.
        var settings: [String: SettingValue]
        var declarations: [SettingDeclaration]?
        var commands: [CommandDeclaration]?
    }

    let condition: HubState.Plugin
    /// Nil if the section has errors, or `plugins` is not granted.
    let description: Description?

    var name: String { condition.name }

    func has(_ command: String) -> Bool { description?.commands?.contains { $0.name == command } ?? false }

    /// Whether no action is needed, by the rules of `hub doctor` and the page System.
    let isWell: Bool

    /// Whether an account of its service needs a new log-in.
    var needsLogIn: Bool { condition.enabled && condition.tokens?.contains { $0.advice != nil } ?? false }
}

extension PluginContext {
    /// All instances, in the hub's order.
    ///
    /// - Throws: `AskError`, with the code `forbidden` if `status` is not granted.
    func pluginFacts() async throws -> [PluginFacts] {
        let (state, answer) = try await hubState()
        let unwell = Set(StatusFinding.all(in: answer.bytes).compactMap(\.plugin))
        let described =
            ownerRights.contains(.plugins) ? try await ask(.plugins, as: [PluginFacts.Description].self) : []
        return state.plugins.map { condition in
            PluginFacts(
                condition: condition, description: described.first { $0.name == condition.name },
                isWell: !unwell.contains(condition.name))
        }
    }

    /// One instance.
    ///
    /// - Throws: `NoSuchPage` if there is no such instance.
    func pluginFacts(of name: String?) async throws -> PluginFacts {
        guard let facts = try await pluginFacts().first(where: { $0.name == name }) else { throw NoSuchPage() }
        return facts
    }
}
