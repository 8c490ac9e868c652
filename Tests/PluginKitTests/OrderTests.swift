import Dispatch
import HubWire
import PluginTesting
import Testing

@testable import PluginKit

@Suite(.timeLimit(.minutes(1))) struct `The order of the spool` {
    @Test func `R5.6 a batch read while the hub was away is sent after the batches that are repeated`() async throws {
        let scene = try await Scene {
            $0.answers = false
            $0.limits.batchRecords = 1
            $0.heartbeat = Heartbeat(interval: 30, timeout: 60_000)
        }
        let (run, hub) = try await scene.context()
        try await hub.give(hub.samples(0..<2))
        await scene.hub.batches(2)

        // The third is read from a slow disk, and is complete before there is a session again.
        try await hub.state.spool(SubmittedGroups([.sample(hub.sample(2))]).groups)
        let (isHeld, mayGo) = (Gate(), DispatchSemaphore(value: 0))
        let disk = Task.detached {
            try await hub.state.transaction { _ in
                Task { await isHeld.open() }
                mayGo.wait()
            }
        }
        await isHeld.wait()
        await hub.link.spoolHasGrown()
        await scene.hub.change { $0.refusal = WireError(.limit, "no room", closed: true) }
        await scene.hub.forgetSessions()
        await scene.hub.hellos(2)
        mayGo.signal()
        try await disk.value
        await hub.link.untilSpoolIsQuiet()

        await scene.hub.change {
            $0.refusal = nil
            $0.answers = true
        }
        await scene.hub.records(3)
        #expect(await scene.keys() == ["key-0", "key-1", "key-2"])
        try await scene.end(run)
    }

    @Test func `a record that was just spooled is sent from memory, unless others have to go before it`() async throws {
        let scene = try await Scene()
        let (run, hub) = try await scene.context()
        @Sendable func groups(_ number: Int) throws -> [[[UInt8]]] {
            try SubmittedGroups([.sample(hub.sample(number))]).groups
        }
        try await hub.give([hub.sample(0)])
        await scene.hub.records(1)
        while await !hub.link.spool.isEmpty { await Task.yield() }

        // The spool has no record 2, so this text can only come from memory.
        await hub.link.spoolHasGrown(by: try groups(1), as: 2..<3)
        await scene.hub.records(2)
        while await !hub.link.spool.isEmpty { await Task.yield() }

        // The spool numbers these from 2, which counts as sent. Records 3 and 4 have to go first, and record 5 is read from the spool after them.
        try await hub.state.transaction { transaction in
            _ = try transaction.spool(try groups(2) + groups(2) + groups(3) + groups(4))
        }
        await hub.link.spoolHasGrown(by: try groups(9), as: 5..<6)
        await scene.hub.records(5)
        #expect(await scene.keys() == ["key-0", "key-1", "key-2", "key-3", "key-4"])
        try await scene.end(run, pending: 1)
    }
}
