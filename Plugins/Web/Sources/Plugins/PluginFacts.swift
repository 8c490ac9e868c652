import Foundation
import PluginKit

/// What this page shows of an instance: how it is, and what `hub.conf` and its manifest say of it.
struct PluginFacts: Sendable {
    /// Of the answer to `status`.
    struct Condition: Decodable, Sendable {
        struct LogIn: Decodable, Sendable {
            var account: String
            var user, expires, advice: String?
        }
        var name, kind, state: String
        var enabled, alive: Bool
        var remote, fresh, delivering, hasError, isFallback: Bool?
        var restartIn: Double?
        var restarts: Int
        var records: Int64
        var lastError, advice, lastRecord: String?
        var tokens: [LogIn]?
    }

    /// Of the answer to `plugins`.
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
        /// Secrets as `<secret>`.
        var settings: [String: SettingValue]
        var declarations: [SettingDeclaration]?
        var commands: [CommandDeclaration]?
    }

    let condition: Condition
    /// `nil` where the section has errors, or `plugins` is not granted.
    let description: Description?

    var name: String { condition.name }

    func has(_ command: String) -> Bool { description?.commands?.contains { $0.name == command } ?? false }

    /// Whether nothing about it is for a person to do.
    var isWell: Bool { condition.advice == nil && condition.hasError != true && !needsLogIn }

    /// Whether an account of its service is to be logged in again.
    var needsLogIn: Bool { condition.enabled && condition.tokens?.contains { $0.advice != nil } ?? false }
}

extension PluginContext {
    private struct Status: Decodable { var plugins: [PluginFacts.Condition] }

    /// All instances, in the hub's order.
    ///
    /// - Throws: `AskError`, of which the code is `forbidden` where `status` is not granted.
    func pluginFacts() async throws -> [PluginFacts] {
        let conditions = try await ask(.status, as: Status.self).plugins
        let described =
            ownerRights.contains(.plugins) ? try await ask(.plugins, as: [PluginFacts.Description].self) : []
        return conditions.map { condition in
            PluginFacts(condition: condition, description: described.first { $0.name == condition.name })
        }
    }

    /// One instance.
    ///
    /// - Throws: `NoSuchPage` where there is none of this name.
    func pluginFacts(of name: String?) async throws -> PluginFacts {
        guard let facts = try await pluginFacts().first(where: { $0.name == name }) else { throw NoSuchPage() }
        return facts
    }
}
