import Foundation
import HTTPTypes
import HealthText
import Hummingbird
import PluginKit

/// The pages of a hub that has no `hub.conf` yet: the hub asks the questions, and writes the file.
struct FirstSetupPage: Sendable {
    let parts: WebParts

    /// The only address.
    private static let path = "/"
    /// The hub asks programs, and one that is tried has thirty seconds.
    private static let deadline = Duration.seconds(120)

    func show(_ request: Request, _ visit: WebRequestContext) async throws -> Response {
        guard let viewer = visit.viewer else { throw noSuchPage }
        return page(try await ask(.look, step: request.field("step")), notice: parts.notices.take(of: viewer))
    }

    /// Sends the answers of a step to the hub, and shows the next one, or the answers with their faults.
    func answer(_ request: Request, _ visit: WebRequestContext) async throws -> Response {
        let (form, viewer) = try await WebForm.read(request, visit)
        let step = try form.text("step")
        let state: SetupState
        switch form["do"] {
        case "write": return try await write(viewer)
        case "reset": state = try await ask(.reset)
        case "leave": state = try await ask(.leave, step: step)
        case "test":
            state = try await ask(.test, step: step, answers: Self.answers(form, step))
            return page(state, typed: form, state.faults.isEmpty ? .ok : .unprocessableContent)
        default: state = try await ask(.answer, step: step, answers: Self.answers(form, step))
        }
        guard state.faults.isEmpty || state.step != step else { return page(state, typed: form, .unprocessableContent) }
        guard !state.remarks.isEmpty, state.step != Self.review else { return PageAnswer.redirect(to: Self.path) }
        return parts.told(HTML.each(state.remarks) { "<p>\($0)</p>" }, viewer, on: Self.path)
    }

    private func ask(
        _ action: OwnCommands.Setup.Action, step: String? = nil, answers: [String] = [], isDryRun: Bool = false
    ) async throws -> SetupState {
        var arguments: [String: SettingValue] = ["action": .string(action.rawValue)]
        if let step { arguments["step"] = .string(step) }
        if !answers.isEmpty { arguments["answers"] = .list(answers.map { .string($0) }) }
        return try await parts.hub.run(
            OwnCommands.Setup.self, arguments, isDryRun: isDryRun, deadline: Self.deadline)
    }

    /// Has the hub write the file after the answer was sent, because the hub then ends this program.
    private func write(_ viewer: Viewer) async throws -> Response {
        let planned = try await ask(.write, isDryRun: true)
        guard planned.faults.isEmpty else { return page(planned, .unprocessableContent) }
        let (hub, notices) = (parts.hub, parts.notices)
        return done(planned).followed {
            do {
                let state = try await ask(.write)
                guard let fault = state.faults.first else { return }
                notices.put("<p class=\"bad\">Nothing was written: \(fault.reason)</p>", for: viewer)
            } catch let failure as CommandFailure {
                hub.logger.warning("hub.conf was not written", metadata: ["reason": "\(failure.message)"])
                notices.put("<p class=\"bad\">\(failure.words("Nothing was written"))</p>", for: viewer)
            } catch {
                // The hub ends this program before the answer arrives.
            }
        }
    }

    // MARK: - Forms

    private static let review = "review"
    private static let (plugins, persons) = ("plugins", "persons")
    /// The beginnings of the names of fields.
    private static let (answerPrefix, pluginPrefix) = ("q-", "plugin-")

    /// The answers of a form, each as the hub takes them.
    private static func answers(_ form: WebForm, _ step: String) -> [String] {
        if step == plugins { return ["\(plugins)=\(chosen(form).joined(separator: ","))"] }
        return form.others.filter { $0.name.hasPrefix(answerPrefix) }.map { name, text in
            "\(name.dropFirst(answerPrefix.count))=\(text)"
        }
    }

    /// The plugins that are checked in a form.
    private static func chosen(_ form: WebForm) -> [String] {
        form.others.filter { $0.name.hasPrefix(pluginPrefix) }.map { String($0.name.dropFirst(pluginPrefix.count)) }
    }

    private func field(_ question: SetupQuestion, _ state: SetupState, _ typed: WebForm?) -> HTML {
        let name = "\(Self.answerPrefix)\(question.name)"
        let isSetting = question.title == question.name
        let faults = state.faults.filter { $0.question == question.name }.map(\.reason)
        let title = isSetting ? NameWords.text(question.title) : question.title.capitalizedFirst
        var field = FormField(
            name: name, label: title + (question.needed ? " (needed)" : ""),
            code: isSetting && question.name.contains("_") ? question.name : nil,
            value: typed.map { $0[name] ?? "" } ?? question.value ?? "", hint: Self.hint(question),
            fault: faults.isEmpty ? nil : faults.joined(separator: "; "))
        if let fixed = question.fixed {
            field.hint = "\(question.help) It \(fixed): only hub configure changes it, once the hub runs."
            return field.fixed(question.value ?? (question.answered ? "set, and not shown" : "not set"))
        }
        if question.secret {
            field.value = ""
            let place = question.answered ? "set; stays if this is empty" : ""
            return field.line("password", "autocomplete=\"new-password\" placeholder=\"\(place)\"")
        }
        guard !question.choices.isEmpty else {
            return field.line(
                "text", "autocomplete=\"off\" spellcheck=\"false\" autocapitalize=\"off\" maxlength=\"4000\"")
        }
        let isYesNo = question.choices.map(\.value) == ["yes", "no"]
        if isYesNo, field.value.isEmpty { field.value = question.usual ?? "" }
        let empty = FormOption(value: "", text: question.usual.map { "as usual: \(Self.spoken($0))" } ?? "not set")
        return field.choice(
            (isYesNo ? [] : [empty]) + question.choices.map { FormOption(value: $0.value, text: Self.spoken($0.value)) }
        )
    }

    private static func spoken(_ value: String) -> String {
        switch value {
        case "true": "yes"
        case "false": "no"
        default: value
        }
    }

    private static func hint(_ question: SetupQuestion) -> String {
        let end = question.help.hasSuffix(".") ? "" : "."
        guard question.choices.isEmpty else { return question.help + end }
        let expected = question.expected.map { " Takes \($0)." } ?? ""
        let usual = question.usual.flatMap { $0.isEmpty ? nil : " If it is empty: \($0)." } ?? ""
        return "\(question.help)\(end)\(expected)\(usual)"
    }

    /// The fields of a step, those of a person below the person's name; further ones are folded.
    private func fields(_ state: SetupState, _ typed: WebForm?) -> HTML {
        var (content, group): (HTML, String?) = (HTML(), nil)
        for question in state.questions where !question.further {
            if let person = question.group, person != group { content += "<h2>\(person)</h2>" }
            group = question.group
            content += field(question, state, typed)
        }
        let further = state.questions.filter(\.further)
        guard !further.isEmpty else { return content }
        let isOpen = further.contains { question in state.faults.contains { $0.question == question.name } }
        return """
            \(content)<details \("open", if: isOpen)><summary>Further settings</summary>
            \(HTML.each(further) { field($0, state, typed) })</details>
            """
    }

    private func choices(_ state: SetupState, _ typed: WebForm?) -> HTML {
        guard let question = state.questions.first else { return HTML() }
        let chosen = typed.map(Self.chosen) ?? (question.value ?? "").components(separatedBy: ", ")
        let faults = HTML.each(state.faults) { "<p class=\"fault\">\($0.reason)</p>" }
        return """
            <p>Plugins connect the hub to scales, phones, files and services.</p>\(faults)
            \(HTML.each(question.choices) { choice in choiceLine(choice, isChosen: chosen.contains(choice.value)) })
            """
    }

    private func choiceLine(_ choice: SetupQuestion.Choice, isChosen: Bool) -> HTML {
        let fault = choice.fault.map { "<span class=\"faint\"> (cannot run: \($0))</span>" as HTML }
        let isChecked = isChosen && choice.fault == nil
        return """
            <div class="field"><label class="choice"><input type="checkbox" name="\(Self.pluginPrefix)\(choice.value)" value="yes" \
            \("checked", if: isChecked) \("disabled", if: choice.fault != nil)> <strong>\(choice.value)</strong>\
            \(choice.help.map { ": \($0)" as HTML })\(fault)</label></div>
            """
    }

    // MARK: - Pages

    private func page(
        _ state: SetupState, typed: WebForm? = nil, _ status: HTTPResponse.Status = .ok, notice: HTML? = nil
    ) -> Response {
        let isReview = state.step == Self.review
        let general =
            isReview || state.step == Self.plugins
            ? []
            : state.faults.filter { fault in
                !state.questions.contains { $0.name == fault.question }
            }
        let alert: HTML =
            state.faults.isEmpty || isReview
            ? HTML()
            : "<div class=\"notice bad\" role=\"alert\"><p>Nothing was taken: something is wrong.</p>\(HTML.each(general) { "<p>\($0.reason)</p>" })</div>"
        let trial = state.trial.map { trial -> HTML in
            trial.worked
                ? "<div class=\"notice\" role=\"status\"><p>It works: \(trial.text)</p></div>"
                : "<div class=\"notice bad\" role=\"alert\"><p>It did not work: \(trial.text)</p></div>"
        }
        return PageFrame(title: Self.title(state.step)).page(
            """
            \(Self.withoutScripts)\(notice.map { "<div class=\"notice\" role=\"status\">\($0)</div>" as HTML })
            \(Self.progress(state))\(alert)\(trial)
            \(state.summary.map { "<p>\($0)</p>" as HTML })
            \(isReview ? review(state) : form(state, typed))
            """, status)
    }

    private static func title(_ step: String) -> String {
        switch step {
        case "household": "Set up this hub"
        case persons: "Languages and units"
        case plugins: "Plugins"
        case review: "Look once more"
        default: String(step.split(separator: "/").last ?? "")
        }
    }

    /// The steps, with links to those that were answered.
    private static func progress(_ state: SetupState) -> HTML {
        let steps = HTML.each(state.steps) { step in
            let name = step.name == "household" ? "Who you are" : title(step.name)
            let address = path + "?" + FormText.write([(name: "step", value: step.name)])
            if step.name == state.step { return "<li aria-current=\"step\"><strong>\(name)</strong></li>" }
            return step.done ? "<li><a href=\"\(url: address)\">\(name)</a></li>" : "<li class=\"faint\">\(name)</li>"
        }
        return "<nav aria-label=\"Steps\"><ol>\(steps)</ol></nav>"
    }

    private func form(_ state: SetupState, _ typed: WebForm?) -> HTML {
        let isPlugin = state.step.hasPrefix("plugin/")
        let test: HTML? = state.testable ? "<button name=\"do\" value=\"test\">Save and try it</button>" : nil
        let leave: HTML? =
            isPlugin ? "<button name=\"do\" value=\"leave\" formnovalidate>Leave it out</button>" : nil
        return """
            <form class="entry" method="post" action="\(url: Self.path)">\(FormFields.hidden("step", state.step))
            \(state.step == Self.plugins ? choices(state, typed) : fields(state, typed))
            <div class="deeds"><button class="main" name="do" value="next">Next</button>\(test)\(leave)</div></form>
            """
    }

    private func review(_ state: SetupState) -> HTML {
        let faults = HTML.each(state.faults) { "<li class=\"bad\">\($0.reason)</li>" }
        let remarks = HTML.each(state.remarks) { "<li class=\"faint\">\($0)</li>" }
        let problems: HTML? = state.faults.isEmpty && state.remarks.isEmpty ? nil : "<ul>\(faults)\(remarks)</ul>"
        let write: HTML =
            state.faults.isEmpty
            ? HTML.button(Self.path, "Write it and start", [("step", Self.review), ("do", "write")], isMain: true)
            : "<p>Nothing can be written until that is corrected: go back to its step.</p>"
        return """
            <p>The hub writes <code>\(state.file)</code>: the project's hub.conf with these changes.</p>\(problems)
            <pre class="log" tabindex="0" role="region" aria-label="Changes">\(Self.lines(state.changes))</pre>
            <div class="deeds">\(write)\
            \(HTML.button(Self.path, "Begin again", [("step", Self.review), ("do", "reset")]))</div>
            """
    }

    private static func lines(_ changes: [SetupState.Change]) -> String {
        var (lines, table): ([String], String?) = ([], nil)
        for change in changes {
            if let header = change.table, change.table != table, change.line.dropFirst(2) != header {
                lines.append("  \(header)")
            }
            table = change.table
            lines.append(change.line)
        }
        return lines.joined(separator: "\n")
    }

    /// The last page, which is sent before the hub writes the file.
    private func done(_ state: SetupState) -> Response {
        let keepsPage = state.steps.contains { $0.name == "plugin/\(parts.hub.instance)" }
        let next = HTML.each(state.next) { "<li><code>\($0)</code></li>" }
        let rest: HTML =
            keepsPage
            ? """
            <p>This page is away for a moment. If it stays away, its address was changed: <code>hub web</code> prints another link.</p>
            <p><a class="button main" href="\(url: Self.path)">Go on</a></p>
            """ : "<p>This page ends with it. On the hub's machine, <code>hub status</code> shows the hub.</p>"
        return PageFrame(title: "The hub starts").page(
            """
            <p>The hub writes <code>\(state.file)</code> and starts with it.</p>\(rest)
            <h2>What to type next on the hub's machine</h2><ul>\(next)</ul>
            """)
    }

    private static let withoutScripts: HTML = """
        <noscript><p class="notice">Without JavaScript this page only shows the questions: switch it on, and log in again with \
        <code>hub web</code>.</p></noscript>
        """
}

extension String {
    fileprivate var capitalizedFirst: String { prefix(1).uppercased() + dropFirst() }
}
