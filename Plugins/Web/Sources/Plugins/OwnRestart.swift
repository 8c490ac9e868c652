import Foundation
import Hummingbird
import JSON
import PluginKit

extension WebParts {
    /// Runs a command that restarts a plugin, applies hub.conf, or changes it.
    ///
    /// If the command ends this program, which then cannot answer, the answer is sent first. It is made from the hub's plan, and a
    /// command that the hub refuses is not begun.
    /// - Parameter answer: makes the answer from the hub's result, also as the hub wrote it, and from whether the result is only planned.
    /// - Throws: ``CommandFailure`` with the hub's reason; ``AskError``; errors of `answer`.
    func carryOut<Command: OwnCommand>(
        _ command: Command.Type, _ arguments: [String: SettingValue] = [:], for viewer: Viewer,
        answer: (_ result: Command.Result, _ json: RawJSON, _ isToCome: Bool) async throws -> Response
    ) async throws -> Response {
        let (hub, notices) = (hub, notices)
        let deed = SelfEndingCommand(hub: hub, command: command.name, arguments: arguments)
        let plan = try await deed.plan()
        guard try SelfEndingCommand.RestartEffects(plan).ends(hub.instance) else {
            let result = try await deed.run(plan)
            return try await answer(try Command.result(result), result, false)
        }
        return try await answer(try Command.result(plan), plan, true).followed {
            do {
                guard try SelfEndingCommand.RestartEffects(try await deed.begin()).applied ?? true else {
                    throw CommandFailure("configuration", "hub.conf now has errors; hub check lists them")
                }
            } catch let failure as CommandFailure {
                hub.logger.warning("\(deed.command) was not done", metadata: ["reason": "\(failure.message)"])
                if viewer.isBrowser {
                    notices.put("<p class=\"bad\">\(failure.words("It was not done"))</p>", for: viewer)
                }
            } catch {
                // The command ends the session before the hub has answered.
            }
        }
    }
}

/// A hub command that may end this program or its session.
private struct SelfEndingCommand: Sendable {
    /// The part of the result that says what ends and what remains to do.
    struct RestartEffects: Decodable {
        /// In the result of `restart` and `configure`; a plugin cannot have its own section changed.
        private var instance: String?
        /// Nil for commands that do not concern hub.conf.
        var applied: Bool?
        private var added: Bool?
        private var changes: [ConfigureReport.Change]?
        private var persons: [String]?
        private var instances: [ApplyReport.Step]?
        private var plan: ApplyReport?

        init(_ result: RawJSON) throws { self = try JSONDecoder().decode(Self.self, from: Data(result.bytes)) }

        private var steps: [ApplyReport.Step] { (plan?.instances ?? instances ?? []).filter { $0.action != .leave } }

        func ends(_ name: String) -> Bool { instance == name || steps.contains { $0.instance == name } }

        /// Whether hub.conf has the change, and the hub applies it.
        var isDone: Bool {
            if let changes { return changes.isEmpty && added != true }
            return steps.isEmpty && persons?.isEmpty ?? true
        }
    }

    let hub: PluginContext
    let command: String
    let arguments: [String: SettingValue]

    func plan() async throws -> RawJSON { try await ask(arguments, isDryRun: true) }

    func begin() async throws -> RawJSON { try await ask(arguments, isDryRun: false) }

    private func ask(_ arguments: [String: SettingValue], isDryRun: Bool) async throws -> RawJSON {
        // The hub asks programs for their manifests, and a hanging one has ten seconds.
        try await hub.command(command, arguments, isDryRun: isDryRun, deadline: .seconds(120)) ?? .emptyObject
    }

    /// Runs the command if this program continues.
    ///
    /// A change of this plugin's persons ends its session, perhaps before the result arrives (Protocol R8.185); then the next session
    /// shows whether it was done.
    /// - Parameter plan: the hub's plan.
    func run(_ plan: RawJSON) async throws -> RawJSON {
        let known = hub.sessionCount
        do { return try await begin() } catch let error as AskError where error.code == .lost {
            guard try RestartEffects(plan).applied != nil else { throw error }
            let now = try await HubTimeLimit.run(.seconds(20)) { try await look(beyond: known) }
            guard try RestartEffects(now).isDone else {
                throw CommandFailure(
                    "lost", "the session with the hub ended, and it is not done so far; look, and try again")
            }
            return Self.done(plan, now)
        }
    }

    /// The hub's plan in a later session.
    private func look(beyond known: Int) async throws -> RawJSON {
        var arguments = arguments
        // The revision belongs to the former file.
        arguments["revision"] = nil
        try await hub.untilSession(beyond: known)
        while true {
            do {
                return try await ask(arguments, isDryRun: true)
            } catch let failure as CommandFailure where failure.code == "busy" {
                // The hub is still at work, and does not report the end.
                try await Task.sleep(for: .milliseconds(50))
            }
        }
    }

    /// The missing result, made from the plan and the present file.
    private static func done(_ plan: RawJSON, _ now: RawJSON) -> RawJSON {
        guard let planned = JSONTree(plan.bytes), let seen = JSONTree(now.bytes) else { return plan }
        return RawJSON(trusted: done(planned, seen).bytes)
    }

    private static func done(_ planned: JSONTree, _ seen: JSONTree) -> JSONTree {
        .object(
            (planned.members ?? []).map { member in
                let value: JSONTree =
                    switch member.name {
                    case "dryRun": false
                    case "plan": done(member.value, seen)
                    case "revision", "settings": seen[member.name] ?? member.value
                    default: member.value
                    }
                return .init(member.name, value)
            })
    }
}

extension PageAnswer {
    /// The page that is shown while this plugin is restarted.
    static func away(_ words: HTML, _ choice: SelectedPerson, _ back: String) -> Response {
        PageFrame(title: "One moment", choice: choice).page(
            """
            <p>\(words): it makes this page, which is away for a moment.</p>
            <p><a class="button main" href="\(url: back)">Go on</a></p>
            """)
    }
}

extension Response {
    /// The same response; `deed` begins when all of it was sent.
    func followed(by deed: @escaping @Sendable () async -> Void) -> Response {
        var response = self
        let body = body
        response.body = ResponseBody(contentLength: body.contentLength) { writer in
            try await body.write(writer)
            await deed()
        }
        return response
    }
}

extension CommandFailure {
    /// The reason, for people.
    ///
    /// - Parameter undone: names the action that was not done; omitted if the outcome is unknown.
    func words(_ undone: String) -> String {
        isUnanswered ? "It is not known how it ended: \(message)" : "\(undone): \(message)"
    }

    /// Whether there was no answer, so that it may have been done.
    var isUnanswered: Bool { ["deadline", "lost"].contains(code) }
}
