extension OwnCommands {
    /// `setup`: asks for the contents of `hub.conf` while there is none, and writes it (R8.200).
    package struct Setup: OwnCommand {
        package typealias Result = SetupState

        package enum Action: String, Codable, Hashable, Sendable, CaseIterable {
            case look, answer, leave, test, write, reset
        }

        package static let declaration = CommandDeclaration(
            "setup", help: "Asks for the contents of hub.conf while there is none, and writes it.",
            arguments: [
                SettingDeclaration(
                    "action", .choice(Action.allCases.map(\.rawValue)),
                    help:
                        "look: read a step; answer: take its answers; test: the same, then try the plugin; leave: disable the plugin; write: write the file; reset: begin again.",
                    default: .string(Action.look.rawValue)),
                SettingDeclaration(
                    "step", .string(TextRule(example: "plugin/exist")),
                    help: "The step; the first one that is not done if not set."),
                SettingDeclaration(
                    "answers", .list(of: .string(TextRule(example: "zone=Europe/Berlin"))),
                    help:
                        "Answers to questions of the step, each NAME=TEXT; without TEXT the value is removed. An omitted question keeps its value."
                ),
            ], canDryRun: true)

        package var action: Action
        package var step: String?
        package var answers: [String]?

        package init(_ action: Action, step: String? = nil, answers: [String]? = nil) {
            (self.action, self.step, self.answers) = (action, step, answers)
        }
    }
}

/// A step of a set-up with its questions, and how far the set-up is.
package struct SetupState: Codable, Hashable, Sendable {
    /// Questions that are answered together.
    package struct Step: Codable, Hashable, Sendable {
        /// `household`, `persons`, `plugins`, `plugin/` and the name of a plugin, or `review`.
        package var name: String
        /// Whether it was answered.
        package var done: Bool

        package init(_ name: String, done: Bool) { (self.name, self.done) = (name, done) }
    }

    /// A reason why answers were not taken.
    package struct Fault: Codable, Hashable, Sendable {
        /// The question that it is about; absent if it is about none or several.
        package var question: String?
        package var reason: String

        package init(_ reason: String, of question: String? = nil) { (self.question, self.reason) = (question, reason) }
    }

    /// A line by which the file will differ from the project's `hub.conf`.
    package struct Change: Codable, Hashable, Sendable {
        /// The header line of the table; absent above all tables.
        package var table: String?
        /// `+` and the new line, or `-` and the removed one.
        package var line: String

        package init(table: String?, line: String) { (self.table, self.line) = (table, line) }
    }

    /// The result of trying a plugin.
    package struct Trial: Codable, Hashable, Sendable {
        package var worked: Bool
        /// The report of the program, or the problem.
        package var text: String

        package init(worked: Bool, text: String) { (self.worked, self.text) = (worked, text) }
    }

    /// The path of the file that will be written.
    package var file: String
    package var dryRun: Bool
    /// Whether the file was written; the hub then starts with it.
    package var written = false
    /// All steps, in order.
    package var steps: [Step]
    /// The step that this answer describes: after answers without faults the next one.
    package var step: String
    /// The plugin of the step in a sentence; absent for other steps.
    package var summary: String?
    package var questions: [SetupQuestion]
    /// If there are any, nothing was taken or written.
    package var faults: [Fault] = []
    /// Notes about the answers or the file.
    package var remarks: [String] = []
    /// Whether the plugin of the step reaches a device or a service, so that it can be tried.
    package var testable = false
    /// The result of `test`; absent for other actions.
    package var trial: Trial?
    /// Only for `review`: without secrets.
    package var changes: [Change] = []
    /// Only for `review`: the commands to type when the file is written.
    package var next: [String] = []

    package init(file: String, dryRun: Bool, steps: [Step], step: String, questions: [SetupQuestion]) {
        (self.file, self.dryRun, self.steps, self.step) = (file, dryRun, steps, step)
        self.questions = questions
    }
}

extension SetupState: CommandResult {}
