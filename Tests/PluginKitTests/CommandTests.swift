import Foundation
import HubWire
import PluginKit
import PluginTesting
import Samples
import Testing

/// A plugin with several commands.
private struct Obliging: SourcePlugin {
    static let manifest = Manifest(
        name: "obliging", summary: "Carries out test commands.", version: "1.0", writes: ["weight"],
        commands: [CommandDeclaration("elsewhere", help: "A declared command without a handler.")])
    static let commands: [Command<Self>] = [
        Command(
            "refresh", help: "Asks again.",
            arguments: [.init("days", .integer(Bounds(1, 30)), help: "How many.", default: .integer(7))],
            canDryRun: true
        ) { _, call in
            let days = try call.arguments.integer("days")
            if call.isDryRun { return ["would": days] }
            for day in 1...days { call.progress(day, of: days, "day \(day)") }
            return ["days": days]
        },
        Command("login", help: "Logs in.") { plugin, call in
            let code = try await call.ask("code?", url: "https://example.org/login")
            guard code == "4711" else { throw CommandFailure("auth", "the code is wrong; log in again") }
            return nil
        },
        Command("wait", help: "Waits until it is cancelled.") { plugin, call in
            call.progress(1)
            await call.hub.untilStopped()
            try Task.checkCancellation()
            return nil
        },
    ]

    func run(_ hub: PluginContext) async throws { await hub.untilStopped() }
}

/// Ends its own work as soon as it gets a command.
private struct Brief: SourcePlugin {
    static let manifest = Manifest(
        name: "brief", summary: "Ends as soon as it gets a command.", version: "1.0", writes: ["weight"])
    static let commands: [Command<Self>] = [
        Command("login", help: "Logs in.") { plugin, call in
            await plugin.asked.open()
            await plugin.over.wait()
            return ["code": try await call.ask("code?")]
        }
    ]

    let asked = Gate()
    let over = Gate()

    func run(_ hub: PluginContext) async throws {
        await asked.wait()
        await over.open()
    }
}

@Suite(.timeLimit(.minutes(1))) struct CommandTests {
    private func withPlugin(_ body: (FakeHub) async throws -> Void) async throws {
        let scene = try await Scene()
        let run = PluginRun(Obliging(), at: scene.place)
        await scene.hub.hellos(1)
        try await body(scene.hub)
        try await scene.end(run)
    }

    @Test func `a command runs its handler with defaults, and reports progress and a result`() async throws {
        try await withPlugin { hub in
            let call = await hub.begin("refresh")
            #expect(await hub.outcome(of: call) == .done(result: RawJSON(#"{"days":7}"#)))
            let told = await hub.progress(of: call)
            #expect(told.allSatisfy { $0.total == 7 } && told.map(\.done) == told.map(\.done).sorted())
            let dry = await hub.command("refresh", RawJSON(#"{"days":3}"#) ?? .emptyObject, isDryRun: true)
            #expect(dry == .done(result: RawJSON(#"{"would":3}"#)))
        }
    }

    @Test func `R8.17 an unknown command, dry run or argument fails with a reason`() async throws {
        try await withPlugin { hub in
            for name in ["fly", "elsewhere"] {
                let reason = "obliging has no command \"\(name)\"; it has login, refresh, wait"
                #expect(await hub.command(name) == .failed(code: "command", reason: reason))
            }
            #expect(await hub.command("login", isDryRun: true).failureCode == "command")
            let noDays = RawJSON(#"{"days":0}"#) ?? .emptyObject
            #expect(await hub.command("refresh", noDays).failureCode == "command")
        }
    }

    @Test func `a plugin without commands answers every command with a failure`() async throws {
        let scene = try await Scene()
        let run = scene.run()
        await scene.hub.hellos(1)
        #expect(
            await scene.hub.command("refresh")
                == .failed(code: "command", reason: "scripted has no command \"refresh\"; it has none"))
        try await scene.end(run)
    }

    @Test func `R13.71 a plugin with no more work answers its open commands before it ends`() async throws {
        let scene = try await Scene()
        let run = PluginRun(Brief(), at: scene.place)
        await scene.hub.hellos(1)
        let call = await scene.hub.begin("login")
        #expect(await scene.hub.outcome(of: call) == .ask(CommandQuestion("code?")))
        await scene.hub.answer(call, .string("4711"))
        #expect(await scene.hub.outcome(of: call) == .done(result: RawJSON(#"{"code":"4711"}"#)))
        #expect(await run.end() == .done)
        try await scene.end(run)
    }

    @Test func `a command can ask a question, and its failure has the author's code`() async throws {
        try await withPlugin { hub in
            for (code, expected) in [
                ("4711", CommandOutcome.Content.done(result: nil)),
                ("1", .failed(code: "auth", reason: "the code is wrong; log in again")),
            ] {
                let call = await hub.begin("login")
                #expect(await hub.outcome(of: call) == .ask(CommandQuestion("code?", url: "https://example.org/login")))
                await hub.answer(call, .string(code))
                #expect(await hub.outcome(of: call) == expected)
            }
        }
    }

    @Test func `R8.11 a cancel ends a command that works and one that asks, each with one outcome`() async throws {
        try await withPlugin { hub in
            let waiting = await hub.begin("wait")
            await hub.progress(of: waiting, 1)
            await hub.cancel(waiting)
            #expect(await hub.outcome(of: waiting) == .cancelled)
            let asking = await hub.begin("login")
            _ = await hub.outcome(of: asking)
            await hub.cancel(asking)
            #expect(await hub.outcome(of: asking) == .cancelled)
        }
    }

    @Test func `a stopping plugin answers its open commands`() async throws {
        let scene = try await Scene()
        let run = PluginRun(Obliging(), at: scene.place)
        await scene.hub.hellos(1)
        let call = await scene.hub.begin("wait")
        await scene.hub.progress(of: call, 1)
        run.stop()
        #expect(await scene.hub.outcome(of: call).failureCode == "stopping")
        try await scene.end(run)
    }

    @Test func `a lost session cancels its commands, and their outcomes do not affect a later session`() async throws {
        let scene = try await Scene { $0.heartbeat = Heartbeat(interval: 30, timeout: 60_000) }
        let run = PluginRun(Obliging(), at: scene.place)
        await scene.hub.hellos(1)
        let lost = await scene.hub.begin("wait")
        await scene.hub.progress(of: lost, 1)
        await scene.hub.forgetSessions()
        await scene.hub.hellos(2)
        #expect(await scene.hub.command("refresh") == .done(result: RawJSON(#"{"days":7}"#)))
        try await scene.end(run)
    }

    @Test func `the manifest contains the commands that have handlers`() {
        #expect(Obliging.fullManifest.commands.map(\.name) == ["elsewhere", "refresh", "login", "wait"])
        #expect(Obliging.fullManifest.faults == [])
    }
}

@Suite(.timeLimit(.minutes(1))) struct AskingTests {
    @Test
    func `R8.4 a query gets its history in pages of typed records, with at most two queries at a time`() async throws {
        let scene = try await Scene { $0.limits.pageRecords = 40 }
        let counts = Tally()
        let run = scene.run { hub in
            _ = try await hub.store(hub.samples(0..<100))
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<5 {
                    group.addTask {
                        var filter = QueryRequest.Filter()
                        filter.types = ["weight"]
                        var (count, pages) = (0, 0)
                        for try await page in hub.query(filter) {
                            count += page.records.count
                            pages += 1
                            #expect(page.records.allSatisfy { $0.assignment.person?.name == "me" })
                        }
                        #expect(pages == 3)
                        return count
                    }
                }
                for try await count in group { await counts.add(count) }
            }
        }
        await counts.reach(5)
        #expect(await counts.values == [100, 100, 100, 100, 100])
        try await scene.end(run)
    }

    @Test func `a query survives the loss of the session, and ends with its task`() async throws {
        let scene = try await Scene(starting: false)
        let counts = Tally()
        let run = scene.run { hub in
            let cancelled = Task { for try await _ in hub.query() {} }
            cancelled.cancel()
            await #expect(throws: CancellationError.self) { try await cancelled.value }
            // The hub has not started yet.
            for try await page in hub.query() { await counts.add(page.records.count) }
        }
        try await scene.hub.start()
        await counts.reach(1)
        try await scene.end(run)
    }

    @Test func `statistics are returned by interval, over all pages, and null becomes nil`() async throws {
        func page(_ day: Int, _ sum: String, _ more: String) -> RawJSON {
            let source = #"{"source":{"plugin":"watch","device":"w"},"count":2,"sum":7}"#
            let interval =
                #"{"from":"2026-03-0\#(day)T00:00:00+01:00","to":"2026-03-0\#(day + 1)T00:00:00+01:00","count":2,"sum":\#(sum),"sources":[\#(source)]}"#
            let text = #"{"type":"stepCount","person":"me","unit":"count","intervals":[\#(interval)]\#(more)}"#
            return RawJSON(trusted: Array(text.utf8))
        }
        let scene = try await Scene { behaviour in
            behaviour.statistics = [page(1, "9000.5", #","next":"7""#), page(2, "null", "")]
        }
        let sums = Tally()
        let run = scene.run { hub in
            let days = hub.statistics(of: "stepCount", by: StatisticsInterval(.day), bySource: true)
            for try await day in days {
                #expect(day.figures.asked == [.sum] && day.figures.count == 2)
                #expect(day.sources?.first?.source == Source(plugin: "watch", device: "w"))
                #expect(day.sources?.first?.figures.sum == 7)
                await sums.add(Int(day.figures.sum ?? -1))
            }
        }
        await sums.reach(2)
        #expect(await sums.values == [9_000, -1])
        let queries = await scene.hub.queries
        #expect(queries.map(\.next) == [nil, "7"] && queries.allSatisfy { $0.figures == ["sum", "bySource"] })
        #expect(queries.allSatisfy { $0.want == .statistics && $0.interval == StatisticsInterval(.day) })
        try await scene.end(run)
    }

    @Test func `a query that the hub refuses throws the hub's error`() async throws {
        let scene = try await Scene()
        let refusals = Tally()
        let run = scene.run { hub in
            do {
                var filter = QueryRequest.Filter()
                filter.types = ["refused"]
                for try await _ in hub.query(filter) {}
            } catch let error as AskError {
                if error.code == .refused, error.error?.code == .field { await refusals.add(1) }
            }
        }
        await refusals.reach(1)
        try await scene.end(run)
    }
}

/// Collects numbers; lets a test wait for a count without sleeping.
actor Tally {
    private(set) var values: [Int] = []
    private var waiters: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []

    func add(_ value: Int) {
        values.append(value)
        for waiter in waiters where waiter.count <= values.count { waiter.continuation.resume() }
        waiters.removeAll { $0.count <= values.count }
    }

    func reach(_ count: Int) async {
        if values.count >= count { return }
        await withCheckedContinuation { waiters.append((count, $0)) }
    }
}
