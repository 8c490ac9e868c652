import HubWire
import Testing

@testable import HubCore

/// HELLO that comes more than once (chapter 4.1).
@Suite struct GreetingTests {
    private static let hello = #"{"protocol":[1],"instance":"kitchen-script","plugin":"kitchen-script","version":"1"}"#

    /// What a client says that takes each WELCOME as a reason to send its thousand records.
    private static let batch =
        #"{"batch":1,"records":["# + (0..<1_000).map { weight("k\($0)") }.joined(separator: ",") + "]}"

    @Test func `R4.30 R4.31 a client whose HELLOs wait for the hub gets one WELCOME, and its batch is taken once`()
        async throws
    {
        let folder = try Folder()
        var sessions: Set<String> = []
        for round in 0..<2 {
            // Half a minute without a hub, for a client that greets every two seconds.
            let peer = try await Peer.dealer("ipc://\(folder.run)/door")
            for _ in 0..<15 { await peer.say("HELLO", Self.hello) }
            try await withHub(in: folder) { hub in
                let welcome = try await peer.next()
                #expect(welcome.verb == "WELCOME")
                sessions.insert(welcome.body["session"].string ?? "")
                await peer.say("SAMPLES", Self.batch)
                let stored = try await peer.next()
                #expect(Set(stored.results) == [round == 0 ? "stored" : "duplicate"], "\(stored)")
                #expect(try await peer.ask("PING").verb == "PONG")
                await peer.close()
            }
        }
        #expect(sessions.count == 2, "a hub that is started again gives other names")
    }

    @Test func `R4.30 a client that asks again hears WELCOME of its session, and sends nothing twice`() async throws {
        try await withHub { hub in
            let peer = try await hub.peer()
            let welcome = try await peer.ask("HELLO", Self.hello)
            // By the hub's clock: it answers as soon as a second is over.
            var again: Frames?
            while again == nil {
                await peer.say("HELLO", Self.hello)
                again = await peer.nextIfAny(within: .milliseconds(100))
            }
            let (first, second) = (welcome.body["session"].string, again?.body["session"].string)
            #expect(again?.verb == "WELCOME" && first == second && first != nil)
            #expect(try await peer.give([weight("a")]).results == ["stored"])
            // Something was said: the next HELLO begins another session, in which the whole credit is there again.
            let other = try await peer.ask("HELLO", Self.hello)
            #expect(other.verb == "WELCOME" && other.body["session"].string != first)
        }
    }

    @Test func `R4.30 a HELLO with other members begins another session`() async throws {
        try await withHub { hub in
            let peer = try await hub.peer()
            let once = Self.hello.replacing(#""version""#, with: #""mode":"once","version""#)
            let first = try await peer.ask("HELLO", once)
            let other = try await peer.ask("HELLO", once.replacing(#""1""#, with: #""2""#))
            #expect(first.body["session"].string != other.body["session"].string)
        }
    }

    @Test func `R3.4 a version that no person would read is refused, and its session with it`() async throws {
        try await withHub { hub in
            for version in [String(repeating: "1", count: 65), "1\u{1B}[2J"] {
                let peer = try await hub.peer()
                let body = Self.hello.replacing(
                    #""version":"1""#, with: #""version":\#(RawJSON.string(version).text)"#)
                let refused = try await peer.ask("HELLO", body)
                #expect(refused.code == "field" && refused.body["closed"].truth == true)
                #expect(refused.body["reason"].string?.contains("HELLO.version") == true, "\(refused)")
            }
        }
    }
}
