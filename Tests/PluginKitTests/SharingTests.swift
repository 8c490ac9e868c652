import HubWire
import PluginKit
import PluginTesting
import Samples
import Testing

@Suite(.timeLimit(.minutes(1))) struct `What a plugin may share` {
    @Test func `R4.60 a type is granted, denied or undecided, and a plugin sees a change with the next session`()
        async throws
    {
        let scene = try await Scene()
        await scene.hub.change { $0.grants.write = Grants.Scope(types: ["weight"], denied: ["heartRate"]) }
        let (told, teller) = AsyncStream<[PermissionState]>.makeStream()
        let source = ScriptedSource { hub in
            try await hub.untilSession(beyond: 0)
            teller.yield([.weight, .heartRate, .stepCount].map { hub.authorizationStatus(of: $0) })
            teller.yield([try await hub.authorizationStatus(of: .heartRate, otherThan: .denied)])
            await hub.untilStopped()
        }
        let run = PluginRun(source, at: scene.place)
        var heard = told.makeAsyncIterator()
        #expect(await heard.next() == [.granted, .denied, .notDetermined])
        await scene.hub.change { $0.grants.write = Grants.Scope(types: ["*"]) }
        await scene.hub.forgetSessions()
        await scene.hub.send(.error(SessionTable.helloFirst))
        #expect(await heard.next() == [.granted])
        try await scene.end(run)
    }
}
