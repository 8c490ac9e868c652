import HubWire
import PluginKit
import PluginTesting
import Testing

/// Owner's rights used by a plugin, tested as an author of plugins would.
@Suite(.timeLimit(.minutes(1))) struct OwnerTests {
    @Test func `R12.10 owner's queries are answered if they are granted, and refused otherwise`() async throws {
        struct Known: Decodable { var name: String }
        struct Story: Decodable {
            var number: Int64
            var next: String?
        }
        let scene = try await Scene {
            $0.grants.owner = ["persons", "trace", "logs", "of a newer hub"]
            $0.ownersAnswers = [
                .logs: RawJSON(
                    trusted: Array(
                        #"{"instance":"exist","lines":[{"time":"t","level":"info","from":"hub","text":"x"}],"more":true}"#
                            .utf8)),
                .persons: RawJSON(trusted: Array(#"[{"name":"me"}]"#.utf8)),
                .trace: RawJSON(trusted: Array(#"{"number":7,"next":"x"}"#.utf8)),
            ]
        }
        let run = await scene.complete { hub in
            #expect(hub.ownerRights.isEmpty || hub.sessionCount > 0)
            try await hub.untilSession(beyond: 0)
            #expect(hub.ownerRights == [.persons, .trace, .logs])
            let log = try await hub.logs(of: "exist", limit: 1)
            #expect(log.lines.map(\.text) == ["x"] && log.lines[0].from == .hub && log.more)
            #expect(try await hub.ask(.persons, as: [Known].self).map(\.name) == ["me"])
            #expect(try await hub.ask(.persons).text == #"[{"name":"me"}]"#)
            let story = try await hub.trace(7, limit: 2, next: "y", as: Story.self)
            #expect(story.number == 7 && story.next == "x")
            await #expect { try await hub.ask(.status) } throws: { error in
                (error as? AskError)?.error?.code == .forbidden
            }
        }
        let asked = await scene.hub.queries.filter { $0.want == .trace }
        #expect(asked.map(\.number) == [7] && asked.map(\.limit) == [2] && asked.map(\.next) == ["y"])
        try await scene.end(run)
    }

    /// Runs a plugin that sends commands to the hub with these rights.
    private func command(
        _ granted: [String], _ outcome: @escaping @Sendable (CommandRequest) -> CommandOutcome.Content?,
        _ body: @escaping @Sendable (PluginContext) async throws -> Void
    ) async throws -> [CommandRequest] {
        let scene = try await Scene {
            $0.grants.owner = granted
            $0.ownersCommand = outcome
        }
        let run = await scene.complete(body)
        let asked = await scene.hub.ownersCommands
        try await scene.end(run)
        return asked
    }

    @Test
    func `R12.10 a plugin sends granted commands to the hub, answers questions, and gets the reason of a failure`()
        async throws
    {
        let asked = try await command(["restart", "commands"]) { request in
            switch request.content {
            case .run(nil, "restart", _, let isDryRun, _): .done(result: isDryRun ? nil : .string("yes"))
            case .run("exist", "login", _, _, _): .ask(CommandQuestion("code?", url: "https://exist.example"))
            case .answer(let answer): .done(result: answer)
            default: .failed(code: "absent", reason: "it does not run")
            }
        } _: { hub in
            let arguments: [String: SettingValue] = ["instance": .string("exist"), "days": .integer(7)]
            #expect(try await hub.command("restart", arguments, deadline: .milliseconds(1_500))?.text == "\"yes\"")
            #expect(try await hub.command("restart", isDryRun: true) == nil)
            let answer = try await hub.command(
                "login", of: "exist",
                answering: { question in
                    #expect(question.url == "https://exist.example")
                    return .string("7")
                })
            #expect(answer?.text == "\"7\"")
            await #expect { _ = try await hub.command("login", of: "exist") } throws: { error in
                (error as? CommandFailure)?.code == "ask"
            }
            await #expect { _ = try await hub.command("work", of: "exist") } throws: { error in
                (error as? CommandFailure) == CommandFailure("absent", "it does not run")
            }
            await #expect { _ = try await hub.command("stop") } throws: { error in
                (error as? AskError)?.error?.code == .forbidden
            }
        }
        guard case .run(let instance, let name, let arguments, let isDryRun, let deadline)? = asked.first?.content
        else {
            Issue.record("\(asked)")
            return
        }
        #expect(instance == nil && name == "restart" && !isDryRun && deadline == 1_500)
        #expect(arguments.text == #"{"days":7,"instance":"exist"}"#)
        #expect(asked.contains { $0.content == .cancel }, "an unanswered question is cancelled")
    }

    @Test func `a cancelled command is cancelled at the hub, and one of a lost session is not sent again`() async throws
    {
        let asked = try await command(["restart"], { _ in nil }) { hub in
            let task = Task { try await hub.command("restart") }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
        #expect(asked.count == 0 || asked.last?.content == .cancel, "\(asked)")
        let scene = try await Scene {
            $0.grants.owner = ["restart"]
            $0.ownersCommand = { _ in nil }
        }
        let done = Gate()
        let run = scene.run { hub in
            await #expect { _ = try await hub.command("restart") } throws: { ($0 as? AskError)?.code == .lost }
            await done.open()
        }
        await scene.hub.wait { !$0.ownersCommands.isEmpty }
        await scene.hub.send(.error(SessionTable.helloFirst))
        await scene.hub.forgetSessions()
        await done.wait()
        #expect(await scene.hub.ownersCommands.count == 1)
        try await scene.end(run)
    }
}
