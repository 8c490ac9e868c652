import Hummingbird
import PluginKit

/// Changes of an instance's settings.
struct PluginChanges: Sendable {
    private let hub: PluginContext
    private let changes: SectionChanges

    init(parts: WebParts) { (hub, changes) = (parts.hub, SectionChanges(parts: parts)) }

    /// Shows the hub's plan and asks for confirmation, or shows errors beside the settings.
    func plan(_ call: PluginFormRequest) async throws -> Response {
        let facts = try await hub.pluginFacts(of: call.instance)
        let fields = facts.description.map { SettingField.all(of: $0).map { $0.filled(from: call.form) } } ?? []
        var change = SectionChange(.plugin(call.instance), fields: call.form["enabled"] == nil ? fields : [])
        change.enabled = call.form["enabled"].map { $0 == "true" }
        return try await changes.plan(change, fields, call.choice) { fields, refusal in
            PluginPage(hub: hub).page(facts, call.choice, fields: fields, refusal: refusal)
        }
    }

    /// Writes a change that was shown.
    func save(_ call: PluginFormRequest) async throws -> Response {
        try await changes.save(call.form, call.choice, from: PluginAddresses.of(call.instance))
    }
}
