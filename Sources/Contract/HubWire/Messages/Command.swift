/// COMMAND: run a command that the plugin's manifest declares, or one of the hub's own (Protocol §8.2).
public struct CommandRequest: Hashable, Sendable {
    public enum Content: Hashable, Sendable {
        /// - Parameters:
        ///   - instance: `hub` or an instance, if an owner asks; `nil` if the hub asks a plugin.
        ///   - arguments: a JSON object that follows the command's declarations.
        ///   - isDryRun: change nothing and report the effect (R8.9).
        ///   - deadline: milliseconds.
        case run(instance: String?, command: String, arguments: RawJSON, isDryRun: Bool, deadline: Int64?)
        /// The person's answer to the outcome `ask` of this id.
        case answer(RawJSON)
        /// Stop the command of this id.
        case cancel
    }

    /// The allowed deadlines in milliseconds: up to a day.
    public static let deadlines: ClosedRange<Int64> = 1...86_400_000

    /// The sender's number of the command; PROGRESS and OUTCOME return it.
    public var id: Int64
    public var content: Content

    public init(id: Int64, content: Content) {
        (self.id, self.content) = (id, content)
    }

    public init(
        id: Int64, instance: String? = nil, command: String, arguments: RawJSON = .emptyObject, isDryRun: Bool = false,
        deadline: Int64? = nil
    ) {
        self.init(
            id: id,
            content: .run(
                instance: instance, command: command, arguments: arguments, isDryRun: isDryRun, deadline: deadline))
    }
}

extension CommandRequest: BodyCoding {
    init(reading object: ObjectReader) throws(WireError) {
        id = try object.integer("id")
        if try object.truthIfPresent("cancel") == true {
            content = .cancel
        } else if let answer = object.value("answer") {
            content = .answer(object.raw(answer))
        } else {
            content = .run(
                instance: try object.textIfPresent("instance"), command: try object.text("command"),
                arguments: try object.rawObjectIfPresent("args") ?? .emptyObject,
                isDryRun: try object.truthIfPresent("dryRun") ?? false,
                deadline: try object.integerIfPresent("deadline", in: Self.deadlines))
        }
    }

    func write(to body: inout ObjectWriter) {
        body.member("id", integer: id)
        switch content {
        case .run(let instance, let command, let arguments, let isDryRun, let deadline):
            body.member("instance", text: instance)
            body.member("command", text: command)
            body.member("args", raw: arguments)
            body.member("dryRun", truth: isDryRun ? true : nil)
            body.member("deadline", integer: deadline)
        case .answer(let answer): body.member("answer", raw: answer)
        case .cancel: body.member("cancel", truth: true)
        }
    }
}

/// PROGRESS: the progress of a command.
public struct CommandProgress: Hashable, Sendable {
    public var id: Int64
    public var done: Int64
    /// The total number, if it is known.
    public var total: Int64?
    public var text: String?

    public init(id: Int64, done: Int64, total: Int64? = nil, text: String? = nil) {
        (self.id, self.done, self.total, self.text) = (id, done, total, text)
    }
}

extension CommandProgress: BodyCoding {
    init(reading object: ObjectReader) throws(WireError) {
        self.init(
            id: try object.integer("id"), done: try object.integer("done"), total: try object.integerIfPresent("total"),
            text: try object.textIfPresent("text"))
    }

    func write(to body: inout ObjectWriter) {
        body.member("id", integer: id)
        body.member("done", integer: done)
        body.member("total", integer: total)
        body.member("text", text: text)
    }
}

/// A question of a command to a person.
public struct CommandQuestion: Hashable, Sendable {
    /// The instruction or question for the person.
    public var prompt: String
    /// A page to open.
    public var url: String?
    /// The address to which that page finally sends the person's browser; the answer is that address with the page's additions.
    public var redirect: String?
    /// Whether the answer must not be shown.
    public var isSecret: Bool

    public init(_ prompt: String, url: String? = nil, redirect: String? = nil, isSecret: Bool = false) {
        (self.prompt, self.url, self.redirect, self.isSecret) = (prompt, url, redirect, isSecret)
    }
}

/// OUTCOME: the result of a command; exactly one for each (R8.11), except that `ask` is followed by another.
public struct CommandOutcome: Hashable, Sendable {
    public enum Content: Hashable, Sendable {
        /// `result` may be any JSON value.
        case done(result: RawJSON?)
        /// `code` is `command`, `unsupported` or one that the command defines.
        case failed(code: String, reason: String)
        /// A person must answer, with a COMMAND of the same id.
        case ask(CommandQuestion)
        case cancelled
    }

    public var id: Int64
    public var content: Content

    public init(id: Int64, _ content: Content) {
        (self.id, self.content) = (id, content)
    }
}

extension CommandOutcome: BodyCoding {
    private enum Word: String, CaseIterable { case done, failed, ask, cancelled }

    init(reading object: ObjectReader) throws(WireError) {
        id = try object.integer("id")
        switch try object.word("outcome", as: Word.self) {
        case .done: content = .done(result: object.value("result").map(object.raw))
        case .failed: content = .failed(code: try object.text("code"), reason: try object.text("reason"))
        case .ask:
            content = .ask(
                CommandQuestion(
                    try object.text("prompt"), url: try object.textIfPresent("url"),
                    redirect: try object.textIfPresent("redirect"),
                    isSecret: try object.truthIfPresent("secret") ?? false))
        case .cancelled: content = .cancelled
        }
    }

    func write(to body: inout ObjectWriter) {
        body.member("id", integer: id)
        switch content {
        case .done(let result):
            body.member("outcome", text: Word.done.rawValue)
            body.member("result", raw: result)
        case .failed(let code, let reason):
            body.member("outcome", text: Word.failed.rawValue)
            body.member("code", text: code)
            body.member("reason", text: reason)
        case .ask(let question):
            body.member("outcome", text: Word.ask.rawValue)
            body.member("url", text: question.url)
            body.member("prompt", text: question.prompt)
            body.member("redirect", text: question.redirect)
            body.member("secret", truth: question.isSecret ? true : nil)
        case .cancelled: body.member("outcome", text: Word.cancelled.rawValue)
        }
    }
}
