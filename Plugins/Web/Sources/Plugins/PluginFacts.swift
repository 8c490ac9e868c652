import HealthText
import PluginKit

/// The state of an instance, its section of `hub.conf`, and its manifest.
struct PluginFacts: Sendable {
    let condition: PluginStatus
    /// Nil if the section has errors, or `plugins` is not granted.
    let description: PluginEntry?

    var name: String { condition.name }

    func has(_ command: String) -> Bool { description?.has(command) ?? false }

    /// Whether no action is needed, by the rule of `hub status`.
    let isWell: Bool

    /// Whether an account of its service needs a new log-in.
    var needsLogIn: Bool { condition.enabled && condition.tokens?.contains { $0.advice != nil } ?? false }
}

extension PluginContext {
    /// All instances, in the hub's order.
    ///
    /// - Throws: `AskError`, with the code `forbidden` if `status` is not granted.
    func pluginFacts() async throws -> [PluginFacts] {
        let status = try await hubStatus()
        let unwell = Set(status.problems.compactMap(\.plugin))
        let described = ownerRights.contains(.plugins) ? try await ask(.plugins, as: [PluginEntry].self) : []
        return status.plugins.map { condition in
            PluginFacts(
                condition: condition, description: described.first { $0.name == condition.name },
                isWell: !unwell.contains(condition.name))
        }
    }

    /// One instance.
    ///
    /// - Throws: ``noSuchPage`` if there is no such instance.
    func pluginFacts(of name: String?) async throws -> PluginFacts {
        guard let facts = try await pluginFacts().first(where: { $0.name == name }) else { throw noSuchPage }
        return facts
    }
}
