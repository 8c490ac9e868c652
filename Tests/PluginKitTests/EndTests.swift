import Foundation
import HubWire
import PluginKit
import PluginTesting
import Samples
import Testing

@Suite(.timeLimit(.minutes(1))) struct `The end of a plugin` {
    @Test func `STOP ends the work, and BYE follows`() async throws {
        let scene = try await Scene()
        let run = PluginRun(
            ScriptedSource { hub in
                try await hub.give(hub.samples(0..<3))
                await hub.untilStopped()
                #expect(hub.isStopping)
            }, at: scene.place)
        await scene.hub.records(3)
        await scene.hub.sendStop()
        #expect(await run.end() == .done)
        #expect(await scene.hub.byes == 1)
        try await scene.end(run)
    }

    @Test func `STOP is received although the hub ends right after it`() async throws {
        try await withThrowingTaskGroup { group in
            for _ in 0..<20 {
                group.addTask {
                    let scene = try await Scene()
                    let run = scene.run()
                    await scene.hub.hellos(1)
                    await scene.hub.stopAndVanish()
                    #expect(await run.end() == .done)
                    try await scene.end(run)
                }
            }
            try await group.waitForAll()
        }
    }

    @Test func `the end of stdin ends the plugin at once, and the spool keeps the given records`() async throws {
        let scene = try await Scene(starting: false)
        let isGiven = Gate()
        let run = PluginRun(
            ScriptedSource { hub in
                try await hub.give(hub.samples(0..<3))
                await isGiven.open()
                await hub.untilStopped()
                try await hub.give(hub.samples(3..<4))  // Begun before the end of stdin, and finished after it.
            }, at: scene.place)
        await isGiven.wait()
        run.loseHub()
        #expect(await run.end() == .done)
        try await scene.end(run, pending: 4)
    }

    @Test func `a plugin does not wait for a hub that ended before it answered, whether or not its work is done`()
        async throws
    {
        for isBusy in [false, true] {
            let scene = try await Scene { $0.answers = false }
            let run = PluginRun(
                ScriptedSource { hub in
                    try await hub.give(hub.samples(0..<2))
                    if isBusy { await hub.untilStopped() }
                }, at: scene.place, stopLimit: .seconds(3_600), drainLimit: .seconds(3_600))
            await scene.hub.batches(1)
            run.loseHub()
            #expect(await run.end() == .done)
            try await scene.end(run, pending: 2)
        }
    }

    @Test
    func `the plugin sends BYE at the end of stdin, because the hub may have ended only this plugin`() async throws {
        let scene = try await Scene()
        let isOpen = Gate()
        let run = scene.run { hub in
            try await hub.untilSession(beyond: 0)
            await isOpen.open()
        }
        // Before WELCOME there is no session to end.
        await isOpen.wait()
        run.loseHub()
        await scene.hub.byes(1)
        #expect(await run.end() == .done)
        try await scene.end(run)
    }

    @Test func `in mode once a plugin ends when the hub has all records`() async throws {
        let scene = try await Scene()
        let run = PluginRun(ScriptedSource { try await $0.give($0.samples(0..<2_000)) }, at: scene.place, mode: .once)
        #expect(await run.end() == .done)
        #expect(await scene.hub.held.count == 2_000)
        #expect(await scene.hub.hellos.first?.mode == .once)
        try await scene.end(run)
    }

    @Test func `in mode once without a hub a plugin ends as unfinished and keeps the records`() async throws {
        let scene = try await Scene(starting: false)
        let run = PluginRun(
            ScriptedSource { try await $0.give($0.samples(0..<2)) }, at: scene.place, mode: .once,
            drainLimit: .milliseconds(50))
        #expect(await run.end() == .unfinished)
        try await scene.end(run, .unfinished, pending: 2)
    }

    @Test func `STOP ends a plugin in mode once that still waits for the hub, and the records stay`() async throws {
        let scene = try await Scene { $0.answers = false }
        let run = PluginRun(ScriptedSource { try await $0.give($0.samples(0..<2)) }, at: scene.place, mode: .once)
        await scene.hub.batches(1)
        await scene.hub.sendStop(deadline: 100)
        #expect(await run.end() == .done)
        try await scene.end(run, pending: 2)
    }

    @Test func `a plugin that the hub refuses ends`() async throws {
        let scene = try await Scene { $0.refusal = WireError(.instance, "not configured", closed: true) }
        let run = scene.run(settings: nil)
        #expect(await run.end() == .refused)
        try await scene.end(run, .refused)
    }

    @Test func `a failure of the work is sent to the hub as an event, and the exit status is 1`() async throws {
        struct Broken: Error, CustomStringConvertible { let description = "the scale has no battery" }
        let scene = try await Scene()
        let run = PluginRun(ScriptedSource { _ in throw Broken() }, at: scene.place, settings: nil)
        #expect(await run.end() == .failed)
        let event = try #require(await scene.hub.events.first)
        #expect(event.severity == .error && event.text == "the scale has no battery")
        try await scene.end(run, .failed)
    }

    @Test func `work that ignores the request to stop is abandoned`() async throws {
        let scene = try await Scene()
        let (begun, freed, over) = (Gate(), Gate(), Gate())
        let run = PluginRun(
            ScriptedSource { _ in
                await begun.open()
                await freed.wait()
                await over.open()
            }, at: scene.place, stopLimit: .milliseconds(50))
        await begun.wait()
        run.stop()
        #expect(await run.end() == .unfinished)
        await freed.open()
        await over.wait()
        await scene.hub.vanish()
    }

    @Test func `a state directory in use ends the plugin with status 73`() async throws {
        let scene = try await Scene()
        let state = try PluginState(directory: scene.place.state)
        let run = PluginRun(ScriptedSource(), at: scene.place)
        #expect(await run.end() == .state)
        try state.close()
    }

    @Test func `a call of store fails if the plugin stops before the answer`() async throws {
        let scene = try await Scene { $0.answers = false }
        let code = Received<GiveError.Code?>()
        let run = PluginRun(
            ScriptedSource { hub in
                do {
                    _ = try await hub.store(hub.samples(0..<1))
                    await code.take(nil)
                } catch let error as GiveError { await code.take(error.code) }
            }, at: scene.place, stopLimit: .milliseconds(200))
        await scene.hub.batches(1)
        run.stop()
        #expect(await code.value() == .stopping)
        await run.end()
        await scene.hub.vanish()
    }

    @Test func `waiting for room returns if room was made before the wait`() async throws {
        let scene = try await Scene {
            $0.answers = false
            $0.heartbeat = Heartbeat(interval: 30, timeout: 60_000)
        }
        var limits = PluginState.Limits()
        limits.records = 2
        let wasFull = Gate()
        let run = scene.run(limits: limits) { hub in
            try await hub.give(hub.samples(0..<2))
            await #expect(throws: GiveError.self) { try await hub.give(hub.samples(2..<4)) }
            await wasFull.open()
            while try await hub.state.counters().pending > 0 {}
            await hub.waitForRoom()
            try await hub.give(hub.samples(2..<4))
        }
        await wasFull.wait()
        await scene.hub.batches(1)
        await scene.hub.change { $0.answers = true }
        await scene.hub.forgetSessions()
        await scene.hub.records(4)
        try await scene.end(run)
    }

    @Test
    func `a full spool throws a typed error and sends an EVENT, which is resolved when there is room`() async throws {
        let scene = try await Scene { $0.answers = false }
        var limits = PluginState.Limits()
        limits.records = 10
        let wasFull = Gate()
        let run = scene.run(settings: nil, limits: limits) { hub in
            try await hub.give(hub.samples(0..<10))
            do {
                try await hub.give(hub.samples(10..<12))
                Issue.record("the spool took more than its limit")
            } catch let error as GiveError { #expect(error.code == .full && error.mayRetry) }
            await wasFull.open()
            await hub.waitForRoom()
            try await hub.give(hub.samples(10..<12))
        }
        await wasFull.wait()
        let event = try #require(await scene.hub.events(1).first)
        #expect(event.event == "spool-full" && event.severity == .error)
        await scene.hub.change {
            $0.answers = true
            $0.heartbeat = Heartbeat(interval: 30, timeout: 60_000)
        }
        await scene.hub.vanish()
        try await scene.hub.start()
        await scene.hub.records(12)
        await scene.hub.wait { $0.events.contains(where: \.isResolved) }
        try await scene.end(run)
    }
}
