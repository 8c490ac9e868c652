import HubWire
import Samples
import Testing

@Suite struct DialogueMessageTests {
    static func clientMessages() throws -> [ClientMessage] {
        var filter = QueryRequest.Filter()
        filter.types = ["weight"]
        filter.persons = ["zoë"]
        filter.sources = ["ihealth-hs3"]
        filter.kinds = [.quantity, .retraction]
        filter.from = try Timestamp(parsing: "2024-03-15T07:30:05+01:00")
        filter.to = try Timestamp(parsing: "2024-03-16T07:30:05.25Z")
        filter.group = "g\"1\""
        filter.numbers = [1, 9_007_199_254_740_991]
        var inbox = QueryRequest.Filter()
        (inbox.isOfNoPerson, inbox.isGuest) = (true, false)
        var latest = QueryRequest(id: 9)
        latest.isLatest = true
        var heavy = QueryRequest.Filter()
        (heavy.strict, heavy.condition) = ([.start, .end], .quantity(over: 80, "kg") && !.userEntered)
        return [
            .hello(
                Hello(
                    instance: "kitchen", plugin: "kitchen-script", version: "1.0", mode: .once, reads: ["*"],
                    writes: ["weight"],
                    declares: [
                        TypeDeclaration(
                            id: "x.acme.glow", kind: .quantity, unit: "lm", aggregation: AggregationStyle.allCases.first
                        )
                    ])),
            .samples(SamplesEnvelope(batch: 7, isBackfill: true, records: RawRecords([#"{"type":"weight"}"#, "{}"]))),
            .live(
                try LiveValue(type: "weight", value: 72.1, unit: "kg", progress: 0.5, device: "d", subject: .slot(3))),
            .event(
                try DeviceEvent(
                    "connected", device: "d", severity: .error, code: -6, text: "a\nb", data: RawJSON(#"{"a":[1]}"#),
                    isResolved: true)),
            .want(
                WantRequest(
                    want: "exist", types: ["weight"], kinds: [.day], persons: ["me"],
                    start: .after(Cursor(epoch: "k7qz2m5a", sequence: 3)),
                    credit: Credit(records: 100, bytes: 1_048_576))),
            .done(
                DeliveryReport(
                    want: "exist", delivery: 17,
                    results: [
                        .delivered(receipt: "r"), .delivered(receipt: nil), .retry(after: 60_000, reason: "busy"),
                        .refused(reason: "no"), .unauthorized(reason: "log in"),
                    ], credit: Credit(records: 5, bytes: 500))),
            .query(
                QueryRequest(
                    id: 7, filter: filter, since: Cursor(epoch: "k7qz2m5a", sequence: 1_000), order: .sequence,
                    limit: 500,
                    next: "m")),
            .query(QueryRequest(id: 7, filter: heavy, order: .by([.latestEnd, .time]))),
            .query(latest),
            .query(QueryRequest(id: 8, want: .trace, filter: inbox, order: .newestFirst, number: 1_043)),
            .command(
                CommandRequest(
                    id: 3, instance: "hub", command: "retract",
                    arguments: try #require(RawJSON(#"{"numbers":[1043]}"#)),
                    isDryRun: true, deadline: 10_000)),
            .command(CommandRequest(id: 3, content: .answer(.string("code")))),
            .command(CommandRequest(id: 3, content: .cancel)),
            .progress(CommandProgress(id: 3, done: 1, total: 2, text: "half")),
            .outcome(CommandOutcome(id: 3, .done(result: RawJSON("[1]")))),
            .outcome(CommandOutcome(id: 3, .failed(code: "command", reason: "no"))),
            .outcome(CommandOutcome(id: 3, .ask(CommandQuestion("paste the code", url: "https://example.org/?a=/")))),
            .outcome(CommandOutcome(id: 3, .ask(CommandQuestion("log in", redirect: "http://127.0.0.1:8737/")))),
            .outcome(CommandOutcome(id: 3, .ask(CommandQuestion("password", isSecret: true)))),
            .outcome(CommandOutcome(id: 3, .cancelled)),
            .token(TokenRequest(id: 1, account: "a", purpose: .refresh)),
            .tokenPut(TokenPut(id: 2, account: "a", expect: 3, token: try #require(RawJSON(#"{"t":"s"}"#)))),
            .ping(try #require(RawJSON(#"{"a":1}"#))), .pong(.emptyObject), .bye(Bye(reason: "done")), .bye(Bye()),
        ]
    }

    static func hubMessages() throws -> [HubMessage] {
        let records = RawRecords([#"{"kind":"quantity","number":1,"seq":2}"#])
        return [
            .welcome(.sample()),
            .stored(
                Stored(
                    batch: 1,
                    results: [
                        .stored(number: 1, sequence: 2), .duplicate(number: 3, sequence: 4),
                        .rejected(.unit, reason: "unit: expected kg"),
                    ], credit: Credit(records: 3, bytes: 99))),
            .deliver(Delivery(want: "exist", delivery: 17, records: records)),
            .result(
                QueryResult(
                    id: 7, content: .records(records, next: "m", cursor: Cursor(epoch: "k7qz2m5a", sequence: 1_042)))),
            .result(QueryResult(id: 7, content: .records(RawRecords(), next: nil, cursor: nil))),
            .result(QueryResult(id: 7, content: .answer(.status, try #require(RawJSON(#"{"plugins":[]}"#))))),
            .command(CommandRequest(id: 4, command: "refresh")),
            .progress(CommandProgress(id: 3, done: 1)), .outcome(CommandOutcome(id: 3, .done(result: nil))),
            .token(TokenAnswer(id: 1, .token(try #require(RawJSON(#"{"t":"s"}"#)), version: 3, lease: 60_000))),
            .token(TokenAnswer(id: 1, .held(after: 100))), .token(TokenAnswer(id: 1, .stored(version: 4))),
            .ping(try #require(RawJSON(#"{"nonce":1}"#))), .pong(.emptyObject),
            .stop(Stop(reason: "restart", deadline: 5_000)), .bye(Bye()),
            .error(WireError(.store, "disk full", ref: 1, after: 250, credit: Credit(records: 1, bytes: 2))),
            .error(WireError(.epoch, "restored", ref: 7, epoch: "k7qz2m5a")),
        ]
    }

    @Test func `every client message round-trips through encoding and decoding`() throws {
        let messages = try Self.clientMessages()
        for message in messages {
            let text = String(decoding: message.body, as: UTF8.self)
            #expect(try ClientMessage.decode(message.verb.rawValue, text) == message, "\(text)")
            #expect(!text.contains("\\/") && !text.contains("\n"), "expected one line without escaped slashes: \(text)")
        }
        #expect(Set(messages.map(\.verb)) == Verb.fromClient)
    }

    @Test func `every hub message round-trips through encoding and decoding`() throws {
        let messages = try Self.hubMessages()
        for message in messages {
            #expect(try HubMessage.decode(message.verb.rawValue, message.body) == message, "\(message)")
        }
        #expect(Set(messages.map(\.verb)).union(Verb.fromClient) == Set(Verb.allCases))
    }

    @Test func `the bodies in the specification are written byte for byte`() throws {
        let stored = Stored(
            batch: 1, results: [.stored(number: 1_043, sequence: 1_043)], credit: Credit(records: 1, bytes: 131))
        #expect(
            String(decoding: HubMessage.stored(stored).body, as: UTF8.self)
                == #"{"batch":1,"results":[{"result":"stored","number":1043,"seq":1043}],"credit":{"records":1,"bytes":131}}"#
        )
        let error = WireError(.field, #"SAMPLES.batch: expected an integer from 0, found "x""#)
        #expect(
            String(decoding: HubMessage.error(error).body, as: UTF8.self)
                == #"{"code":"field","reason":"SAMPLES.batch: expected an integer from 0, found \"x\"","closed":false}"#
        )
    }

    @Test func `R3.4 the reason names the member and the allowed values`() throws {
        func reason(_ verb: String, _ body: String) -> String? {
            do throws(WireError) {
                _ = try ClientMessage.decode(verb, body)
                return nil
            } catch {
                return error.code == .field ? error.reason : nil
            }
        }
        #expect(
            reason("SAMPLES", #"{"batch":"x","records":[{}]}"#)
                == #"SAMPLES.batch: expected an integer from 0, found "x""#)
        #expect(reason("SAMPLES", #"{"records":[{}]}"#) == "SAMPLES.batch: missing; expected an integer from 0")
        #expect(
            reason("SAMPLES", #"{"batch":9007199254740992,"records":[{}]}"#)
                == "SAMPLES.batch: expected an integer from 0 to 9007199254740991, found 9007199254740992")
        #expect(
            reason("QUERY", #"{"id":1,"want":"records","limit":1e300}"#)
                == "QUERY.limit: expected an integer from 1 to 9007199254740991, found 1e300")
        #expect(
            reason("HELLO", #"{"protocol":[1],"instance":"a","plugin":"a","version":"1","mode":"fly"}"#)
                == #"HELLO.mode: expected one of "run", "once", "check", found "fly""#)
        #expect(
            reason(
                "HELLO",
                #"{"protocol":[1],"instance":"a","plugin":"a","version":"1","declares":[{"id":"x.a","kind":1}]}"#)
                == #"HELLO.declares[0].kind: expected one of "quantity", "category", "correlation", "workout", "characteristic", "other", found 1"#
        )
        #expect(
            reason("HELLO", #"{"protocol":["1"],"instance":"a","plugin":"a","version":"1"}"#)
                == #"HELLO.protocol[0]: expected an integer, found "1""#)
        #expect(
            reason("LIVE", #"{"type":"weight","progress":7}"#)
                == "LIVE.progress: expected a number from 0.0 to 1.0, found 7")
        #expect(
            reason("QUERY", #"{"id":1,"want":"records","types":["weight",5]}"#)
                == "QUERY.types[1]: expected a string, found 5")
        #expect(
            reason("QUERY", #"{"id":1,"want":"records","numbers":[1,-2]}"#)
                == "QUERY.numbers[1]: expected an integer from 0, found -2")
        #expect(reason("QUERY", #"{"id":1,"want":"records","kinds":[]}"#)?.contains("QUERY.kinds") == true)
        #expect(reason("EVENT", #"{"event":"Connected"}"#)?.contains("EVENT.event") == true)
        #expect(reason("HELLO", #"{"protocol":[1],"instance":"a","plugin":"a","version":"1","mode":null}"#) != nil)
    }

    @Test func `R12.1 a reason does not repeat a health value or a token`() {
        for (verb, body) in [
            ("LIVE", #"{"type":"weight","value":"71.93"}"#), ("LIVE", #"{"type":71.93}"#),
            ("TOKEN-PUT", #"{"id":1,"account":"a","expect":1,"token":"71.93"}"#),
            ("SAMPLES", #"{"batch":1,"records":[{"value":71.93 x}]}"#),
        ] {
            let error = #expect(throws: WireError.self, "\(body)") { try ClientMessage.decode(verb, body) }
            #expect(error?.reason.contains("71.93") == false, "\(error?.reason ?? "")")
        }
    }

    @Test func `R3.3 the reason names the byte offset`() {
        #expect(throws: WireError(.json, "PING: no JSON at byte 5: expected a value")) {
            try ClientMessage.decode("PING", #"{"a":x}"#)
        }
        #expect { try ClientMessage.decode("PING", "[1]") } throws: {
            ($0 as? WireError)?.reason.contains("byte 0") == true
        }
    }

    @Test func `R3.3 a hundred thousand nested arrays get an error and do not crash the hub`() {
        let body = #"{"a":"# + String(repeating: "[", count: 100_000)
        #expect { try ClientMessage.decode("PING", body) } throws: { ($0 as? WireError)?.code == .json }
    }

    @Test func `R3.5 R3.9 unknown members are ignored, and the last of two equal names counts`() throws {
        let message = try ClientMessage.decode(
            "COMMAND", #"{"id":1,"future":{"x":[1]},"cancel":true,"id":2}"#)
        #expect(message == .command(CommandRequest(id: 2, content: .cancel)))
    }

    @Test(arguments: [
        (
            "QUERY", #"{"id":1,"want":"records","typ":["weight"]}"#,
            #"QUERY: there is no member "typ"; did you mean "types"?"#
        ),
        (
            "QUERY", #"{"id":1,"want":"records","person":["me"]}"#,
            #"QUERY: there is no member "person"; did you mean "persons"?"#
        ),
        (
            "QUERY", #"{"id":1,"want":"records","devices":["a"]}"#,
            #"QUERY: there is no member "devices"; it has id, want, types, persons, sources, kinds, nobody, guest, implausible, from, to, strict, group, numbers, where, since, order, latest, mirrors, limit, next, number, figures, interval, instance"#
        ),
        (
            "WANT", #"{"want":"x","start":"now","type":["weight"],"credit":{"records":1,"bytes":131072}}"#,
            #"WANT: there is no member "type"; did you mean "types"?"#
        ),
        (
            "WANT", #"{"want":"x","start":"now","takes":{"edit":false},"credit":{"records":1,"bytes":131072}}"#,
            #"WANT.takes: there is no member "edit"; did you mean "edits"?"#
        ),
        (
            "QUERY", #"{"id":1,"want":"records","\u001b[31m":1}"#,
            #"QUERY: there is no member "\u001b[31m"; it has id, want, types, persons, sources, kinds, nobody, guest, implausible, from, to, strict, group, numbers, where, since, order, latest, mirrors, limit, next, number, figures, interval, instance"#
        ),
    ])
    func `R8.36 an unknown member of a filter is refused by name, with the intended one as a suggestion`(
        verb: String, body: String, reason: String
    ) {
        #expect { try ClientMessage.decode(verb, body) } throws: { error in
            let error = error as? WireError
            return error?.code == .field && error?.reason == reason && error?.closed == false
        }
    }

    @Test func `an ERROR refers to the message it answers`() {
        #expect { try ClientMessage.decode("QUERY", #"{"id":12,"want":"gold"}"#) } throws: {
            ($0 as? WireError)?.ref == 12 && ($0 as? WireError)?.code == .query
        }
        #expect { try ClientMessage.decode("SAMPLES", #"{"batch":5,"records":[]}"#) } throws: {
            ($0 as? WireError)?.ref == 5
        }
    }

    @Test func `R3.1 only SAMPLES may have payload frames`() throws {
        #expect { try ClientMessage.decode("PING", "{}", frameCount: 3) } throws: {
            ($0 as? WireError)?.code == .frames
        }
        #expect { try ClientMessage.decode("PING", "", frameCount: 1) } throws: { ($0 as? WireError)?.code == .frames }
        _ = try ClientMessage.decode("SAMPLES", #"{"batch":1,"records":[{"payload":0}]}"#, frameCount: 3)
    }

    @Test func `R3.2 the reason names the verb`() {
        #expect { try ClientMessage.decode("HULLO", "{}") } throws: {
            ($0 as? WireError)?.reason.contains("\"HULLO\"") == true
        }
    }

    @Test func `R4.9 the version of a HELLO is checked before its other members`() {
        #expect { try ClientMessage.decode("HELLO", #"{"protocol":[2],"name":"a"}"#) } throws: {
            let error = $0 as? WireError
            return error?.code == .version && error?.closed == true && error?.reason.contains("version 1") == true
        }
        #expect(ProtocolVersion.common(with: [3, 1, 2]) == 1)
    }

    @Test func `the records of a RESULT are kept byte for byte`() throws {
        let first = #"{"type":"weight","value":72.30,"extra":{"a":"]},{"}}"#
        let second = #"{ "type" : "x" }"#
        let body = "{\"id\":1,\"records\":[ \(first) ,\n\(second)],\"cursor\":\"k7qz2m5a-2\"}"
        guard case .result(let result) = try HubMessage.decode("RESULT", Array(body.utf8)),
            case .records(let records, nil, let cursor) = result.content
        else {
            Issue.record("no page")
            return
        }
        #expect(records.count == 2)
        #expect(records.text(0) == first)
        #expect(records.text(1) == second)
        #expect(cursor == Cursor(epoch: "k7qz2m5a", sequence: 2))
    }

    @Test func `LIVE is forwarded unchanged, except that the hub's members replace the reserved ones`() throws {
        let body = #"{"type":"weight","value":72.10,"person":"eve","new":1}"#
        guard case .live(let live) = try ClientMessage.decode("LIVE", body) else {
            Issue.record("no LIVE")
            return
        }
        #expect(live.body.text == body)
        let published = live.body.setting([("person", .string("me")), ("source", .emptyObject)])
        #expect(published?.text == #"{"type":"weight","value":72.10,"new":1,"person":"me","source":{}}"#)
    }

    @Test func `a LIVE value that JSON cannot represent is refused when it is created`() {
        #expect(throws: WireError.self) { try LiveValue(type: "weight", value: .nan) }
        #expect(throws: WireError.self) { try LiveValue(type: "weight", progress: 1.5) }
    }

    @Test func `R11.3 tokens are not printed`() throws {
        let answer = TokenAnswer(id: 1, .token(try #require(RawJSON(#"{"t":"s3cret"}"#)), version: 1, lease: nil))
        var dumped = "\(answer)"
        dump(answer, to: &dumped)
        #expect(!dumped.contains("s3cret") && !dumped.contains("115"))
    }

    @Test func `unknown error codes of a later version are kept`() throws {
        let message = try HubMessage.decode("ERROR", Array(#"{"code":"weather","reason":"rain","closed":false}"#.utf8))
        guard case .error(let error) = message else { return }
        #expect(error.code.rawValue == "weather")
        #expect(WireError.Code(received: "credit") == .credit)
    }

    @Test func `a feed message has three frames and round-trips through them`() throws {
        let message = FeedMessage(
            topic: .sample(type: "weight", person: "me", plugin: "ihealth-hs3"),
            place: FeedPosition(sequence: 2, previous: 1, epoch: "k7qz2m5a"),
            body: Array("{}".utf8))
        #expect(FeedMessage(frames: message.frames) == message)
        #expect(FeedMessage(frames: Array(message.frames.dropLast())) == nil)
        #expect(message.topic.matches(prefix: "sample/weight/") && !message.topic.matches(prefix: "day/"))
        #expect(Topic.isPrefix("sample/") && Topic.isPrefix("") && !Topic.isPrefix("sample/wei"))
        #expect(Topic.live(type: "weight", person: nil, plugin: "p").text == "live/weight/-/p/")
    }
}
