import HubWire
import Testing

@testable import HubCore

/// Repeated HELLO (chapter 4.1).
@Suite struct GreetingTests {
    private static let hello = #"{"protocol":[1],"instance":"kitchen-script","plugin":"kitchen-script","version":"1"}"#

    /// The batch of a client that sends its thousand records after each WELCOME.
    private static let batch =
        #"{"batch":1,"records":["# + (0..<1_000).map { weight("k\($0)") }.joined(separator: ",") + "]}"

    @Test func `R4.30 R4.31 a client with queued HELLOs gets one WELCOME, and its batch is stored once`()
        async throws
    {
        let folder = try Folder()
        var sessions: Set<String> = []
        for round in 0..<2 {
            // The HELLOs of a client that greets every two seconds for half a minute without a hub.
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
        #expect(sessions.count == 2, "a restarted hub assigns other session names")
    }

    @Test func `R4.30 a client that repeats HELLO gets the WELCOME of its session and sends nothing twice`()
        async throws
    {
        try await withHub { hub in
            let peer = try await hub.peer()
            let welcome = try await peer.ask("HELLO", Self.hello)
            // The hub answers again as soon as a second has passed by its clock.
            var again: Frames?
            while again == nil {
                await peer.say("HELLO", Self.hello)
                again = await peer.nextIfAny(within: .milliseconds(100))
            }
            let (first, second) = (welcome.body["session"].string, again?.body["session"].string)
            #expect(again?.verb == "WELCOME" && first == second && first != nil)
            #expect(try await peer.give([weight("a")]).results == ["stored"])
            // After another message the next HELLO begins a new session with the whole credit.
            let other = try await peer.ask("HELLO", Self.hello)
            #expect(other.verb == "WELCOME" && other.body["session"].string != first)
        }
    }

    @Test func `a program of any version gets a session and stores records`() async throws {
        try await withHub { hub in
            for version in ["0.1.0", "1.0", "1.2", "99.0.0", "nightly"] {
                let peer = try await hub.peer()
                let hello = Self.hello.replacing(#""version":"1""#, with: #""version":"\#(version)""#)
                #expect(try await peer.ask("HELLO", hello).verb == "WELCOME", "\(version)")
                #expect(try await peer.give([weight(version)]).results == ["stored"], "\(version)")
            }
        }
    }

    @Test func `R4.30 a HELLO with other members begins a new session`() async throws {
        try await withHub { hub in
            let peer = try await hub.peer()
            let once = Self.hello.replacing(#""version""#, with: #""mode":"once","version""#)
            let first = try await peer.ask("HELLO", once)
            let other = try await peer.ask("HELLO", once.replacing(#""1""#, with: #""2""#))
            #expect(first.body["session"].string != other.body["session"].string)
        }
    }

    @Test func `R3.4 a HELLO with an overlong or unprintable version is refused, and the session is closed`()
        async throws
    {
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
