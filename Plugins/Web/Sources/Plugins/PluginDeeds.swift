import Foundation
import HTMLText
import Hummingbird
import JSON
import PluginKit

/// What the buttons of a plugin have the hub do.
struct PluginDeeds: Sendable {
    let parts: WebParts

    private var hub: PluginContext { parts.hub }

    // MARK: - Starting again

    private struct Restarted: Decodable { var state: String; var ended: Bool }
    private struct Released: Decodable { var state: String; var released: Bool }

    func restart(_ call: PluginCall) async throws -> Response {
        try await deed(.restart, "Restarting a plugin", call) {
            let result = try await hub.command("restart", ["instance": .string(call.instance)])
            let told = try JSONDecoder().decode(Restarted.self, from: Data(result?.bytes ?? []))
            return
                "\(call.instance) was \(told.state) and is being \(told.ended ? "ended and started again" : "started")."
        }
    }

    func release(_ call: PluginCall) async throws -> Response {
        try await deed(.release, "Starting a plugin again", call) {
            let result = try await hub.command("release", ["instance": .string(call.instance)])
            let told = try JSONDecoder().decode(Released.self, from: Data(result?.bytes ?? []))
            return told.released
                ? "\(call.instance) was \(told.state) and is being started."
                : "\(call.instance) is \(told.state); there was nothing to start."
        }
    }

    // MARK: - Commands of a plugin

    func carryOut(_ call: PluginCall) async throws -> Response {
        let facts = try await hub.pluginFacts(of: call.instance)
        guard let command = facts.description?.commands?.first(where: { $0.name == call.command }) else {
            throw NoSuchPage()
        }
        return try await deed(.commands, "Asking plugins to do something", call) {
            let result = try await hub.command(
                command.name, of: call.instance, SettingField.arguments(of: command, from: call.form),
                deadline: .seconds(60))
            return "\(command.name) of \(call.instance) is done.\(Self.told(result))"
        }
    }

    /// What a plugin answers, for people: names with values, lists in lines.
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

    func plan(_ choice: Choice) async throws -> Response {
        let frame = Frame(title: "hub.conf", choice: choice, path: "/apply")
        let grants = OwnerGrants(hub)
        guard grants.have(.apply) else {
            return PageAnswer.page(frame.html("<p>\(grants.advice(.apply, to: "Reading hub.conf again"))</p>"))
        }
        let plan = try await apply(isDryRun: true)
        let isSame = !plan.instances.contains { $0.action != "leave" } && plan.persons.isEmpty
        let button: HTML =
            plan.applied
            ? """
            <form method="post" action="/apply">\(WebForm.token(of: choice.viewer))\
            <button class="main">Have the hub follow it</button></form>
            """ : "<p>Nothing is changed before that is corrected in hub.conf.</p>"
        return PageAnswer.page(
            frame.html(
                """
                \(PlanText.problems(plan.problems))
                \(plan.applied ? "<h2>What the hub would do</h2>\(PlanText.steps(plan))" : HTML())
                \(isSame && plan.applied ? "<p>The hub follows it already.</p>" : button)
                """))
    }

    func apply(_ viewer: Viewer) async throws -> Response {
        let grants = OwnerGrants(hub)
        do {
            guard grants.have(.apply) else {
                parts.notices.put("<p>\(grants.advice(.apply, to: "Reading hub.conf again"))</p>", for: viewer)
                return NextPage.redirect(to: "/apply")
            }
            let plan = try await apply(isDryRun: false)
            parts.notices.put(
                plan.applied
                    ? "<p>The hub follows hub.conf.</p>\(PlanText.steps(plan))"
                    : "<p>hub.conf has errors, and nothing was changed.</p>", for: viewer)
            return NextPage.redirect(to: plan.applied ? "/plugins" : "/apply")
        } catch let failure as CommandFailure {
            parts.notices.put("<p>\(failure.message)</p>", for: viewer)
            return NextPage.redirect(to: "/apply")
        }
    }

    private func apply(isDryRun: Bool) async throws -> ConfigureAnswer.Plan {
        let result = try await hub.command("apply", isDryRun: isDryRun, deadline: .seconds(120))
        return try JSONDecoder().decode(ConfigureAnswer.Plan.self, from: Data(result?.bytes ?? []))
    }

    // MARK: - All of them

    /// Does it and says so on the instance's page, or says why not.
    private func deed(
        _ right: OwnerRight, _ what: HTML, _ call: PluginCall, _ body: () async throws -> HTML
    ) async throws -> Response {
        let grants = OwnerGrants(hub)
        if grants.have(right) {
            do {
                parts.notices.put("<p>\(try await body())</p>", for: call.viewer)
            } catch let failure as CommandFailure {
                parts.notices.put("<p class=\"bad\">\(failure.message)</p>", for: call.viewer)
            }
        } else {
            parts.notices.put("<p>\(grants.advice(right, to: what))</p>", for: call.viewer)
        }
        return NextPage.redirect(to: NextPage.of(call.instance))
    }
}
