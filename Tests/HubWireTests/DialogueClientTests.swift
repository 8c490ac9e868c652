import HubWire
import PluginKit
import Testing

@Suite struct DialogueClientTests {
    static let hello = Hello(instance: "kitchen-script", plugin: "kitchen-script", version: "1.0")

    static func batch(_ key: String = "a") -> OutgoingBatch {
        OutgoingBatch(records: RawRecords([#"{"key":"\#(key)"}"#]))
    }

    /// A client with an open session.
    static func open(credit: Credit = .window, at now: Int64 = 0) -> ClientMachine {
        var client = ClientMachine(hello: hello)
        _ = client.start(at: now)
        _ = client.receive(.welcome(.sample(credit: credit)), at: now)
        return client
    }

    static func stored(_ batch: Int64, credit: Credit = .zero) -> HubMessage {
        .stored(Stored(batch: batch, results: [.stored(number: 1, sequence: 1)], credit: credit))
    }

    @Test func `R4.12 a batch beyond the credit waits for STORED`() throws {
        let cost = Self.batch().cost(number: 1)
        var client = Self.open(credit: Credit(records: 1, bytes: cost.bytes + 10))
        #expect(try client.submit(Self.batch(), at: 0).actions.verbs == [.samples])
        #expect(try client.submit(Self.batch("b"), at: 0).actions.isEmpty)
        let number = try #require(client.lastBatch)
        #expect(client.receive(Self.stored(number, credit: cost), at: 1).verbs == [.samples])
    }

    @Test(arguments: [.field, .store, .stopping, .internal, .forbidden] as [WireError.Code])
    func `R3.10 an ERROR about a delivery does not affect the batch of the same number`(code: WireError.Code) throws {
        var client = Self.open()
        _ = try client.submit(Self.batch(), at: 0)
        let number = try #require(client.lastBatch)
        let error = WireError(code, "no such delivery", closed: false, ref: number, want: "files")
        #expect(client.receive(.error(error), at: 1) == [.deliver(.error(error))])
        #expect(client.receive(Self.stored(number), at: 2).first?.isStored == true, "the batch must still be open")
        #expect(client.queuedBatches == 0)
    }

    @Test func `R4.12 the cost of a batch is the size of its frames`() throws {
        var client = Self.open()
        var batch = Self.batch("ä")
        batch.isBackfill = true
        batch.payloads = [[1, 2, 3], []]
        let before = client.credit
        let message = try #require(try client.submit(batch, at: 0).actions.messages.first)
        #expect(before.bytes - client.credit.bytes == message.frames.dropFirst().reduce(0) { $0 + $1.count })
        #expect(before.records - client.credit.records == 1)
    }

    @Test func `R4.2 after hello-first the client sends HELLO and then all batches not STORED, in order`() throws {
        var client = Self.open()
        for key in ["a", "b", "c"] { _ = try client.submit(Self.batch(key), at: 0) }
        let first = try #require(client.lastBatch) - 2
        #expect(client.receive(Self.stored(first), at: 1).first?.isStored == true, "the first batch must be stored")
        let lost = client.receive(.error(WireError(.helloFirst, "no session")), at: 2)
        #expect(lost.verbs == [.hello])
        #expect(client.receive(.error(WireError(.helloFirst, "no session")), at: 3).isEmpty)
        let opened = client.receive(.welcome(.sample()), at: 4)
        #expect(opened.messages.map { String(decoding: $0.body, as: UTF8.self).contains("\"b\"") } == [true, false])
        #expect(opened.verbs == [.samples, .samples])
    }

    @Test func `R4.16 R4.18 the client sends PING after silence, and a new HELLO after longer silence`() {
        var client = Self.open(at: 0)
        #expect(client.nextDeadline == 5_000)
        #expect(client.tick(at: 4_999).isEmpty)
        #expect(client.tick(at: 5_000).verbs == [.ping])
        #expect(client.tick(at: 9_999).isEmpty)
        #expect(client.tick(at: 10_000).verbs == [.ping])
        #expect(client.tick(at: 20_000).verbs == [.hello])
        #expect(client.state == .greeting)
    }

    @Test func `R4.20 the client answers PING with the same body`() throws {
        var client = Self.open()
        let body = try #require(RawJSON(#"{"nonce":7}"#))
        #expect(client.receive(.ping(body), at: 1) == [.send(OutgoingMessage(.pong(body)))])
    }

    @Test func `HELLO is repeated, each time after twice the delay`() {
        var client = ClientMachine(hello: Self.hello)
        #expect(client.start(at: 0).verbs == [.hello])
        #expect(client.tick(at: 999).isEmpty)
        #expect(client.tick(at: 1_000).verbs == [.hello])
        #expect(client.tick(at: 2_999).isEmpty)
        #expect(client.tick(at: 3_000).verbs == [.hello])
        #expect(client.nextDeadline == 7_000)
    }

    @Test func `of several WELCOMEs the last one counts, after a PING was answered`() throws {
        var client = ClientMachine(hello: Self.hello)
        _ = client.start(at: 0)
        _ = client.tick(at: 1_000)
        _ = try client.submit(Self.batch(), at: 1_000)
        let proof = client.receive(.welcome(.sample(session: "first")), at: 1_001)
        #expect(proof.verbs == [.ping])
        #expect(client.receive(.welcome(.sample(session: "second")), at: 1_002).isEmpty)
        #expect(client.receive(.pong(.emptyObject), at: 1_003).isEmpty)
        let body = RawJSON(trusted: try #require(proof.messages.first).body)
        let opened = client.receive(.pong(body), at: 1_004)
        #expect(opened.first == .opened(.sample(session: "second")))
        #expect(opened.verbs == [.samples])
    }

    @Test func `a batch is returned if the store fails for longer than the batch's patience`() throws {
        var client = ClientMachine(hello: Self.hello)
        _ = client.start(at: 0)
        _ = client.receive(.welcome(.sample()), at: 0)
        var batch = Self.batch("a")
        batch.storePatience = 4_000
        let ticket = try client.submit(batch, at: 0).ticket
        var time: Int64 = 0
        while time < 4_000 {
            let error = WireError(.store, "disk full", ref: client.lastBatch, after: 1_000)
            #expect(client.receive(.error(error), at: time).isEmpty, "\(time)")
            time += 1_000
            #expect(client.tick(at: time).verbs == [.samples])
        }
        let last = WireError(.store, "disk full", ref: client.lastBatch, after: 1_000)
        #expect(client.receive(.error(last), at: time) == [.refused(ticket, last)])
        #expect(client.queuedBatches == 0)
    }

    @Test func `R5.5 after ERROR store the batch is sent again after the hub's delay and before any other`() throws {
        var client = Self.open()
        _ = try client.submit(Self.batch("a"), at: 0)
        let number = try #require(client.lastBatch)
        let spent = Credit.window - client.credit
        let error = WireError(.store, "disk full", ref: number, after: 250, credit: spent)
        #expect(client.receive(.error(error), at: 10).isEmpty)
        #expect(client.credit == .window)
        #expect(try client.submit(Self.batch("b"), at: 20).actions.isEmpty)
        #expect(client.nextDeadline == 260)
        let again = client.tick(at: 260).messages
        #expect(again.map { String(decoding: $0.body, as: UTF8.self).contains("\"a\"") } == [true, false])
    }

    @Test func `a STORED for an unknown batch changes nothing`() throws {
        var client = Self.open()
        _ = try client.submit(Self.batch(), at: 0)
        let before = client.credit
        #expect(client.receive(Self.stored(999, credit: Credit(records: 1, bytes: 1)), at: 1).isEmpty)
        #expect(client.credit == before && client.queuedBatches == 1)
    }

    @Test func `R5.2 a STORED with a wrong number of results is not accepted`() throws {
        var client = Self.open()
        _ = try client.submit(Self.batch(), at: 0)
        let number = try #require(client.lastBatch)
        let actions = client.receive(.stored(Stored(batch: number, results: [], credit: .zero)), at: 1)
        #expect(client.queuedBatches == 1 && client.state == .lost)
        #expect(!actions.contains { $0.isStored })
    }

    @Test(arguments: [WireError.Code.replaced, .version, .instance])
    func `R4.3 an error that a person must resolve ends the client`(code: WireError.Code) {
        var client = Self.open()
        let error = WireError(code, "no")
        #expect(client.receive(.error(error), at: 1) == [.ended(.fatal(error))])
        #expect(client.tick(at: 100_000).isEmpty && client.nextDeadline == nil)
        #expect(throws: SubmitError.closed) { try client.submit(Self.batch(), at: 2) }
    }

    @Test func `forbidden ends the client if it refuses HELLO, and is an answer otherwise`() {
        var client = Self.open()
        let answer = WireError(.forbidden, "only the owner may ask", closed: false, ref: 3)
        #expect(client.receive(.error(answer), at: 1) == [.deliver(.error(answer))])
        let refusal = WireError(.forbidden, "not yours", closed: true)
        #expect(client.receive(.error(refusal), at: 2) == [.ended(.fatal(refusal))])
    }

    @Test func `after ERROR credit the client waits, longer each time, and sends HELLO again`() {
        var client = Self.open()
        _ = client.receive(.error(WireError(.credit, "beyond")), at: 0)
        #expect(client.state == .lost && client.nextDeadline == 250)
        #expect(client.tick(at: 250).verbs == [.hello])
        _ = client.receive(.welcome(.sample()), at: 251)
        _ = client.receive(.error(WireError(.credit, "beyond")), at: 252)
        #expect(client.nextDeadline == 752)
    }

    @Test func `a batch that the hub can never accept is refused, and the next one is sent`() throws {
        var client = Self.open()
        let large = OutgoingBatch(records: RawRecords([String](repeating: "{}", count: 1_001)))
        let refused = try client.submit(large, at: 0)
        let refusal = try #require(refused.actions.first?.refusal, "\(refused)")
        #expect(refusal.ticket == refused.ticket && refusal.error.code == .limit)
        _ = try client.submit(Self.batch(), at: 0)
        let number = try #require(client.lastBatch)
        let answer = WireError(.field, "SAMPLES.records: …", ref: number)
        #expect(client.receive(.error(answer), at: 1).count == 1)
        #expect(client.queuedBatches == 0 && client.credit == .window)
    }

    @Test func `R3.7 a frame larger than the hub's limit is never sent`() throws {
        var client = Self.open()
        let record = "{\"metadata\":{\"a\":\"" + String(repeating: "x", count: 1_048_576) + "\"}}"
        let actions = try client.submit(OutgoingBatch(records: RawRecords([record])), at: 0).actions
        #expect(actions.messages.isEmpty && actions.count == 1)
    }

    @Test func `R4.8 the limits in WELCOME apply instead of the defaults`() throws {
        var client = ClientMachine(hello: Self.hello)
        _ = client.start(at: 0)
        var welcome = Welcome.sample()
        welcome.limits.batchRecords = 1
        _ = client.receive(.welcome(welcome), at: 0)
        let two = OutgoingBatch(records: RawRecords(["{}", "{}"]))
        let action = try client.submit(two, at: 0).actions.first
        #expect(action?.refusal?.error.code == .limit, "two records must exceed the limit")
    }

    @Test func `the queue is limited`() throws {
        var client = ClientMachine(hello: Self.hello, policy: ClientPolicy(queuedBatches: 2))
        _ = try client.submit(Self.batch(), at: 0)
        _ = try client.submit(Self.batch(), at: 0)
        #expect(throws: SubmitError.full) { try client.submit(Self.batch(), at: 0) }
        #expect(throws: SubmitError.empty) { try client.submit(OutgoingBatch(records: RawRecords()), at: 0) }
    }

    @Test func `STOP: the client awaits sent batches, sends no new ones, and then sends BYE`() throws {
        var client = Self.open(credit: Credit(records: 1, bytes: 1_000))
        _ = try client.submit(Self.batch("a"), at: 0)
        let number = try #require(client.lastBatch)
        _ = try client.submit(Self.batch("b"), at: 0)
        let stop = Stop(reason: "restart", deadline: 5_000)
        #expect(client.receive(.stop(stop), at: 1) == [.stop(stop)])
        #expect(client.finish(at: 2).isEmpty)
        #expect(client.receive(Self.stored(number, credit: Credit(records: 1, bytes: 100)), at: 3).verbs == [.bye])
        #expect(client.receive(.bye(Bye()), at: 4) == [.ended(.stopped)])
    }

    @Test func `STOP: the client ends at the deadline`() {
        var client = Self.open()
        _ = client.receive(.stop(Stop(reason: "restart", deadline: 5_000)), at: 1)
        #expect(client.tick(at: 5_000).isEmpty)
        #expect(client.tick(at: 5_001) == [.ended(.stopped)])
    }

    @Test func `a batch refused as stopping is kept for the next hub`() throws {
        var client = Self.open()
        _ = try client.submit(Self.batch(), at: 0)
        let number = try #require(client.lastBatch)
        #expect(client.receive(.error(WireError(.stopping, "keep them", ref: number)), at: 1).isEmpty)
        #expect(client.queuedBatches == 1)
        #expect(client.receive(.error(WireError(.helloFirst, "")), at: 2).verbs == [.hello])
        #expect(client.receive(.welcome(.sample()), at: 3).verbs == [.samples])
    }

    @Test func `finish without work sends BYE in a session, and ends at once without a session`() {
        var client = Self.open()
        #expect(client.finish(at: 1).verbs == [.bye])
        #expect(client.tick(at: 20_001) == [.ended(.finished)])
        var stranger = ClientMachine(hello: Self.hello)
        _ = stranger.start(at: 0)
        #expect(stranger.finish(at: 1) == [.ended(.finished)])
    }
}

extension ClientAction {
    var isStored: Bool { if case .stored = self { true } else { false } }

    var refusal: (ticket: BatchTicket, error: WireError)? {
        if case .refused(let ticket, let error) = self { (ticket, error) } else { nil }
    }
}

extension [ClientAction] {
    var messages: [OutgoingMessage] {
        compactMap { if case .send(let message) = $0 { message } else { nil } }
    }

    var verbs: [Verb] { messages.map(\.verb) }
}

extension ClientMachine {
    /// The number of the last batch, derived from the consecutive numbering.
    var lastBatch: Int64? {
        var copy = self
        return copy.nextNumber() - 1
    }
}
