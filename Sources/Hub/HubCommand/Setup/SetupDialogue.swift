import HubClient
import HubWire

/// Asks a person at a terminal the questions of a ``SetupInterview``, one after the other.
struct SetupDialogue {
    var interview: SetupInterview
    let prompt: SetupPrompt

    var draft: SetupDraft { interview.draft }

    init(_ interview: SetupInterview, _ prompt: SetupPrompt) {
        (self.interview, self.prompt) = (interview, prompt)
    }

    mutating func run() async throws {
        Terminal.explain(
            """
            hub setup asks for the contents of \(draft.path)\(draft.isNew ? "" : ", and changes only settings with another answer").
            Enter takes the value in [brackets], ? shows the allowed values, - removes a setting.
            Nothing is written before you have seen it at the end; Ctrl-C ends the setup.
            """)
        for question in interview.questions(of: .household) {
            Terminal.say("")
            try await ask(question, of: .household)
        }
        var group: String?
        for question in interview.questions(of: .persons) {
            if question.group != group { Terminal.say("") }
            group = question.group
            let name = question.group.map { "\($0): " } ?? ""
            try await ask(question, of: .persons, name + question.title)
        }
        try await plugins()
    }

    /// Asks a question until the answer is valid.
    ///
    /// - Parameter title: the words of the question; its title if not given.
    mutating func ask(
        _ question: SetupQuestion, of step: SetupInterview.Step, _ title: String? = nil
    ) async throws {
        let title = title ?? question.title
        while true {
            let answer =
                question.secret
                ? try await prompt.askHidden("\(title) (not displayed) [\(question.standing)]:")
                : try await prompt.ask("\(title) [\(question.standing)]:")
            // No person has the name -.
            let isRemoval = answer == "-" && question.name != SetupInterview.Name.people
            switch answer {
            case "?":
                Terminal.say("  \(question.help)" + (question.expected.map { " It takes \($0)." } ?? ""))
            case _ where question.needed && (isRemoval || answer.isEmpty && !question.answered):
                Terminal.say("  It is needed: \(question.expected ?? question.help).")
            case "": return
            default:
                do {
                    for remark in try interview.answer(question.name, isRemoval ? "" : answer, of: step) {
                        Terminal.say("  \(remark)")
                    }
                    return
                } catch let fault as SetupInterview.Fault { Terminal.say("  \(fault.reason)") }
            }
        }
    }
}

extension SetupQuestion {
    /// What stays if the answer is Enter alone.
    fileprivate var standing: String {
        let shown = secret && answered ? "as it is" : value ?? usual
        return shown.map { $0.isEmpty ? "none" : $0 } ?? (needed ? "needed" : "not set")
    }
}
