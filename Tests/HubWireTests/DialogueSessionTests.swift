import HubWire
import Testing

@Suite struct DialogueSessionTests {
    static let helloBody = #"{"protocol":[1],"instance":"kitchen-script","plugin":"kitchen-script","version":"1.0"}"#
    static let mebibyte = 1_048_576

    static func samples(_ batch: Int64, records: Int = 1) -> String {
        #"{"batch":\#(batch),"records":["# + repeatElement("{}", count: records).joined(separator: ",") + "]}"
    }

    @Test func `R4.1 a peer without a session only gets hello-first, whatever it sends`() {
        var table = SessionTable()
        for verb in Verb.allCases.map(\.rawValue) + ["", "XYZZY"] where verb != "HELLO" && verb != "PONG" {
            // This applies before the checks of §3: a body that is not JSON, one frame, a payload frame.
            for frames in [[verb, "{"], [verb], [verb, "{}", "payload"]] {
                let arrival = table.receive(frames.map { Array($0.utf8) })
                #expect(arrival.error?.code == .helloFirst && arrival.error?.closed == true)
                #expect(arrival.actions.count == 1)
            }
        }
        #expect(table.count == 0)
    }

    @Test func `R4.1 a PONG without a session is not answered, whatever it contains`() {
        var table = SessionTable()
        for frames in [["PONG", "{}"], ["PONG", "{"], ["PONG"]] {
            let arrival = table.receive(frames.map { Array($0.utf8) })
            #expect(arrival == .actions([]))
        }
    }

    @Test(arguments: [("hello", #""hello""#), ("SAMPLES", #""SAMPLES""#), ("", "an empty first frame")])
    func `R4.1 hello-first names the verb that came instead of HELLO`(verb: String, found: String) {
        var table = SessionTable()
        let reason = table.receive(verb, Self.helloBody).error?.reason
        #expect(reason?.contains("expected HELLO, found \(found)") == true, "\(reason ?? "")")
    }

    @Test func `R3.1 R4.1 a malformed HELLO gets its own error code, with closed set`() {
        var table = SessionTable()
        let error = table.receive([Array("HELLO".utf8)]).error
        #expect(error?.code == .frames && error?.closed == true)
        #expect(table.receive("HELLO", "[").error?.code == .json)
    }

    /// Sends HELLO and returns the session that answers it, or `nil` if it is not handed to the hub.
    private func greet(_ table: inout SessionTable, at now: Int64) throws -> SessionReference? {
        guard case .hello(let hello) = table.receive("HELLO", Self.helloBody, at: now) else { return nil }
        return table.repeated(hello, from: [1], at: now)
            ?? table.open(hello, from: [1], endpoint: .owner, at: now).session
    }

    @Test func `R4.30 HELLOs queued at the hub begin one session and get one WELCOME`() throws {
        var table = SessionTable()
        let session = try #require(try greet(&table, at: 0))
        for time in stride(from: Int64(0), to: 999, by: 37) { #expect(try greet(&table, at: time) == nil) }
        #expect(table[session]?.state == .open)
    }

    @Test func `R4.30 a HELLO repeated after a second gets the WELCOME of the same session again`() throws {
        var table = SessionTable()
        let session = try #require(try greet(&table, at: 0))
        #expect(try greet(&table, at: 2_000) == session)
        // PINGs of either side do not change that.
        _ = table.receive("PING", "{}", at: 2_100)
        _ = table.receive("PONG", "{}", at: 2_100)
        _ = table.sent(10, of: .pong, to: [1])
        #expect(try greet(&table, at: 2_999) == nil)
        #expect(try greet(&table, at: 3_000) == session)
    }

    @Test(arguments: [
        ("SAMPLES", #"{"batch":1,"records":[{}]}"#), ("LIVE", #"{"type":"weight","value":1,"unit":"kg"}"#),
        ("QUERY", #"{"id":1,"want":"records"}"#), ("SAMPLES", "{"),
    ])
    func `R4.30 R4.31 after another message of the peer, a HELLO begins a new session`(verb: String, body: String)
        throws
    {
        var table = SessionTable()
        let session = try #require(try greet(&table, at: 0))
        _ = table.receive(verb, body, at: 1)
        let next = try #require(try greet(&table, at: 2))
        #expect(next != session)
    }

    @Test func `R4.30 R4.31 after a hub message that is lost with the session, a HELLO begins a new one`()
        throws
    {
        var table = SessionTable()
        let session = try #require(try greet(&table, at: 0))
        _ = table.sent(10, of: .command, to: [1])
        #expect(try greet(&table, at: 2) != session)
    }

    @Test func `R4.30 a different HELLO is not a repetition`() throws {
        var table = SessionTable()
        let session = try #require(try greet(&table, at: 0))
        let other = Self.helloBody.replacing("1.0", with: "1.1")
        let hello = try #require(table.receive("HELLO", other, at: 1).hello, "a second HELLO must be judged again")
        #expect(table.repeated(hello, from: [1], at: 1) == nil)
        #expect(table[session] != nil)
    }

    @Test func `a valid HELLO is handed to the hub, which opens the session`() {
        var table = SessionTable()
        #expect(
            table.receive("HELLO", Self.helloBody)
                == .hello(Hello(instance: "kitchen-script", plugin: "kitchen-script", version: "1.0")))
        #expect(table.count == 0)
        let opened = table.hello()
        #expect(opened.actions.isEmpty)
        #expect(table[opened.session]?.state == .open)
        #expect(table.runner(of: "kitchen-script") == [1])
    }

    @Test func `R4.3 a newer HELLO in mode run ends the older session with replaced`() {
        var table = SessionTable()
        table.hello(from: [1])
        let newer = table.hello(from: [2])
        #expect(newer.actions.map(\.peer) == [[1], [1]])
        #expect(newer.actions[0].error?.code == .replaced && newer.actions[0].error?.closed == true)
        #expect(newer.actions[1].action == .end(.replaced))
        #expect(table.receive("PING", "{}", from: [1]).error?.code == .helloFirst)
        #expect(table.receive("PING", "{}", from: [2]).actions.map(\.action) == [.reply(.pong(.emptyObject))])
    }

    @Test func `R4.3 sessions of other modes and instances stay open`() {
        var table = SessionTable()
        table.hello(from: [1])
        #expect(table.hello(mode: .once, from: [2]).actions.isEmpty)
        #expect(table.hello("other", from: [3]).actions.isEmpty)
        #expect(table.count == 3)
    }

    @Test func `R4.22 sessions whose terms changed get hello-first, and other sessions get nothing`() {
        var table = SessionTable()
        table.hello(from: [1])
        table.hello(mode: .once, from: [2])
        table.hello("other", from: [3])
        let actions = table.dismiss("kitchen-script", because: "the hub's configuration has changed")
        #expect(Set(actions.map(\.peer)) == [[1]])
        #expect(actions.compactMap(\.error).allSatisfy { $0.code == .helloFirst && $0.closed })
        #expect(actions.count == 2 && table.count == 2)
        #expect(table.receive("PING", "{}", from: [3]).actions.map(\.action) == [.reply(.pong(.emptyObject))])
        #expect(table.hello(from: [1]).actions.isEmpty)
    }

    @Test func `one instance can be stopped while the others continue`() {
        var table = SessionTable()
        let session = table.hello(from: [1]).session
        table.hello("other", from: [3])
        let actions = table.stop(Stop(reason: "r", deadline: 5), instance: "kitchen-script")
        #expect(actions.map(\.peer) == [session.peer])
        #expect(actions.map(\.action) == [.reply(.stop(Stop(reason: "r", deadline: 5)))])
    }

    @Test func `R4.4 the plugin endpoint accepts only the instance of the log-in`() {
        var table = SessionTable()
        let forged = table.receive("HELLO", Self.helloBody, endpoint: .plugin(user: "ihealth-hs3"))
        #expect(forged.error?.code == .forbidden && forged.error?.closed == true)
        let own = table.receive("HELLO", Self.helloBody, endpoint: .plugin(user: "kitchen-script"))
        #expect(own.hello != nil, "\(own)")
    }

    @Test func `a HELLO that the hub refuses ends the open session`() {
        var table = SessionTable()
        table.hello()
        let actions = table.refuse(WireError(.instance, "not configured"), from: [1])
        #expect(actions[0].error?.closed == true)
        #expect(actions[1].action == .end(.refused(.instance)))
        #expect(table[[1]] == nil)
    }

    @Test func `a HELLO that cannot be read ends the open session`() {
        var table = SessionTable()
        table.hello()
        let arrival = table.receive("HELLO", "{}")
        #expect(arrival.error?.code == .field && arrival.error?.closed == true)
        #expect(table[[1]] == nil)
    }

    @Test func `R4.5 a peer whose session was closed gets hello-first`() {
        var table = SessionTable()
        table.hello()
        #expect(table.receive("SAMPLES", Self.samples(1, records: 1_001)).error?.code == .limit)
        #expect(table.receive("PING", "{}").error?.code == .helloFirst)
    }

    @Test func `R4.6 silence ends a session, and any message postpones the end`() {
        var table = SessionTable()
        table.hello(at: 0)
        #expect(table.nextDeadline == 20_000)
        _ = table.receive("XYZZY", "{}", at: 15_000)
        #expect(table.tick(at: 34_999).isEmpty)
        #expect(table.tick(at: 35_000).map(\.action) == [.end(.silent)])
        #expect(table.count == 0 && table.nextDeadline == nil)
    }

    @Test func `R4.7 a HELLO beyond the session limit is refused unless it replaces a session`() {
        var policy = SessionPolicy()
        policy.limits.sessions = 2
        var table = SessionTable(policy: policy)
        table.hello("kitchen-script", from: [1])
        table.hello("b", from: [2])
        let other = #"{"protocol":[1],"instance":"c","plugin":"c","version":"1"}"#
        #expect(table.receive("HELLO", other, from: [3]).error?.code == .limit)
        let newer = table.receive("HELLO", Self.helloBody, from: [3])
        #expect(newer.hello != nil, "the newer session of an instance must replace the older")
    }

    @Test(arguments: ["sessions", "credit", "sessions of an instance over the network"])
    func `R4.7 before a HELLO is refused for lack of room, each session gets a PING, once a second`(
        lacking: String
    ) throws {
        var policy = SessionPolicy()
        let isRemote = lacking.hasSuffix("network")
        if lacking == "sessions" { policy.limits.sessions = 4 }
        var table = SessionTable(policy: policy)
        if lacking == "credit" { table.totalCredit = 8 << 20 }
        let endpoint: Endpoint = isRemote ? .remote(user: "c") : .owner
        func hello(_ number: UInt8, at now: Int64) -> Arrival {
            let (verb, mode) = (Array("HELLO".utf8), isRemote ? "once" : "run")
            let instance = isRemote ? "c" : "i\(number)"
            let body = Array(
                #"{"protocol":[1],"instance":"\#(instance)","plugin":"c","version":"1","mode":"\#(mode)"}"#.utf8)
            return verb.withUnsafeBytes { verb in
                body.withUnsafeBytes { body in
                    table.receive(
                        verb: verb, body: body, frameCount: 2, from: [number], endpoint: endpoint, at: now)
                }
            }
        }
        var number: UInt8 = 0
        while case .hello(let hello) = hello(number, at: 0) {
            _ = table.open(hello, from: [number], endpoint: endpoint, at: 0)
            number += 1
        }
        #expect(number > 0 && hello(number, at: 999).error?.code == .limit, "once a second")
        let probes = try #require(hello(number, at: 1_000).probes, "the hub must look for peers that have left")
        #expect(Set(probes.map(\.peer)) == Set((0..<number).map { [$0] }))
        #expect(probes.allSatisfy { $0.action == .reply(.ping(.emptyObject)) })
        // One of the peers was gone.
        _ = table.gone([0])
        #expect(hello(number, at: 1_000).hello != nil, "there is room")
    }

    @Test
    func
        `R4.32 all credit together is bounded: late sessions get less, the last are refused, and what ends makes room`()
    {
        var table = SessionTable()
        table.totalCredit = 128 << 20
        func hello(_ number: Int, mode: String = "run") -> Arrival {
            let body = #"{"protocol":[1],"instance":"i\#(number)","plugin":"p","version":"1","mode":"\#(mode)"}"#
            let arrival = table.receive("HELLO", body, from: [UInt8(number)])
            if case .hello(let hello) = arrival {
                _ = table.open(hello, from: [UInt8(number)], endpoint: .owner, at: 0)
            }
            return arrival
        }
        var windows: [Credit] = []
        while hello(windows.count).error == nil {
            windows.append(table[[UInt8(windows.count)]]?.window.window ?? .zero)
        }
        #expect(
            windows.first?.bytes == ((128 - 20) << 20) / 64 && windows.last == Credit(records: 1_562, bytes: 1_310_720))
        #expect(zip(windows, windows.dropFirst()).allSatisfy { $0.bytes >= $1.bytes })
        #expect(table.grantedCredit == windows.map(\.bytes).reduce(0, +))
        #expect(table.grantedCredit <= (128 - 20) << 20, "some credit is reserved")
        #expect(hello(200).error?.code == .limit)
        _ = table.receive("BYE", "{}", from: [0])
        #expect(hello(200).error == nil, "a session that ends makes room")
        #expect(hello(3).error == nil, "a session that greets again keeps its own room")
        for number in 0..<16 { #expect(hello(201 + number, mode: "once").error == nil) }
        #expect(hello(240, mode: "once").error?.code == .limit)
        #expect(table.grantedCredit <= 128 << 20)
    }

    @Test func `R4.13 a batch beyond credit closes the session and is not stored`() {
        var table = SessionTable(policy: SessionPolicy(credit: Credit(records: 3, bytes: 1_000)))
        table.hello()
        #expect(table.receive("SAMPLES", Self.samples(1, records: 2)).actions.map(\.action) == [.store(batch: 1)])
        let arrival = table.receive("SAMPLES", Self.samples(2, records: 2))
        #expect(arrival.error?.code == .credit && arrival.error?.closed == true && arrival.error?.ref == 2)
        #expect(!arrival.actions.contains { $0.action == .store(batch: 2) })
        #expect(table[[1]] == nil)
    }

    @Test func `R4.13 bytes count against the credit, including payload frames`() {
        var table = SessionTable(policy: SessionPolicy(credit: Credit(records: 100, bytes: 200)))
        table.hello()
        let frames = [Array("SAMPLES".utf8), Array(Self.samples(1).utf8), [UInt8](repeating: 0, count: 200)]
        #expect(table.receive(frames).error?.code == .credit)
    }

    @Test func `R4.14 a batch beyond the limits closes the session`() {
        var table = SessionTable()
        table.hello()
        let arrival = table.receive("SAMPLES", Self.samples(1, records: 1_001))
        #expect(arrival.error?.code == .limit && arrival.error?.closed == true)
        table.hello()
        let payload = [UInt8](repeating: 0, count: 262_145)
        #expect(table.receive([Array("SAMPLES".utf8), Array(Self.samples(1).utf8), payload]).error?.code == .limit)
    }

    @Test func `R4.17 PING is answered by PONG with the same body`() throws {
        var table = SessionTable()
        table.hello()
        let body = #"{ "a" : 1 }"#
        #expect(table.receive("PING", body).actions.map(\.action) == [.reply(.pong(try #require(RawJSON(body))))])
    }

    @Test func `R4.19 BYE is answered after all pending answers`() {
        var table = SessionTable()
        let session = table.hello().session
        _ = table.receive("SAMPLES", Self.samples(1))
        _ = table.receive("QUERY", #"{"id":5,"want":"records"}"#)
        #expect(table.receive("BYE", "{}").actions.isEmpty)
        #expect(table.receive("SAMPLES", Self.samples(2)).error?.code == .helloFirst)
        let page = QueryResult(id: 5, content: .records(RawRecords(), next: nil, cursor: nil))
        #expect(table.answer(.result(page), to: .query(5), in: session).map(\.action) == [.reply(.result(page))])
        let stored = Stored(batch: 1, results: [.stored(number: 1, sequence: 1)], credit: .zero)
        let last = table.answer(.stored(stored), to: .batch(1), in: session).map(\.action)
        #expect(last.dropFirst() == [.reply(.bye(Bye())), .end(.bye)])
        #expect(table.count == 0)
    }

    @Test func `R4.19 BYE without pending answers is answered at once`() {
        var table = SessionTable()
        table.hello()
        #expect(table.receive("BYE", "{}").actions.map(\.action) == [.reply(.bye(Bye())), .end(.bye)])
    }

    @Test func `R4.20 the hub sends a PING after every MiB, and its PONG confirms everything sent before it`() throws {
        var table = SessionTable()
        table.hello()
        var nonces: [RawJSON] = []
        for _ in 0..<40 {
            for action in table.sent(Self.mebibyte / 2, of: .result, to: [1]) {
                let body = try #require(action.ping, "\(action)")
                nonces.append(body)
                // A client that parses the object and serializes it again may space it differently.
                let spelled = body.text.replacing(":", with: " : ")
                #expect(table.receive("PONG", spelled).actions.isEmpty)
            }
        }
        #expect(nonces.count == 20 && Set(nonces).count == 20)
        #expect(table.count == 1)
    }

    @Test func `R4.20 4 MiB without a confirming PONG end the session`() {
        var table = SessionTable()
        table.hello()
        var pings = 0
        for _ in 0..<3 {
            pings += table.sent(Self.mebibyte, of: .result, to: [1]).count
            _ = table.receive("PONG", #"{"nonce":999}"#)  // Confirms nothing: no such PING was sent.
        }
        #expect(pings == 3)
        #expect(table.sent(Self.mebibyte - 1, of: .result, to: [1]).isEmpty)
        #expect(table.sent(1, of: .result, to: [1]).map(\.action) == [.end(.unread)])
        #expect(table.sent(Self.mebibyte, of: .result, to: [1]).isEmpty && table.count == 0)
    }

    @Test func `R4.20 the PONG to an older PING confirms only messages before that PING`() throws {
        var table = SessionTable()
        table.hello()
        let first = table.sent(Self.mebibyte, of: .result, to: [1]).first
        _ = table.sent(2 * Self.mebibyte, of: .result, to: [1])
        let body = try #require(first?.ping, "no PING after a MiB: \(String(describing: first))")
        _ = table.receive("PONG", body.text)
        #expect(
            table.sent(2 * Self.mebibyte - 1, of: .result, to: [1]).contains { $0.action == .end(.unread) } == false)
        #expect(table.sent(1, of: .result, to: [1]).map(\.action) == [.end(.unread)])
    }

    @Test func `R3.6 malformed messages of one peer do not affect another's session`() throws {
        var table = SessionTable()
        table.hello(from: [1])
        table.hello("b", from: [2])
        let before = try #require(table[[2]])
        for body in ["", "[]", "{", "{\"batch\":1}"] { _ = table.receive("SAMPLES", body, from: [1], at: 5) }
        _ = table.receive([Array("PING".utf8)], from: [1], at: 5)
        let after = try #require(table[[2]])
        #expect(
            after.window == before.window && after.lastReceivedAt == before.lastReceivedAt
                && after.state == before.state)
        #expect(table[[1]]?.state == .open)
    }

    @Test func `R3.8 a verb that is not served gets unsupported, whatever its body`() {
        var table = SessionTable(policy: SessionPolicy(serves: Verb.fromClient.subtracting([.token, .tokenPut])))
        table.hello()
        for verb in ["TOKEN", "TOKEN-PUT"] {
            let error = table.receive(verb, "{}").error
            #expect(error?.code == .unsupported && error?.closed == false)
        }
    }

    @Test func `a stopping hub sends STOP, refuses new batches and answers accepted ones`() {
        var table = SessionTable()
        let session = table.hello().session
        _ = table.receive("SAMPLES", Self.samples(1))
        let stop = Stop(reason: "restart", deadline: 5_000)
        #expect(table.stop(stop).map(\.action) == [.reply(.stop(stop))])
        let refused = table.receive("SAMPLES", Self.samples(2)).error
        #expect(refused?.code == .stopping && refused?.closed == false && refused?.ref == 2)
        let stored = Stored(batch: 1, results: [.stored(number: 1, sequence: 1)], credit: .zero)
        #expect(table.answer(.stored(stored), to: .batch(1), in: session).count == 1)
    }
}
