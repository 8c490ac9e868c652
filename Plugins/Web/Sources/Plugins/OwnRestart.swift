import Foundation
import HTMLText
import Hummingbird
import JSON
import PluginKit

extension WebParts {
    /// Has the hub restart a plugin, follow hub.conf, or write into it.
    ///
    /// Where that ends this very program, which could not answer any more, the answer goes out first: it is made of what the hub would do,
    /// and of what the hub refuses nothing is begun.
    /// - Parameter answer: makes it of the hub's result, and of whether that is still to come.
    /// - Throws: ``CommandFailure`` with the hub's reason; ``AskError``; what `answer` throws.
    func carryOut(
        _ command: String, _ arguments: [String: SettingValue] = [:], for viewer: Viewer,
        answer: (_ result: RawJSON, _ isToCome: Bool) async throws -> Response
    ) async throws -> Response {
        let (hub, notices) = (hub, notices)
        let deed = OwnDeed(hub: hub, command: command, arguments: arguments)
        let plan = try await deed.plan()
        guard try OwnDeed.Outlook(plan).ends(hub.instance) else {
            return try await answer(try await deed.run(plan), false)
        }
        return try await answer(plan, true).followed {
            do {
                guard try OwnDeed.Outlook(try await deed.begin()).applied ?? true else {
                    throw CommandFailure("configuration", "hub.conf has errors by now; hub check lists them")
                }
            } catch let failure as CommandFailure {
                hub.logger.warning("\(command) was not done", metadata: ["reason": "\(failure.message)"])
                if viewer.isBrowser {
                    notices.put("<p class=\"bad\">\(failure.words("It was not done"))</p>", for: viewer)
                }
            } catch {
                // The session ends with it, before the hub has answered.
            }
        }
    }
}

/// A command of the hub that may end this program, or its session.
private struct OwnDeed: Sendable {
    /// What its result says of that, and of what is left to do.
    struct Outlook: Decodable {
        /// Of `restart`, and of `configure`, which a plugin cannot have written into its own section.
        private var instance: String?
        /// `nil` where it has nothing to do with hub.conf.
        var applied: Bool?
        private var added: Bool?
        private var changes: [ConfigureAnswer.Change]?
        private var persons: [String]?
        private var instances: [ConfigureAnswer.Plan.Step]?
        private var plan: ConfigureAnswer.Plan?

        init(_ result: RawJSON) throws { self = try JSONDecoder().decode(Self.self, from: Data(result.bytes)) }

        private var steps: [ConfigureAnswer.Plan.Step] {
            (plan?.instances ?? instances ?? []).filter { $0.action != "leave" }
        }

        func ends(_ name: String) -> Bool { instance == name || steps.contains { $0.instance == name } }

        /// Whether hub.conf says it all, and the hub follows.
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
        // Programs are asked what they are, and one that hangs has ten seconds.
        try await hub.command(command, arguments, isDryRun: isDryRun, deadline: .seconds(120)) ?? .emptyObject
    }

    /// Has it done, where this program goes on.
    ///
    /// What changes what this plugin is told of persons ends its session, perhaps before the outcome is heard (Protocol R8.185): then the
    /// next session says whether it was done.
    /// - Parameter plan: what the hub would do.
    func run(_ plan: RawJSON) async throws -> RawJSON {
        let known = hub.sessionCount
        do {
            return try await begin()
        } catch let error as AskError where error.code == .lost {
            guard try Outlook(plan).applied != nil else { throw error }
            let now = try await Deadline.run(.seconds(20)) { try await look(beyond: known) }
            guard try Outlook(now).isDone else {
                throw CommandFailure(
                    "lost", "the session with the hub ended, and it is not done so far; look, and try again")
            }
            return Self.done(plan, now)
        }
    }

    /// What the hub would do by now, in another session.
    private func look(beyond known: Int) async throws -> RawJSON {
        var arguments = arguments
        // It is that of the file as it was.
        arguments["revision"] = nil
        try await hub.untilSession(beyond: known)
        while true {
            do {
                return try await ask(arguments, isDryRun: true)
            } catch let failure as CommandFailure where failure.code == "busy" {
                // The hub is still at it, and does not tell when it is done.
                try await Task.sleep(for: .milliseconds(50))
            }
        }
    }

    /// The result that was not heard: what was planned, and the file as it is now.
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
    /// What is seen while this page itself is away.
    static func away(_ words: HTML, _ choice: Choice, _ back: String) -> Response {
        page(
            Frame(title: "One moment", choice: choice).html(
                """
                <p>\(words): it makes this page, which is away for a moment.</p>
                <p><a class="button main" href="\(url: back)">Go on</a></p>
                """))
    }
}

extension Response {
    /// The same; `deed` begins when all of it has gone out.
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
    /// - Parameter undone: what was not done; left out where it may have been, for no one has told how it ended.
    func words(_ undone: String) -> String {
        isUnheard ? "It is not known how it ended: \(message)" : "\(undone): \(message)"
    }

    /// Whether no answer came, and it may have been done all the same.
    var isUnheard: Bool { ["deadline", "lost"].contains(code) }
}
