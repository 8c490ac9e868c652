/// A question of a set-up, with all that a person needs to answer it in a terminal or in a form.
package struct SetupQuestion: Codable, Hashable, Sendable {
    /// A possible answer.
    package struct Choice: Codable, Hashable, Sendable {
        package var value: String
        /// The explanation of the value; absent if there is none.
        package var help: String?
        /// The reason why it cannot be chosen; absent if it can.
        package var fault: String?

        package init(value: String, help: String? = nil, fault: String? = nil) {
            (self.value, self.help, self.fault) = (value, help, fault)
        }
    }

    /// Its name in the answers of its step: a setting, or `anna.locale` for a setting of a person.
    package var name: String
    package var title: String
    /// The person that it is about; absent if it is about none.
    package var group: String?
    /// One or more sentences that explain it.
    package var help: String
    /// The rule for an answer, in words that follow "takes"; absent if `help` has it.
    package var expected: String?
    /// The possible answers; empty if they are not a list.
    package var choices: [Choice] = []
    /// Whether the answer is a list of values with commas between.
    package var several = false
    /// The present value, in the form of an answer; absent if there is none, and for a secret.
    package var value: String?
    /// Whether there is a present value, even if it is not shown.
    package var answered = false
    /// The effect if there is no value; absent if it has no name.
    package var usual: String?
    /// Whether it must have a value.
    package var needed = false
    /// Whether its answer must not be shown.
    package var secret = false
    /// Whether most people leave it as it is.
    package var further = false
    /// The reason why a program may not answer it; absent if it may.
    package var fixed: String?

    package init(_ name: String, title: String, help: String, expected: String? = nil) {
        (self.name, self.title, self.help, self.expected) = (name, title, help, expected)
    }
}
