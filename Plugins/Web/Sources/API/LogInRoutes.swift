import Hummingbird
import JSON
import PluginKit

/// Log-ins at the services of plugins, which a program leads for a person, and the logged-in browsers.
enum LogInRoutes {
    private static let answer = APIRoute.Answer("The current question, or the result.", schema)

    static let all: [APIRoute] = [
        .get(
            "/plugins/{name}/login", "Where the log-in of a plugin at its service stands.", isOwners: true,
            [Parameters.plugin], answer: answer
        ) { call in
            let name = try await call.pluginWithLogIn()
            return .json(await state(call.parts.logIns.talk(of: name, for: call.viewer), call.viewer))
        },
        .post(
            "/plugins/{name}/login",
            "Begins a log-in, which has ten minutes; answers when there is a question or a result, after 15 seconds at most.",
            [Parameters.plugin],
            body: ["type": "object", "description": "Arguments of the plugin's command login."], answer: answer,
            handle: begin),
        .post(
            "/plugins/{name}/login/answer",
            "Answers the question, and waits as long for the next one or the result.", [Parameters.plugin],
            body: Schemas.object(
                [("question", ["type": "integer", "minimum": 1]), ("answer", ["type": "string"])], isClosed: true),
            answer: answer, handle: answerQuestion),
        .post(
            "/plugins/{name}/login/cancel", "Gives up the log-in that is under way, also another viewer's.",
            [Parameters.plugin], answer: .init("Whether a log-in was given up, or none was under way.", schema)
        ) { call in
            let name = try await call.pluginWithLogIn()
            await call.parts.logIns.cancel(name)
            return .json(await state(call.parts.logIns.talk(of: name, for: call.viewer), call.viewer))
        },
        .get(
            "/sessions", "The browsers that are logged in to the page.", isOwners: true,
            answer: .init(
                "Those of hub web sessions.",
                Schemas.object([
                    (
                        "sessions",
                        Schemas.list(
                            Schemas.object(
                                ["session", "person", "user", "since", "until"].map { ($0, ["type": "string"]) },
                                optional: ["person", "user"]))
                    )
                ]))
        ) { call in try .json(encoding: ["sessions": try await call.parts.sessions()]) },
    ]

    private static let schema = Schemas.object(
        [
            (
                "state",
                [
                    "enum": ["none", "another", "working", "asking", "loggedIn", "failed", "unknown", "givenUp"],
                    "description":
                        "another: someone else's log-in is under way. unknown: no answer came, and the plugin may be logged in.",
                ]
            ),
            ("question", ["type": "integer", "description": "Its number, for the answer."]),
            ("prompt", ["type": "string", "description": "The instruction to the person, such as a value to enter."]),
            ("url", ["type": "string", "description": "A page that the person is to open."]),
            (
                "redirect",
                [
                    "type": "string",
                    "description":
                        "The address on which that page ends; the answer is that address with everything added to it.",
                ]
            ),
            ("secret", ["type": "boolean", "description": "Whether the answer is secret, and not shown."]),
            ("user", ["type": "string", "description": "The user of the service."]),
            ("detail", ["type": "string", "description": "Why not, in words."]),
        ], optional: ["question", "prompt", "url", "redirect", "secret", "user", "detail"])

    private static func state(_ talk: LogInSession?, _ viewer: Viewer) async -> JSONTree {
        func members(_ state: String, _ more: [(String, JSONTree?)] = []) -> JSONTree {
            JSONTree(present: [("state", .text(state))] + more)
        }
        guard let talk else { return members("none") }
        guard talk.session == viewer.session.hash else { return members("another") }
        if case .asking(let question, let number) = await talk.state {
            return members(
                "asking",
                [
                    ("question", JSONTree(number)), ("prompt", .text(question.prompt)),
                    ("url", question.url.map(JSONTree.text)), ("redirect", question.redirect.map(JSONTree.text)),
                    ("secret", .truth(question.isSecret)),
                ])
        }
        return switch talk.outcome {
        case .loggedIn(let user)?: members("loggedIn", [("user", user.map(JSONTree.text))])
        case .failed(let reason)?: members("failed", [("detail", .text(reason))])
        case .unknown(let reason)?: members("unknown", [("detail", .text(reason))])
        case .givenUp?: members("givenUp")
        case nil: members("working")
        }
    }

    @Sendable private static func begin(_ call: APICall) async throws -> Response {
        let (name, arguments) = (try await call.pluginWithLogIn(), try await call.arguments())
        try call.demand(.commands)
        guard let talk = await call.parts.logIns.begin(name, arguments, call.parts.hub, for: call.viewer) else {
            throw RequestRefusal(
                .conflict, "Log-ins are under way already",
                "name: finish or cancel the one of \(name), or one of another plugin.", member: "name")
        }
        return .json(await state(talk, call.viewer))
    }

    @Sendable private static func answerQuestion(_ call: APICall) async throws -> Response {
        let (name, arguments) = (try await call.pluginWithLogIn(), try await call.arguments())
        guard let question = arguments["question"]?.integer, let number = Int(exactly: question) else {
            throw RequestRefusal(
                .badRequest, "question is not valid", "question: expected the number of the current question.",
                member: "question")
        }
        guard let text = arguments["answer"]?.string else {
            throw RequestRefusal(.badRequest, "answer is not valid", "answer: expected a text.", member: "answer")
        }
        if let other = arguments.keys.sorted().first(where: { !["question", "answer"].contains($0) }) {
            throw RequestRefusal(
                .badRequest, "There is no member \(other)", "\(other): it takes question and answer.", member: other)
        }
        guard let talk = await call.parts.logIns.answer(name, text, to: number, for: call.viewer) else {
            throw RequestRefusal(
                .conflict, "This question is not open",
                "question: GET /api/v1/plugins/\(name)/login has the current question.", member: "question")
        }
        return .json(await state(talk, call.viewer))
    }
}

extension APICall {
    /// The plugin that the address names.
    ///
    /// - Throws: ``noSuchPage`` if there is no such plugin, or it has no log-in.
    fileprivate func pluginWithLogIn() async throws -> String {
        // Without this right the hub does not list a plugin's commands.
        try demand(.plugins)
        let facts = try await parts.hub.pluginFacts(of: text("name"))
        guard facts.has("login") else { throw noSuchPage }
        return facts.name
    }

    /// - Throws: ``RequestRefusal`` with the command that grants the right.
    fileprivate func demand(_ right: OwnerRight) throws {
        guard !parts.grants.have(right) else { return }
        var refusal = RequestRefusal(
            .forbidden, "hub.conf does not grant this",
            "\(right.rawValue) is not granted to the page: \(parts.grants.command) grants it all that it asks for.")
        refusal.code = "forbidden"
        throw refusal
    }
}
