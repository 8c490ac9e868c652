import ArgumentParser
import Foundation
import HealthText
import HubClient
import HubWire
import Samples
import Testing
import ZeroMQ

@testable import HubCommand

/// A ROUTER that answers as a script says, on the thread of `serve`.
private final class ScriptedHub {
    let endpoint: String
    private let socket: Socket

    init() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "hub-\(UInt32.random(in: 0 ... .max))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        endpoint = "ipc://\(folder.path)/door"
        socket = try Socket(.router, in: try Context())
        try socket.bind(endpoint)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: String(endpoint.dropFirst("ipc://".count).dropLast("/door".count)))
    }

    /// Serves until `script` returns `nil`; the script receives the verb and body of each message and returns the
    /// answers.
    func serve(_ script: (String, String) -> [(String, String)]?) throws {
        while try socket.wait(for: .readable, upTo: .seconds(10)).contains(.readable) {
            var frames = Multipart()
            guard case .complete = try socket.receiveMultipart(into: &frames), frames.count >= 3 else { return }
            let peer = frames.bytes(of: 0)
            guard let answers = script(frames.text(of: 1) ?? "", frames.text(of: 2) ?? "") else { return }
            for (verb, body) in answers {
                var message = Multipart()
                message.append(peer)
                message.append(verb)
                message.append(body)
                _ = try socket.sendMultipart(message)
            }
        }
    }
}

/// The `WELCOME` of a scripted hub.
let scriptedWelcome =
    #"{"protocol":1,"session":"s","hub":"h","epoch":"k7qz2m5a","head":7,"instance":"hub-test","plugin":"hub-test","grants":{"read":{"types":["*"],"persons":["*"]},"write":{"types":["*"],"persons":["*"]}},"limits":{"frameBytes":1048576,"batchRecords":1000,"recordBytes":65536,"keyBytes":64,"payloadBytes":262144,"queries":2,"pageRecords":1000,"pageBytes":1048576,"livePerSecond":50,"sessions":256},"credit":{"records":1,"bytes":1},"heartbeat":{"interval":5000,"timeout":20000},"settings":{},"persons":[],"clock":"system","time":"2026-03-15T06:30:05Z","feed":"ipc:///f","serves":["HELLO","QUERY"]}"#

@Suite(.timeLimit(.minutes(3))) struct DoorClientTests {
    /// Runs `script` as the hub and `body` as its client.
    fileprivate func talk<Result: Sendable>(
        _ script: @escaping @Sendable (String, String) -> [(String, String)]?,
        _ body: @escaping @Sendable (String) throws -> Result
    ) async throws -> Result {
        let (addresses, address) = AsyncStream.makeStream(of: String.self)
        async let hub: Void = blocking {
            let hub = try ScriptedHub()
            address.yield(hub.endpoint)
            try hub.serve(script)
        }
        let endpoint = try #require(await addresses.first { _ in true })
        let result = try await blocking { try body(endpoint) }
        try await hub
        return result
    }

    /// The same with a hub that welcomes its client, answers the messages of one verb by `script`, and ends at BYE.
    fileprivate func talk<Result: Sendable>(
        answering verb: String, _ script: @escaping @Sendable (String) -> [(String, String)],
        _ body: @escaping @Sendable (String) throws -> Result
    ) async throws -> Result {
        try await talk(
            { said, text in
                switch said {
                case "HELLO": [("WELCOME", scriptedWelcome)]
                case "BYE": nil
                case verb: script(text)
                default: []
                }
            }, body)
    }

    @Test func `a query that was lost with a killed hub is sent to the next hub at once`() async throws {
        let hub = try await TestHub()
        let endpoint = hub.endpoints.door
        let (sessions, session) = AsyncStream.makeStream(of: Void.self)
        async let answer = blocking {
            // Longer than the test may take.
            let client = try DoorClient(endpoint: endpoint, command: "test", patience: .seconds(600))
            try client.open()
            hub.signal(SIGSTOP)
            session.yield()
            return try client.ask(.status).text
        }
        _ = await sessions.first { _ in true }
        // The query may or may not have been sent by then.
        await hub.kill()
        try await hub.restart()
        #expect(try await answer.contains("\"records\":0"))
    }

    @Test func `a hub that is killed during a query and not restarted is reported as absent, not as hanging`()
        async throws
    {
        let hub = try await TestHub()
        let endpoint = hub.endpoints.door
        let (sessions, session) = AsyncStream.makeStream(of: Void.self)
        async let failure = blocking {
            let client = try DoorClient(endpoint: endpoint, command: "test", patience: .seconds(1))
            try client.open()
            hub.signal(SIGSTOP)
            session.yield()
            return try #require(throws: Failure.self) { try client.ask(.status) }
        }
        _ = await sessions.first { _ in true }
        await hub.kill()
        #expect(try await failure == DoorClient.absent(endpoint))
    }

    @Test func `the client sends HELLO in mode once, answers PING and ends with BYE`() async throws {
        let seen = AwaitableValue<[String]>([])
        let text = try await talk { verb, body in
            seen.change { $0.append("\(verb) \(body)") }
            switch verb {
            case "HELLO": return [("WELCOME", scriptedWelcome)]
            case "QUERY": return [("PING", #"{"n":1}"#), ("RESULT", #"{"id":1,"status":{"a":1.00}}"#)]
            case "BYE": return nil
            default: return []
            }
        } _: { endpoint in
            try DoorClient(endpoint: endpoint, command: "test").ask(.status).text
        }
        #expect(text == #"{"a":1.00}"#)
        #expect(
            seen.value == [
                #"HELLO {"protocol":[1],"instance":"hub-test","plugin":"hub-test","version":"\#(ProductVersion.current)","mode":"once"}"#,
                #"QUERY {"id":1,"want":"status"}"#, #"PONG {"n":1}"#, "BYE {}",
            ])
    }

    @Test func `after hello-first the client sends HELLO and its query again`() async throws {
        let asked = AwaitableValue(0)
        let text = try await talk(answering: "QUERY") { _ in
            asked.change { $0 += 1 }
            return asked.value == 1
                ? [("ERROR", #"{"code":"hello-first","reason":"no session","closed":true}"#)]
                : [("RESULT", #"{"id":1,"plugins":[]}"#)]
        } _: { endpoint in
            try DoorClient(endpoint: endpoint, command: "test").ask(.plugins).text
        }
        #expect(text == "[]")
        #expect(asked.value == 2)
    }

    @Test func `pages are requested until there is no next, with the other members unchanged`() async throws {
        let questions = AwaitableValue<[String]>([])
        let records = try await talk(answering: "QUERY") { body in
            questions.change { $0.append(body) }
            return questions.value.count == 1
                ? [("RESULT", #"{"id":1,"records":[{"a": 1},{"b":2}],"next":"n1","cursor":"k7qz2m5a-7"}"#)]
                : [("RESULT", #"{"id":2,"records":[{"c":3}],"cursor":"k7qz2m5a-7"}"#)]
        } _: { endpoint in
            var texts: [String] = []
            var query = QueryRequest(id: 0, order: .time)
            query.filter.types = ["weight"]
            try DoorClient(endpoint: endpoint, command: "test").pages(query) { records, _ in
                texts += records.map { String(decoding: $0, as: UTF8.self) }
            }
            return texts
        }
        #expect(records == [#"{"a": 1}"#, #"{"b":2}"#, #"{"c":3}"#])
        #expect(
            questions.value == [
                #"{"id":1,"want":"records","types":["weight"],"order":"time"}"#,
                #"{"id":2,"want":"records","types":["weight"],"order":"time","next":"n1"}"#,
            ])
    }

    @Test(arguments: [
        ("stopping", HubExit.tryAgain), ("busy", .tryAgain), ("store", .tryAgain), ("forbidden", .forbidden),
        ("query", .usage), ("internal", .fault), ("unsupported", .dialogue), ("of-a-later-version", .dialogue),
    ]) func `each error of the hub has its exit code`(_ code: String, _ exit: HubExit) async throws {
        let failure = try await talk(answering: "QUERY") { _ in
            [("ERROR", #"{"code":"\#(code)","reason":"why","closed":false,"ref":1}"#)]
        } _: { endpoint -> Failure? in
            do {
                _ = try DoorClient(endpoint: endpoint, command: "test").ask(.status)
                return nil
            } catch let failure as Failure { return failure }
        }
        #expect(failure == Failure(exit, "the hub says: why (\(code))"))
    }

    @Test func `if no hub listens, the client fails at once and names the command to run`() throws {
        let failure = try #require(throws: Failure.self) {
            _ = try DoorClient(endpoint: "ipc:///nonexistent/door", command: "test")
        }
        #expect(
            failure
                == Failure(.noHub, "no hub answers at ipc:///nonexistent/door: is it running? Start it with hub run"))
    }

    @Test func `a hub that does not answer fails the call after the client's patience`() async throws {
        let failure = try await talk { verb, _ in
            verb == "HELLO" ? nil : []
        } _: { endpoint -> Failure? in
            do {
                try DoorClient(endpoint: endpoint, command: "test", patience: .milliseconds(300)).open()
                return nil
            } catch let failure as Failure { return failure }
        }
        #expect(failure?.exit == .noHub)
    }
}

@Suite struct CallTests {
    private func outcome(
        _ watch: CallCallbacks = CallCallbacks(), _ script: @escaping @Sendable (String) -> [(String, String)]
    ) async throws -> CommandOutcome.Content {
        let watch = AwaitableValue(UncheckedWatch(watch: watch))
        return try await DoorClientTests().talk(answering: "COMMAND", script) { endpoint in
            let client = try DoorClient(endpoint: endpoint, command: "test")
            defer { _ = try? client.open() }  // The script ends with BYE, also after a lost session.
            return try client.call(CommandRequest(id: 0, instance: "sami", command: "login"), watch.value.watch)
        }
    }

    /// The call uses the closures on its own thread only.
    private struct UncheckedWatch: @unchecked Sendable { let watch: CallCallbacks }

    @Test func `a call reports progress, answers questions, and ends with the outcome`() async throws {
        let told = AwaitableValue<[Int64]>([])
        var watch = CallCallbacks()
        watch.progress = { step in told.change { $0.append(step.done) } }
        watch.ask = { question in
            #expect(question == CommandQuestion("code?", url: "https://a.example"))
            let looks = AwaitableValue(0)
            return {
                looks.change { $0 += 1 }
                return looks.value < 3 ? nil : .string("4711")
            }
        }
        let outcome = try await outcome(watch) { body in
            body.contains("answer")
                ? [("OUTCOME", #"{"id":1,"outcome":"done","result":"\#(body.contains("4711"))"}"#)]
                : [
                    ("PROGRESS", #"{"id":1,"done":5}"#),
                    ("OUTCOME", #"{"id":1,"outcome":"ask","url":"https://a.example","prompt":"code?"}"#),
                ]
        }
        #expect(outcome == .done(result: .string("true")))
        #expect(told.value == [5])
    }

    @Test func `cancelling a call sends one cancel and waits for the outcome`() async throws {
        var watch = CallCallbacks()
        watch.isCancelled = { true }
        let commands = AwaitableValue<[String]>([])
        let outcome = try await outcome(watch) { body in
            commands.change { $0.append(body) }
            return body.contains("cancel") ? [("OUTCOME", #"{"id":1,"outcome":"cancelled"}"#)] : []
        }
        #expect(outcome == .cancelled)
        #expect(
            commands.value == [#"{"id":1,"instance":"sami","command":"login","args":{}}"#, #"{"id":1,"cancel":true}"#])
    }

    @Test func `a call is never sent twice`() async throws {
        let failure = await #expect(throws: Failure.self) {
            try await outcome { _ in [("ERROR", #"{"code":"hello-first","reason":"no session","closed":true}"#)] }
        }
        #expect(failure?.exit == .tryAgain && failure?.message.contains("may have happened") == true)
    }
}

@Suite struct ArgumentWordTests {
    private let declarations: [SettingDeclaration] = [
        .init("days", .integer(), help: "D."), .init("all", .boolean, help: "A."), .init("file", .path, help: "F."),
        .init("kinds", .list(of: .string()), help: "K."), .init("code", .string(), help: "C."),
        .init("factor", .number(), help: "N."),
    ]

    private func arguments(_ words: String...) throws -> [String: SettingValue] {
        let json = try PluginCommandCall.arguments(words, declarations, directory: "/home/me")
        return try JSON.decode([String: SettingValue].self, from: json.bytes)
    }

    @Test func `words become values of their declared types; a word that does not fit stays text for the hub to judge`()
        throws
    {
        #expect(
            try arguments("days=7", "all=true", "file=notes.txt", "kinds=a,b", "kinds=c", "code=12=3") == [
                "days": .integer(7), "all": .boolean(true), "file": .string("/home/me/notes.txt"),
                "kinds": .list([.string("a"), .string("b"), .string("c")]), "code": .string("12=3"),
            ])
        #expect(try arguments("days=many", "other=7") == ["days": .string("many"), "other": .string("7")])
        #expect(
            try arguments("all=off", "kinds=a, b,") == [
                "all": .boolean(false), "kinds": .list([.string("a"), .string("b")]),
            ])
        // A comma may be a decimal or a thousands separator, so such a number stays text.
        #expect(try arguments("factor=61,5") == ["factor": .number(61.5)])
        #expect(try arguments("factor=1,234") == ["factor": .string("1,234")])
    }

    @Test func `a word without a key, or a key given twice, is a usage error`() throws {
        #expect(throws: Failure(.usage, "days: an argument is written key=value")) { try arguments("days") }
        #expect(throws: Failure(.usage, "=7: an argument is written key=value")) { try arguments("=7") }
        #expect(throws: Failure(.usage, "code: it is given twice")) { try arguments("code=1", "code=2") }
    }

    @Test func `a deadline is a time of at most a day`() throws {
        #expect(try CallOptions.deadline("10min") == 600_000)
        for text in ["2d", "25h", "0s", "soon"] {
            #expect(throws: ValidationError.self) { try CallOptions.deadline(text) }
        }
    }

    @Test(arguments: [
        (#"{"account":"me","list":[1,2],"records":12}"#, ["account  me", "list     1, 2", "records  12"]),
        (#"{}"#, ["done"]), (#""x""#, ["x"]), (#"[]"#, ["none"]), (#"{"removed":true}"#, ["removed  yes"]),
        (#"[{"person":"anna","position":0},{"position":3}]"#, ["POSITION  PERSON", "0         anna", "3         -"]),
        (
            #"{"users":[{"person":"anna","position":0},{"position":3}]}"#,
            ["POSITION  PERSON", "0         anna", "3         -"]
        ),
        (
            #"{"files":[{"file":"a","types":[{"name":"weight","new":1}]},{"file":"b","types":[]}]}"#,
            ["file   a", "types", "  NAME    NEW", "  weight  1", "", "file   b", "types  none"]
        ),
        (#"{"lines":["I own one device:","  Scale"]}"#, ["I own one device:", "  Scale"]),
        (
            #"{"account":"mira","begins":"2024-05-20T06:00:00Z","leftOut":{"its day has not come":3},"lost":{},"orphaned":[],"note":null,"values":[{"attribute":"weight","changed":true,"date":"2024-05-19"}]}"#,
            [
                "account   mira", "begins    \(LocalTime.text("2024-05-20T06:00:00Z") ?? "")", "lost      none",
                "orphaned  none", "note      -", "left out", "  its day has not come  3",  //
                "values", "  ATTRIBUTE  CHANGED  DATE", "  weight     yes      2024-05-19",
            ]
        ),
    ]) func `a result is printed as lines and tables`(_ json: String, _ lines: [String]) throws {
        #expect(ResultText().lines(try #require(RawJSON(json))) == lines)
    }

    @Test func `a result nested too deeply is printed as JSON`() throws {
        let deep = String(repeating: "[", count: 20) + String(repeating: "]", count: 20)
        #expect(ResultText().lines(try #require(RawJSON(deep))) == [String(deep.dropFirst(8).dropLast(8))])
        #expect(ResultText().lines(try #require(RawJSON(#"["\ud800"]"#))) == [#"["\ud800"]"#], "half a character")
    }
}
