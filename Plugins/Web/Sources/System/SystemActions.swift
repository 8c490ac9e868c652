import Foundation
import HealthText
import HTMLText
import HTTPTypes
import Hummingbird
import PluginKit

/// What is done from the page System: each with its plan first, which changes nothing.
struct SystemActions: Sendable {
    let parts: WebParts

    // MARK: - hub.conf

    /// What the hub answers to `apply`.
    private struct Report: Decodable {
        struct Step: Decodable {
            var instance, action: String
            var why: String?
        }
        struct Problem: Decodable {
            var message: String
            var line: Int
            var key: String?

            var text: String { "line \(line): \(key.map { "\($0): " } ?? "")\(message)" }
        }
        var file: String
        var applied: Bool
        var problems: [Problem]
        var faults: [String: String]
        var needsRestart, persons: [String]
        var instances: [Step]
    }

    func applyPlan(_ choice: Choice) async throws -> Response {
        let report = try await command("apply", [:], isDryRun: true, as: Report.self)
        let steps = report.instances.filter { $0.action != "leave" }
        var lines = steps.map { "\($0.action) \($0.instance)" + ($0.why.map { ": \($0)" } ?? "") }
        if !report.persons.isEmpty { lines.append("persons changed: \(report.persons.joined(separator: ", "))") }
        if !report.needsRestart.isEmpty {
            lines.append("holds when the hub is started again: \(report.needsRestart.joined(separator: ", "))")
        }
        let faults =
            report.problems.map(\.text) + report.faults.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }
        let isNothing = lines.isEmpty
        let body: HTML =
            report.applied
            ? """
            <p>\(report.file) is right. \(isNothing ? "The hub follows it already: nothing would change." : "The hub would:")</p>
            <ul>\(HTML.each(lines) { "<li>\($0)</li>" })</ul>
            \(isNothing ? HTML() : Self.form("/system/apply", choice.viewer, [:], "Do this"))
            """
            : """
            <p class="bad">\(report.file) has errors, and nothing would be changed.</p>
            <ul>\(HTML.each(faults) { "<li>\($0)</li>" })</ul><p><code>hub check</code> lists them, too.</p>
            """
        return page("Follow hub.conf", choice, body)
    }

    func apply(_ request: Request, _ visit: Visit) async throws -> Response {
        let (_, viewer) = try await WebForm.read(request, visit)
        let report = try await command("apply", [:], isDryRun: false, as: Report.self)
        let count = report.instances.count { $0.action != "leave" }
        parts.notices.put(
            report.applied
                ? "The hub follows hub.conf; \(NumberText.count(count, "plugin")) changed."
                : "hub.conf has errors; nothing was changed. hub check lists them.", for: viewer)
        return NextPage.redirect(to: "/system")
    }

    // MARK: - A plugin

    private struct Restart: Decodable {
        var instance, state: String
        var ended: Bool
    }

    func restartPlan(_ request: Request, _ choice: Choice) async throws -> Response {
        let name = request.uri.queryParameters["plugin"].map(String.init) ?? ""
        let plan = try await command("restart", ["instance": .string(name)], isDryRun: true, as: Restart.self)
        let own: HTML? =
            name == parts.hub.instance ? "<p>It makes this page: the page is away for a moment.</p>" : nil
        let first: HTML =
            plan.ended
            ? "Its process is asked to finish, and has five seconds; then it is started again. "
            : "It has no process now, and is started. "
        return page(
            "Restart \(plan.instance)", choice,
            """
            <p>\(plan.instance) is \(plan.state). \(first)What it has given is stored, and what it has not is kept by it.</p>\(own)
            \(Self.form("/system/restart", choice.viewer, ["plugin": plan.instance], "Restart \(plan.instance)"))
            """)
    }

    func restart(_ request: Request, _ visit: Visit) async throws -> Response {
        let (form, viewer) = try await WebForm.read(request, visit)
        let name = try form.text("plugin")
        parts.notices.put("\(name) is being restarted.", for: viewer)
        guard name != parts.hub.instance else {
            // Its answer has to be out before its process ends.
            let hub = parts.hub
            Task {
                try? await Task.sleep(for: .milliseconds(300))
                _ = try? await hub.command("restart", ["instance": .string(name)])
            }
            return NextPage.redirect(to: "/system")
        }
        _ = try await command("restart", ["instance": .string(name)], isDryRun: false, as: Restart.self)
        return NextPage.redirect(to: "/system")
    }

    // MARK: - Both

    private func command<Answer: Decodable>(
        _ name: String, _ arguments: [String: SettingValue], isDryRun: Bool, as type: Answer.Type
    ) async throws -> Answer {
        do {
            // Programs are asked what they are, and one that hangs has ten seconds.
            let result = try await parts.hub.command(name, arguments, isDryRun: isDryRun, deadline: .seconds(60))
            return try JSONDecoder().decode(type, from: Data((result ?? .emptyObject).bytes))
        } catch let failure as CommandFailure {
            throw Refusal(.badRequest, "The hub could not do this", failure.message)
        }
    }

    private func page(_ title: String, _ choice: Choice, _ body: HTML) -> Response {
        PageAnswer.page(
            Frame(title: title, choice: choice, path: "/system").html(
                "\(body)<p><a href=\"/system\">Back to System</a></p>"))
    }

    private static func form(_ path: String, _ viewer: Viewer, _ fields: [String: String], _ button: String) -> HTML {
        let hidden = HTML.each(fields.sorted { $0.key < $1.key }) {
            "<input type=\"hidden\" name=\"\($0.key)\" value=\"\($0.value)\">"
        }
        return """
            <form method="post" action="\(url: path)">\(WebForm.token(of: viewer))\(hidden)\
            <button class="main">\(button)</button></form>
            """
    }
}
