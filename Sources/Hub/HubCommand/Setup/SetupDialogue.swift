import Foundation
import HealthText
import HubClient
import HubCore
import HubSettings
import HubWire

/// Asks a person for the content of `hub.conf` and checks each answer before the next question.
struct SetupDialogue {
    var draft: SetupDraft
    let prompt: SetupPrompt

    mutating func run() async throws {
        Terminal.explain(
            """
            hub setup asks for the contents of \(draft.path)\(draft.isNew ? "" : ", and changes only settings with another answer").
            Enter takes the value in [brackets], ? shows the allowed values, - removes a setting.
            Nothing is written before you have seen it at the end; Ctrl-C ends the setup.
            """)
        Terminal.say("")
        try await hub()
        try await people()
        try await plugins()
    }

    private mutating func hub() async throws {
        guard let zone = HubConfiguration.hubDeclarations.first(where: { $0.name == "zone" }) else { return }
        try await ask(zone, of: ["hub"], "Time zone", usual: "\(TimeZone.current.identifier), this machine's")
    }

    // MARK: - People

    private mutating func people() async throws {
        let known = draft.isNew ? [] : draft.people
        Terminal.say("")
        let question =
            known.isEmpty
            ? "Who are the people? Names with commas between [\(HubTemplate.person)]"
            : "People are \(known.map(\.bothNames).joined(separator: ", ")). Who else? Names with commas between [none]"
        while true {
            let answer = try await prompt.ask(question + ":")
            if answer == "?" {
                Terminal.say(
                    "  A name in any letters: anna, Jürgen. Files and topics have names in plain letters, such as juergen."
                )
                continue
            }
            let added: [EnteredPerson]
            do throws(PersonName.InvalidNames) {
                added = try PersonName.entered(Self.names(answer), besides: known)
            } catch {
                Terminal.say("  \(error.reason)")
                continue
            }
            for person in added {
                try draft.add(person)
                guard let shown = person.displayName else { continue }
                Terminal.say("  \(shown) is \(person.name) in hub.conf and in files; commands take both names")
            }
            break
        }
        let declarations = HouseholdSettings.ofPersons
        for person in draft.people {
            let name = person.name
            Terminal.say("")
            for (key, title, usual) in Self.personal(isAlone: draft.persons.count == 1) {
                guard let declaration = declarations.first(where: { $0.name == key }) else { continue }
                try await ask(declaration, of: ["person", name], "\(person.shownName): \(title)", usual: usual)
            }
        }
    }

    /// The names in an answer: `Anna, Ben and Zoe` are three.
    private static func names(_ answer: String) -> [String] {
        SettingAnswer.parts(answer.replacing(#/ (?:&|and|und) /#, with: ","))
    }

    /// The settings to ask a person for, and their defaults.
    private static func personal(isAlone: Bool) -> [(key: String, title: String, usual: String)] {
        let machine = DisplayPreferences.machineLocale(ProcessInfo.processInfo.environment)
            .map { "\($0.identifier), this machine's" }
        let own: [(key: String, title: String, usual: String)] = [
            (
                "locale", "language and region for numbers and dates, such as de_DE",
                machine ?? "not set: kilograms, and dates such as 2026-03-15"
            ),
            ("unit", "unit of weights (kg, lb or st)", "kg, or lb in the US"),
        ]
        guard !isAlone else { return own }
        return own + [
            ("zone", "time zone", "as above"),
            ("expected_weight", "usual weight in kg, to tell people on one scale apart", "not set"),
        ]
    }

    // MARK: - One setting

    /// Asks for a setting until the answer is valid.
    ///
    /// - Parameter usual: a description of the default.
    mutating func ask(
        _ declaration: SettingDeclaration, of table: [String], _ title: String, usual: String? = nil
    ) async throws {
        let key = declaration.name
        while true {
            let current = draft.value(table, key).flatMap { HubTemplate.isExample($0) ? nil : $0 }
            let shown =
                current.map { declaration.isSecret ? "as it is" : SettingAnswer.text($0) }
                ?? usual ?? declaration.defaultValue.map { SettingAnswer.text($0) }
            let standing = shown.map { $0.isEmpty ? "none" : $0 } ?? (declaration.isRequired ? "needed" : "not set")
            let question = "\(title) [\(standing)]:"
            let answer =
                declaration.isSecret
                ? try await prompt.askHidden("\(title) (not displayed) [\(standing)]:") : try await prompt.ask(question)
            switch answer {
            case "?": Terminal.say("  \(declaration.help) It takes \(declaration.type.expected).")
            case "" where current == nil && declaration.isRequired && usual == nil, "-" where declaration.isRequired:
                Terminal.say("  It is needed: \(declaration.type.expected).")
            case "": return
            default:
                if let fault = judged(answer, declaration, table) {
                    Terminal.say("  \(fault)")
                    continue
                }
                if let meaning = meaning(of: answer, declaration, table) { Terminal.say("  taken as \(meaning)") }
                return
            }
        }
    }

    /// The written value if it differs from the answer: `Europe/Berlin` for `Berlin`.
    private func meaning(of answer: String, _ declaration: SettingDeclaration, _ table: [String]) -> String? {
        guard !declaration.isSecret, declaration.type != .boolean, let value = draft.value(table, declaration.name)
        else { return nil }
        let (text, plain) = (SettingAnswer.text(value), { (text: String) in text.filter { !$0.isWhitespace } })
        return plain(text) == plain(answer) ? nil : text
    }

    /// Sets the answer in the draft; if it is invalid, returns the reason and leaves the draft unchanged.
    private mutating func judged(_ answer: String, _ declaration: SettingDeclaration, _ table: [String]) -> String? {
        let before = draft
        do throws(Failure) {
            if answer == "-" {
                try draft.set(table, declaration.name, nil)
            } else if declaration.isSecret, !answer.hasPrefix("${") {
                try draft.set(table, declaration.name, secret: answer)
            } else {
                try draft.set(
                    table, declaration.name,
                    SettingAnswer.value(
                        answer, declaration.type,
                        unit: table.first == "person" ? HubConfiguration.unit(ofPersonal: declaration.name) : nil))
            }
        } catch {
            draft = before
            return error.message
        }
        guard let problem = draft.problems().errors(table, declaration.name).first else { return nil }
        draft = before
        return problem.reason
    }
}
