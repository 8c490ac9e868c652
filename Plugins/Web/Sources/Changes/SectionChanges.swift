import Foundation
import HTMLText
import Hummingbird
import PluginKit

/// Changes of `hub.conf`: shown first with what the hub would do, then written, and taken back by a press of a button.
struct SectionChanges: Sendable {
    let parts: WebParts
    private let book = ChangeBook()

    init(parts: WebParts) { self.parts = parts }

    private var hub: PluginContext { parts.hub }

    /// Has the hub say what would happen, and asks whether it is meant.
    ///
    /// - Parameter again: the form as it was filled in, with what is wrong beside its fields and with them as a whole.
    func plan(
        _ change: SectionChange, _ fields: [SettingField], _ choice: Choice,
        again: ([SettingField], HTML) async throws -> Response
    ) async throws -> Response {
        let grants = OwnerGrants(hub)
        guard grants.have(.configure) else {
            return try await again(fields, grants.advice(.configure, to: "Changing settings"))
        }
        if !change.isEmpty {
            do {
                let answer = try await configure(change, isDryRun: true)
                guard answer.applied else {
                    return try await again(told(answer.plan.problems, fields), refusal(answer.plan, fields))
                }
                if !answer.isNothing { return question(answer, change, choice) }
            } catch let failure as CommandFailure {
                return try await again(fields, "<p>\(failure.message)</p>")
            }
        }
        return parts.told("<p>All is so already; nothing was changed.</p>", choice.viewer, on: change.section.page)
    }

    /// What stands in the section of a person or of `[hub]`.
    func settings(of section: ChangedSection) async throws -> [String: SettingValue] {
        try await configure(SectionChange(section), isDryRun: true).settings ?? [:]
    }

    private func configure(_ change: SectionChange, isDryRun: Bool) async throws -> ConfigureAnswer {
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

    private func question(_ answer: ConfigureAnswer, _ change: SectionChange, _ choice: Choice) -> Response {
        var change = change
        change.revision = answer.revision
        let id = book.put(change, for: choice.viewer)
        let (section, lost) = (change.section, answer.reversed(in: change.section).lost)
        let warning: HTML =
            lost.isEmpty
            ? HTML()
            : "<p>What was there before of \(lost.joined(separator: ", ")) is not shown, and cannot be had back.</p>"
        return PageAnswer.page(
            Frame(title: "\(change.adds ? "Add" : "Change") \(section.title)?", choice: choice, path: section.page)
                .html(
                    """
                    <h2>What is written into hub.conf</h2>\(PlanText.changes(answer, of: section))\(warning)
                    <h2>What the hub does then</h2>\(PlanText.steps(answer.plan))
                    \(PlanText.problems(answer.plan.problems))
                    <div class="deeds">\(button(section, id, "Save", isMain: true).html(choice.viewer))
                    <a class="button" href="\(url: section.page)">Leave it</a></div>
                    """))
    }

    /// Writes what was shown.
    ///
    /// - Parameter page: where its form stands.
    func save(_ form: WebForm, _ choice: Choice, from page: String) async throws -> Response {
        func told(_ notice: HTML) -> Response { parts.told(notice, choice.viewer, on: page) }
        guard let change = book.take(form["change"], of: choice.viewer), change.section.page == page else {
            return told("<p>Nothing was changed: this was shown too long ago, or was done already.</p>")
        }
        do {
            var planned: ConfigureAnswer?
            if page == "/setup" { planned = try await configure(change, isDryRun: true) }
            if let planned, planned.applied,
                planned.plan.instances.contains(where: { $0.instance == hub.instance && $0.action == "restart" })
            {
                return farewell(change, choice)
            }
            let answer = try await written(change, planned)
            return told(answer.applied ? done(answer, change.section, choice.viewer) : Self.refused(answer))
        } catch let failure as CommandFailure {
            return told(Self.refused(failure))
        }
    }

    private static func refused(_ answer: ConfigureAnswer) -> HTML {
        "<p>Nothing was changed: something is wrong.</p>\(PlanText.problems(answer.plan.problems))"
    }

    private static func refused(_ failure: CommandFailure) -> HTML {
        "<p>\(failure.words("Nothing was changed"))</p>"
    }

    private func button(_ section: ChangedSection, _ id: String, _ label: HTML, isMain: Bool = false) -> ButtonForm {
        ButtonForm(section.page + "/save", label, [("change", id)], isMain: isMain)
    }

    /// Writes it.
    ///
    /// What changes what this plugin is told of persons ends its session, perhaps before the outcome is heard
    /// (Protocol R8.185): then the next session says whether it was done.
    private func written(_ change: SectionChange, _ planned: ConfigureAnswer?) async throws -> ConfigureAnswer {
        let known = hub.sessionCount
        do {
            return try await configure(change, isDryRun: false)
        } catch let error as AskError where error.code == .lost {
            guard var answer = planned else { throw error }
            var again = change
            again.revision = nil
            let look = again
            let now = try await Deadline.run(.seconds(20)) { () async throws -> ConfigureAnswer in
                try await hub.untilSession(beyond: known)
                while true {
                    do { return try await configure(look, isDryRun: true) } catch let failure as CommandFailure
                        where failure.code == "busy"
                    {
                        // The hub is still at it, and does not tell when it is done.
                        try await Task.sleep(for: .milliseconds(50))
                    }
                }
            }
            guard now.isNothing else { throw CommandFailure("lost", "the hub did not say why; try again") }
            answer.revision = now.revision
            return answer
        }
    }

    /// With another person the hub starts this page again: it is asked for that when the browser has its answer.
    private func farewell(_ change: SectionChange, _ choice: Choice) -> Response {
        let page = Frame(title: "Writing hub.conf", choice: choice, path: change.section.page).html(
            """
            <p>The hub writes what was shown, and starts this page again with it: the page is away for a moment.</p>
            <p><a class="button main" href="\(url: change.section.page)">Go on</a></p>
            """)
        return PageAnswer.page(page).followed {
            do {
                let answer = try await configure(change, isDryRun: false)
                if !answer.applied { parts.notices.put(Self.refused(answer), for: choice.viewer) }
            } catch let failure as CommandFailure {
                parts.notices.put(Self.refused(failure), for: choice.viewer)
            } catch {
                // The session, or this process, is ended because it is done.
            }
        }
    }

    private func done(_ answer: ConfigureAnswer, _ section: ChangedSection, _ viewer: Viewer) -> HTML {
        let (reversed, lost) = answer.reversed(in: section)
        let saved: HTML = "<p>Saved.</p>\(PlanText.changes(answer, of: section))"
        guard !reversed.isEmpty else { return saved }
        let id = book.put(reversed, for: viewer)
        let rest: HTML =
            lost.isEmpty ? HTML() : "<p>That does not bring back \(lost.joined(separator: ", ")).</p>"
        return "\(saved)\(button(section, id, "Undo").html(viewer))\(rest)"
    }
}
