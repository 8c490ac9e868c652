import Foundation
import HTMLText
import Hummingbird
import PluginKit

/// Changes of settings: shown first with what the hub would do, then written, and taken back by a press of a button.
struct PluginChanges: Sendable {
    let parts: WebParts
    private let book = ChangeBook()

    init(parts: WebParts) { self.parts = parts }

    private var hub: PluginContext { parts.hub }

    /// Has the hub say what would happen; the page says what is wrong beside each setting, or asks whether it is meant.
    func plan(_ call: PluginCall) async throws -> Response {
        let facts = try await hub.pluginFacts(of: call.instance)
        let grants = OwnerGrants(hub)
        let fields = facts.description.map { SettingField.all(of: $0).map { $0.filled(from: call.form) } } ?? []
        func again(_ fields: [SettingField], _ refusal: HTML) -> Response {
            PluginPage(hub: hub).page(facts, call.choice, fields: fields, refusal: refusal)
        }
        guard grants.have(.configure) else {
            return again(fields, grants.advice(.configure, to: "Changing settings"))
        }
        let change = self.change(call, fields)
        func same() -> Response { tell("<p>All is so already; nothing was changed.</p>", call) }
        guard !change.isEmpty else { return same() }
        do {
            let answer = try await configure(change, isDryRun: true)
            guard answer.applied else { return again(told(answer.plan.problems, fields), refusal(answer.plan, fields)) }
            return answer.changes.isEmpty ? same() : question(answer, change, call)
        } catch let failure as CommandFailure {
            return again(fields, "<p>\(failure.message)</p>")
        }
    }

    private func tell(_ notice: HTML, _ call: PluginCall) -> Response {
        parts.told(notice, call.viewer, on: NextPage.of(call.instance))
    }

    private func change(_ call: PluginCall, _ fields: [SettingField]) -> PluginChange {
        var change = PluginChange(instance: call.instance)
        if let enabled = call.form["enabled"] {
            change.enabled = enabled == "true"
            return change
        }
        for field in fields {
            switch field.change {
            case .set(let value): change.set[field.declaration.name] = value
            case .unset: change.unset.append(field.declaration.name)
            case nil: break
            }
        }
        return change
    }

    private func configure(_ change: PluginChange, isDryRun: Bool) async throws -> ConfigureAnswer {
        let result = try await hub.command(
            "configure", try change.arguments(), isDryRun: isDryRun, deadline: .seconds(120))
        return try JSONDecoder().decode(ConfigureAnswer.self, from: Data(result?.bytes ?? []))
    }

    /// Each problem of a setting beside it.
    private func told(_ problems: [ConfigureAnswer.Plan.Problem], _ fields: [SettingField]) -> [SettingField] {
        fields.map { field in
            var field = field
            let own = problems.filter { isOf(field, $0) }
            if !own.isEmpty {
                field.fault = own.map { $0.message + ($0.suggestion.map { "; did you mean \($0)?" } ?? "") }
                    .joined(separator: "; ")
            }
            return field
        }
    }

    private func isOf(_ field: SettingField, _ problem: ConfigureAnswer.Plan.Problem) -> Bool {
        problem.severity == "error" && problem.key == field.declaration.name
    }

    private func refusal(_ plan: ConfigureAnswer.Plan, _ fields: [SettingField]) -> HTML {
        let others = plan.problems.filter { problem in
            problem.severity == "error" && !fields.contains { isOf($0, problem) }
        }
        return "<p>Nothing was changed: something is wrong.</p>\(PlanText.problems(others))"
    }

    private func question(_ answer: ConfigureAnswer, _ change: PluginChange, _ call: PluginCall) -> Response {
        var change = change
        change.revision = answer.revision
        let id = book.put(change, for: call.viewer)
        let lost = answer.reversed.lost
        let warning: HTML =
            lost.isEmpty
            ? HTML()
            : "<p>What was there before of \(lost.joined(separator: ", ")) is not shown, and cannot be had back.</p>"
        return PageAnswer.page(
            Frame(title: "Change \(call.instance)?", choice: call.choice, path: NextPage.of(call.instance)).html(
                """
                <h2>What is written into hub.conf</h2>\(PlanText.changes(answer.changes))\(warning)
                <h2>What the hub does then</h2>\(PlanText.steps(answer.plan))
                \(PlanText.problems(answer.plan.problems))
                <div class="deeds">\(button(call, id, "Save", isMain: true))
                <a class="button" href="\(url: NextPage.of(call.instance))">Leave it</a></div>
                """))
    }

    private func button(_ call: PluginCall, _ id: String, _ label: HTML, isMain: Bool = false) -> HTML {
        ButtonForm(NextPage.of(call.instance, "/save"), label, [("change", id)], isMain: isMain).html(call.viewer)
    }

    /// Writes what was shown.
    func save(_ call: PluginCall) async throws -> Response {
        guard let change = book.take(call.form["change"], of: call.viewer), change.instance == call.instance else {
            return tell("<p>Nothing was changed: this was shown too long ago, or was done already.</p>", call)
        }
        do {
            let answer = try await configure(change, isDryRun: false)
            let wrong: HTML =
                "<p>Nothing was changed: something is wrong.</p>\(PlanText.problems(answer.plan.problems))"
            return tell(answer.applied ? done(answer, call) : wrong, call)
        } catch let failure as CommandFailure {
            return tell("<p>\(failure.words("Nothing was changed"))</p>", call)
        }
    }

    private func done(_ answer: ConfigureAnswer, _ call: PluginCall) -> HTML {
        let (reversed, lost) = answer.reversed
        guard !reversed.isEmpty else { return "<p>Saved.</p>\(PlanText.changes(answer.changes))" }
        let id = book.put(reversed, for: call.viewer)
        let rest: HTML =
            lost.isEmpty ? HTML() : "<p>That does not bring back \(lost.joined(separator: ", ")).</p>"
        return "<p>Saved.</p>\(PlanText.changes(answer.changes))\(button(call, id, "Undo"))\(rest)"
    }
}
