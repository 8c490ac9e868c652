import Foundation
import Hummingbird
import JSON
import PluginKit

/// Handles the buttons of a plugin's page.
struct PluginFormActions: Sendable {
    let parts: WebParts

    private var hub: PluginContext { parts.hub }

    // MARK: - Settings

    /// Shows the hub's plan and asks for confirmation, or shows errors beside the settings.
    func change(_ call: PluginFormRequest) async throws -> Response {
        let facts = try await hub.pluginFacts(of: call.instance)
        let fields = facts.description.map { SettingField.all(of: $0).map { $0.filled(from: call.form) } } ?? []
        var change = SectionChange(.plugin(call.instance), fields: call.form["enabled"] == nil ? fields : [])
        change.enabled = call.form["enabled"].map { $0 == "true" }
        return try await SectionChanges(parts: parts).plan(change, fields, call.choice) { fields, refusal in
            PluginPage(hub: hub).page(facts, call.choice, fields: fields, refusal: refusal)
        }
    }

    /// Writes a change that was shown.
    func save(_ call: PluginFormRequest) async throws -> Response {
        try await SectionChanges(parts: parts).save(call.form, call.choice, from: PluginAddresses.of(call.instance))
    }

    // MARK: - Restarting

    func restart(_ call: PluginFormRequest) async throws -> Response {
        try await deed(.restart, "Restarting a plugin", call.choice, PluginAddresses.of(call.instance)) { back in
            let arguments: [String: SettingValue] = ["instance": .string(call.instance)]
            return try await parts.carryOut(OwnCommands.Restart.self, arguments, for: call.viewer) {
                told, _, isToCome in
                if isToCome {
                    return PageAnswer.away("\(call.instance) is being ended and started again", call.choice, back)
                }
                let deed = told.ended ? "ended and started again" : "started"
                return parts.told(
                    "<p>\(call.instance) was \(told.state.rawValue) and is being \(deed).</p>", call.viewer, on: back)
            }
        }
    }

    func release(_ call: PluginFormRequest) async throws -> Response {
        try await deed(.release, "Starting a plugin again", call.choice, PluginAddresses.of(call.instance)) { back in
            let told = try await hub.run(OwnCommands.Release.self, ["instance": .string(call.instance)])
            let words: HTML =
                told.released
                ? "<p>\(call.instance) was \(told.state.rawValue) and is being started.</p>"
                : "<p>\(call.instance) is \(told.state.rawValue); there was nothing to start.</p>"
            return parts.told(words, call.viewer, on: back)
        }
    }

    // MARK: - Commands of a plugin

    func carryOut(_ call: PluginFormRequest) async throws -> Response {
        let facts = try await hub.pluginFacts(of: call.instance)
        guard let command = facts.description?.commands?.first(where: { $0.name == call.command }) else {
            throw noSuchPage
        }
        let what: HTML = "Asking plugins to do something"
        return try await deed(.commands, what, call.choice, PluginAddresses.of(call.instance)) { back in
            let result = try await hub.command(
                command.name, of: call.instance, SettingField.arguments(of: command, from: call.form),
                deadline: .seconds(60))
            return parts.told(
                "<p>\(command.name) of \(call.instance) is done.</p>\(Self.told(result))", call.viewer, on: back)
        }
    }

    /// A plugin's answer for people: names with values, lists in lines.
    private static func told(_ result: RawJSON?) -> HTML {
        guard let tree = result.flatMap({ JSONTree($0.bytes) }) else { return HTML() }
        return block(tree, 4)
    }

    private static func block(_ tree: JSONTree, _ depth: Int) -> HTML {
        if depth == 0 { return "…" }
        if let members = tree.members {
            return members.isEmpty
                ? HTML()
                : "<dl>\(HTML.each(members.prefix(50)) { "<dt>\($0.name)</dt><dd>\(block($0.value, depth - 1))</dd>" })</dl>"
        }
        if let elements = tree.list {
            return "<ul>\(HTML.each(elements.prefix(100)) { "<li>\(block($0, depth - 1))</li>" })</ul>"
        }
        return "\((tree.text ?? tree.json).prefix(2_000))"
    }

    // MARK: - hub.conf

    func plan(_ choice: SelectedPerson) async throws -> Response {
        let frame = PageFrame(title: "hub.conf", choice: choice, path: "/apply")
        if let denial = frame.denial(.apply, parts.grants, to: "Reading hub.conf again") { return denial }
        let plan = try await hub.run(OwnCommands.Apply.self, isDryRun: true, deadline: .seconds(120))
        let isSame = !plan.instances.contains { $0.action != .leave } && plan.persons.isEmpty
        let button: HTML =
            plan.applied
            ? HTML.button("/apply", "Have the hub follow it", isMain: true)
            : "<p>Nothing is changed until that is corrected in hub.conf.</p>"
        return frame.page(
            """
            \(PlanText.problems(plan.problems))
            \(plan.applied ? "<h2>Steps of the hub</h2>\(PlanText.steps(plan))" : HTML())
            \(isSame && plan.applied ? "<p>The hub follows it already.</p>" : button)
            """)
    }

    func apply(_ choice: SelectedPerson) async throws -> Response {
        try await deed(.apply, "Reading hub.conf again", choice, "/apply") { back in
            try await parts.carryOut(OwnCommands.Apply.self, for: choice.viewer) { plan, _, isToCome in
                if isToCome {
                    return PageAnswer.away("The hub follows hub.conf, and ends \(hub.instance)", choice, "/plugins")
                }
                guard plan.applied else {
                    return parts.told("<p>hub.conf has errors, and nothing was changed.</p>", choice.viewer, on: back)
                }
                return parts.told(
                    "<p>The hub follows hub.conf.</p>\(PlanText.steps(plan))", choice.viewer, on: "/plugins")
            }
        }
    }

    // MARK: - Common

    /// Runs `body`, and shows a failure on the page `back`.
    private func deed(
        _ right: OwnerRight, _ what: HTML, _ choice: SelectedPerson, _ back: String,
        _ body: (String) async throws -> Response
    ) async throws -> Response {
        let grants = OwnerGrants(hub)
        guard grants.have(right) else {
            return parts.told("<p>\(grants.advice(right, to: what))</p>", choice.viewer, on: back)
        }
        do { return try await body(back) } catch let failure as CommandFailure {
            return parts.told("<p class=\"bad\">\(failure.words("It was not done"))</p>", choice.viewer, on: back)
        }
    }
}

/// A form that the owner has sent from an instance's page.
struct PluginFormRequest: Sendable {
    let instance: String
    /// The name of the plugin's command, if the form is for one.
    let command: String
    let form: WebForm
    let choice: SelectedPerson
    var viewer: Viewer { choice.viewer }
}

/// The addresses of an instance.
enum PluginAddresses {
    static func of(_ instance: String, _ more: String = "") -> String { "/plugins/\(instance)\(more)" }
}
