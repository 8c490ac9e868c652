import HubSettings
import HubWire
import Synchronization
import Testing

@testable import HubCore

@Suite struct OwnCommandTests {
    @Test func `every command of the hub has a unique name and a valid declaration`() {
        let manifest = Manifest(
            name: "own-commands", summary: "The hub.", version: "1", commands: OwnCommands.all.map { $0.declaration })
        #expect(manifest.faults == [])
    }

    @Test func `R8.8 the error for a misspelt command or argument suggests the intended one`() async throws {
        try await withHub { hub, peer in
            let command = try await peer.command("retrct").body
            #expect(command["code"].string == "command")
            #expect(
                command["reason"].string == "COMMAND.command: the hub has no command \"retrct\"; did you mean retract?")
            let arguments = try await peer.command("retract", #"{"number":[1],"reason":7}"#).body
            #expect(
                arguments["reason"].string
                    == "COMMAND.args: number: no such argument; did you mean numbers?; numbers: missing, and needed; expected a list, each element a whole number of at least 1; reason: expected text"
            )
        }
    }

    @Test func `a deadline beyond a day gets the error field and does no harm`() async throws {
        try await withHub { hub, peer async throws in
            for deadline in ["0", "86400001", "9223372036854775807"] {
                let body = #"{"id":1,"instance":"hub","command":"stop","dryRun":true,"deadline":\#(deadline)}"#
                #expect(try await peer.ask("COMMAND", body).code == "field")
            }
        }
    }

    @Test func `frequent progress is reduced to the latest report, with one notification until it is taken`() {
        let calls = Mutex(0)
        let teller = ProgressRelay(id: 3) { _ in calls.withLock { $0 += 1 } }
        for done in 1...1_000 { teller(Int64(done), of: 1_000) }
        #expect(calls.withLock { $0 } == 1)
        #expect(teller.take() == CommandProgress(id: 3, done: 1_000, total: 1_000))
        #expect(teller.take() == nil)
        teller(1)
        #expect(calls.withLock { $0 } == 2)
    }
}
