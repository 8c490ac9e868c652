import HubProcess
import HubWire
import Platform
import Testing

@Suite struct DialogueRequestTests {
    @Test func `R5.5 an ERROR store returns the credit and names the batch`() {
        var table = SessionTable()
        let session = table.hello().session
        let body = DialogueSessionTests.samples(4)
        _ = table.receive("SAMPLES", body)
        let actions = table.answer(.error(WireError(.store, "disk full", after: 250)), to: .batch(4), in: session)
        #expect(actions[0].error?.ref == 4 && actions[0].error?.after == 250)
        #expect(actions[0].error?.credit == Credit(records: 1, bytes: body.utf8.count))
        #expect(table[[1]]?.window.available == .window)
    }

    @Test func `R5.6 after ERROR store no later batch overtakes the one to be sent again`() throws {
        var table = SessionTable()
        let session = table.hello().session
        for batch in [1, 2] as [Int64] { _ = table.receive("SAMPLES", DialogueSessionTests.samples(batch)) }
        let actions = table.answer(.error(WireError(.store, "disk full", after: 250)), to: .batch(1), in: session)
        #expect(actions.compactMap(\.error?.ref) == [1, 2])
        #expect(table[session]?.batches.isEmpty == true)
        let proof = try #require(
            actions.last?.ping, "expected a PING, to learn which messages the client sent before the error")
        let early = table.receive("SAMPLES", DialogueSessionTests.samples(3)).error
        #expect(early?.code == .store && early?.after == 250 && early?.ref == 3)
        _ = table.receive("PONG", proof.text)
        #expect(table.receive("SAMPLES", DialogueSessionTests.samples(4)).actions.map(\.action) == [.store(batch: 4)])
        let cost = Credit(records: 1, bytes: DialogueSessionTests.samples(4).utf8.count)
        #expect(table[session]?.window.available == Credit.window - cost)
    }

    @Test func `an answer for an ended session is not sent`() {
        var table = SessionTable()
        let first = table.hello().session
        _ = table.receive("SAMPLES", DialogueSessionTests.samples(1))
        let second = table.hello().session
        let stored = Stored(batch: 1, results: [.stored(number: 1, sequence: 1)], credit: .zero)
        #expect(table.answer(.stored(stored), to: .batch(1), in: first).isEmpty)
        #expect(table.answer(.stored(stored), to: .batch(1), in: second).isEmpty)
        #expect(table[second]?.window.available == .window)
    }

    @Test func `R5.8 LIVE and EVENT beyond the allowance are dropped and counted, and the session stays open`() {
        var table = SessionTable()
        table.hello()
        var admitted = 0
        for index in 0..<60 {
            let arrival =
                index % 2 == 0
                ? table.receive("LIVE", #"{"type":"weight"}"#) : table.receive("EVENT", #"{"event":"tick"}"#)
            admitted += arrival.actions.count
            #expect(arrival.error == nil)
        }
        #expect(admitted == 50)
        #expect(table[[1]]?.passing.refused == 10)
        #expect(table.receive("LIVE", #"{"type":"weight"}"#, at: 20).actions.count == 1)
        #expect(table.receive("LIVE", #"{"type":"weight"}"#, at: 21).actions.isEmpty)
    }

    @Test func `R5.8 a lent allowance counts as if each LIVE had been received separately`() {
        var (one, lent) = (SessionTable(), SessionTable())
        one.hello()
        lent.hello()
        var admitted = (0, 0)
        for turn in 0..<40 {
            let now = Int64(turn * 9)
            for _ in 0..<turn % 7 { admitted.0 += one.receive("LIVE", #"{"type":"weight"}"#, at: now).actions.count }
            if var allowance = lent.takePassingAllowance(of: [1]) {
                for _ in 0..<turn % 7 where allowance.take(at: now) { admitted.1 += 1 }
                lent.returnPassingAllowance(allowance, from: [1], at: now)
            }
        }
        #expect(admitted.0 == admitted.1 && one.dropped == lent.dropped && one.dropped > 0)
        #expect(lent[[1]]?.lastReceivedAt == Int64(351))
        // A peer without a session, or one that leaves, has no allowance to lend.
        #expect(lent.takePassingAllowance(of: [2]) == nil)
        _ = lent.receive("BYE", "{}")
        #expect(lent.takePassingAllowance(of: [1]) == nil)
    }

    @Test func `R8.4 a query beyond the limit gets busy, and the session stays open`() {
        var table = SessionTable()
        let session = table.hello().session
        _ = table.receive("QUERY", #"{"id":1,"want":"records"}"#)
        _ = table.receive("QUERY", #"{"id":2,"want":"records"}"#)
        let third = table.receive("QUERY", #"{"id":3,"want":"records"}"#)
        #expect(third.error?.code == .busy && third.error?.closed == false && third.error?.ref == 3)
        let page = QueryResult(id: 1, content: .records(RawRecords(), next: nil, cursor: nil))
        _ = table.answer(.result(page), to: .query(1), in: session)
        #expect(table.receive("QUERY", #"{"id":3,"want":"records"}"#).error == nil)
    }

    @Test func `R8.6 the owner's queries are refused on other endpoints`() {
        var table = SessionTable()
        table.hello(endpoint: .plugin(user: "kitchen-script"))
        for want in ["status", "plugins", "persons", "accounts"] {
            let error = table.receive("QUERY", #"{"id":1,"want":"\#(want)"}"#).error
            #expect(error?.code == .forbidden && error?.closed == false && error?.ref == 1)
        }
        #expect(table.receive("QUERY", #"{"id":1,"want":"records"}"#).error == nil)
    }

    @Test func `R12.10 R12.11 granted owner rights work on the plugin endpoint, and not over the network`() throws {
        let hello = Hello(instance: "web", plugin: "web", version: "1")
        for (endpoint, may) in [(Endpoint.plugin(user: "web"), true), (.remote(user: "web"), false), (.owner, true)] {
            var table = SessionTable()
            _ = table.open(hello, from: [1], endpoint: endpoint, rights: ["status"], at: 0)
            #expect((table.receive("QUERY", #"{"id":1,"want":"status"}"#, from: [1]).error == nil) == may)
            let other = table.receive("QUERY", #"{"id":2,"want":"trace","number":1}"#, from: [1]).error
            #expect((other == nil) == (endpoint == .owner))
            guard case .plugin = endpoint else { continue }
            #expect(other?.reason.contains(#"owner = ["status", "trace"] } in [plugin.web]"#) == true)
        }
    }

    @Test func `R8.10 only the owner may send commands`() {
        var table = SessionTable()
        table.hello(from: [1], endpoint: .plugin(user: "kitchen-script"))
        table.hello("b", from: [2])
        let body = #"{"id":1,"instance":"hub","command":"stop"}"#
        #expect(table.receive("COMMAND", body, from: [1]).error?.code == .forbidden)
        #expect(table.receive("COMMAND", body, from: [2]).error == nil)
    }

    @Test func `R8.11 a command has one final outcome, and ask keeps it open`() throws {
        var table = SessionTable()
        let session = table.hello().session
        _ = table.receive("COMMAND", #"{"id":1,"instance":"hub","command":"login"}"#)
        #expect(table.receive("COMMAND", #"{"id":1,"instance":"hub","command":"login"}"#).error?.ref == 1)
        let ask = CommandOutcome(id: 1, .ask(CommandQuestion("code?")))
        #expect(table.answer(.outcome(ask), to: .command(1), in: session).count == 1)
        #expect(table.receive("COMMAND", #"{"id":1,"answer":"x"}"#).actions.count == 1)
        let done = CommandOutcome(id: 1, .done(result: nil))
        #expect(table.answer(.outcome(done), to: .command(1), in: session).count == 1)
        #expect(table.answer(.outcome(done), to: .command(1), in: session).isEmpty)
    }

    @Test(arguments: Thoroughness.seeds(50))
    func `R4.15 credit is never negative, never revoked and never lost`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let granted = Credit(records: 20, bytes: 500)
        var window = CreditWindow(granted)
        var flying: [Credit] = []
        var client = granted
        for _ in 0..<500 {
            if Bool.random(using: &random) || flying.isEmpty {
                let cost = Credit(
                    records: .random(in: 1...8, using: &random), bytes: .random(in: 1...200, using: &random))
                let isAffordable = client.covers(cost)
                #expect(window.spend(cost) == isAffordable, "seed \(seed)")
                if isAffordable {
                    client = client - cost
                    flying.append(cost)
                } else if flying.isEmpty {
                    #expect(client == granted, "seed \(seed): a client without unanswered batches has its whole credit")
                }
            } else {
                let withholding = Credit(
                    records: .random(in: -1...30, using: &random), bytes: .random(in: -1...600, using: &random))
                let given = window.answer(flying.removeFirst(), withholding: withholding)
                #expect(given.records >= 0 && given.bytes >= 0, "seed \(seed)")
                client = client + given
            }
            #expect(window.available == client, "seed \(seed): both sides count the same credit")
            #expect(window.available + window.inFlight + window.withheld == granted, "seed \(seed)")
            for part in [window.available, window.inFlight, window.withheld] {
                #expect(part.records >= 0 && part.bytes >= 0, "seed \(seed)")
            }
        }
    }
}
