import Hummingbird
import PluginKit

/// Changes `hub.conf`: shows the hub's plan first, then writes, and offers an undo.
struct SectionChanges: Sendable {
    let parts: WebParts
    private var book: PendingChanges { parts.pending }
    private var hub: PluginContext { parts.hub }

    /// Shows the hub's plan and asks for confirmation.
    ///
    /// - Parameter again: renders the form as it was filled in, with errors beside the fields and for the whole.
    func plan(
        _ change: SectionChange, _ fields: [SettingField], _ choice: SelectedPerson,
        again: ([SettingField], HTML) async throws -> Response
    ) async throws -> Response {
        let grants = OwnerGrants(hub)
        guard grants.have(.configure) else {
            return try await again(fields, grants.advice(.configure, to: "Changing settings"))
        }
        if !change.isEmpty {
            do {
                let answer = try await look(at: change)
                guard answer.applied else {
                    return try await again(told(answer.plan.problems, fields), refusal(answer.plan, fields))
                }
                if !answer.isNothing { return question(answer, change, choice) }
            } catch let failure as CommandFailure { return try await again(fields, "<p>\(failure.message)</p>") }
        }
        return parts.told(
            "<p>Nothing was changed: hub.conf has these values already.</p>", choice.viewer, on: change.section.page)
    }

    /// The settings in the section of a person or of `[hub]`.
    func settings(of section: ChangedSection) async throws -> [String: SettingValue] {
        try await look(at: SectionChange(section)).settings ?? [:]
    }

    private func look(at change: SectionChange) async throws -> ConfigureReport {
        try await hub.run(OwnCommands.Configure.self, try change.arguments(), isDryRun: true, deadline: .seconds(120))
    }

    /// Adds each problem to the field of its setting.
    private func told(_ problems: [SettingsProblem], _ fields: [SettingField]) -> [SettingField] {
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

    private func isOf(_ field: SettingField, _ problem: SettingsProblem) -> Bool {
        problem.severity == .error && problem.key == field.declaration.name
    }

    private func refusal(_ plan: ApplyReport, _ fields: [SettingField]) -> HTML {
        let others = plan.problems.filter { problem in
            problem.severity == .error && !fields.contains { isOf($0, problem) }
        }
        return "<p>Nothing was changed: something is wrong.</p>\(PlanText.problems(others))"
    }

    private func question(_ answer: ConfigureReport, _ change: SectionChange, _ choice: SelectedPerson) -> Response {
        var change = change
        change.revision = answer.revision
        let id = book.put(change, for: choice.viewer)
        let (section, lost) = (change.section, answer.reversed(in: change.section).lost)
        let warning: HTML =
            lost.isEmpty
            ? HTML()
            : lost.count == 1
                ? "<p>The old value of \(lost[0]) is not shown, and cannot be restored.</p>"
                : "<p>The old values of \(lost.joined(separator: ", ")) are not shown, and cannot be restored.</p>"
        return PageFrame(
            title: "\(change.adds ? "Add" : "Change") \(section.title)?", choice: choice, path: section.page
        ).page(
            """
            <h2>Changes in hub.conf</h2>\(PlanText.changes(answer, of: section))\(warning)
            <h2>Steps of the hub</h2>\(PlanText.steps(answer.plan))
            \(PlanText.problems(answer.plan.problems))
            <div class="deeds">\(button(section, id, "Save", isMain: true))
            <a class="button" href="\(url: section.page)">Leave it</a></div>
            """)
    }

    /// Writes a change that was shown.
    ///
    /// - Parameter page: the page of its form.
    func save(_ form: WebForm, _ choice: SelectedPerson, from page: String) async throws -> Response {
        func told(_ notice: HTML) -> Response { parts.told(notice, choice.viewer, on: page) }
        guard let change = book.take(form["change"], of: choice.viewer), change.section.page == page else {
            return told("<p>Nothing was changed: this was shown too long ago, or was done already.</p>")
        }
        do {
            let arguments = try change.arguments()
            return try await parts.carryOut(OwnCommands.Configure.self, arguments, for: choice.viewer) {
                result, _, isToCome in
                if isToCome {
                    return PageAnswer.away(
                        "The hub writes the change into hub.conf, and ends \(hub.instance)", choice, page)
                }
                return told(result.applied ? done(result, change.section, choice.viewer) : Self.refused(result))
            }
        } catch let failure as CommandFailure { return told("<p>\(failure.words("Nothing was changed"))</p>") }
    }

    private static func refused(_ answer: ConfigureReport) -> HTML {
        "<p>Nothing was changed: something is wrong.</p>\(PlanText.problems(answer.plan.problems))"
    }

    private func button(_ section: ChangedSection, _ id: String, _ label: HTML, isMain: Bool = false) -> HTML {
        HTML.button(section.page + "/save", label, [("change", id)], isMain: isMain)
    }

    private func done(_ answer: ConfigureReport, _ section: ChangedSection, _ viewer: Viewer) -> HTML {
        let (reversed, lost) = answer.reversed(in: section)
        let saved: HTML = "<p>Saved.</p>\(PlanText.changes(answer, of: section))"
        guard !reversed.isEmpty else { return saved }
        let id = book.put(reversed, for: viewer)
        let rest: HTML = lost.isEmpty ? HTML() : "<p>That does not bring back \(lost.joined(separator: ", ")).</p>"
        return "\(saved)\(button(section, id, "Undo"))\(rest)"
    }
}
