import Foundation
import HubProcess
import HubSettings
import HubWire
import Platform
import Testing

@testable import HubCore

/// Faulty peers must not affect other peers.
@Suite(.serialized) struct BadInputTests {
    /// Checks that a peer's session still works and that its records are stored.
    private func expectUnharmed(_ peer: Peer, _ comment: Comment? = nil) async throws {
        let key = "alive\(UInt32.random(in: .min ... .max))"
        #expect(try await peer.give([weight(key)]).results == ["stored"], comment)
    }

    @Test func `R2.1 a second peer with the same routing id is ignored, and the first one continues`() async throws {
        try await withHub { hub in
            var options = Peer.Options()
            options.routingID = Array("same".utf8)
            let first = try await hub.peer(options)
            try await first.hello()
            let second = try await hub.peer(options)
            await second.say("HELLO", #"{"protocol":[1],"instance":"thief","plugin":"thief","version":"1"}"#)
            #expect(await second.nextIfAny(within: .milliseconds(300)) == nil)
            try await expectUnharmed(first)
            #expect(try await first.status()["sessions"].array.count == 1)
        }
    }

    @Test func `R2.2 R4.4 the plugin endpoint accepts only processes that the hub started, each as its own instance`()
        async throws
    {
        let folder = try Folder()
        let setting = try Setting.withTokens(["scale", "cloud"], in: folder)
        try await withHub(setting, in: folder) { hub in
            let owner = try await hub.client("owner")
            let token = try await hub.token(of: "scale")
            let door = hub.hub.endpoints.pluginDoor
            let hello = [
                Array("HELLO".utf8), Array(#"{"protocol":[1],"instance":"scale","plugin":"scale","version":"1"}"#.utf8),
            ]

            for (user, password) in [
                ("scale", "wrong"), ("scale", try await hub.token(of: "cloud")), ("nobody", token),
                ("scale", token.uppercased() + "x"),
            ] {
                let stranger = try await Peer.dealer(door, Peer.Options(user: user, password: password))
                await stranger.send(hello, isCertain: false)
                #expect(await stranger.nextIfAny(within: .milliseconds(100)) == nil, "\(user)")
                await stranger.close()
            }
            let told = try await owner.status()["plugins"].array.first { $0["name"].string == "scale" }
            #expect(
                told?["lastError"].string?.contains("launch token") == true, "the plugin's author can read the reason")
            let noLogin = try await Peer.dealer(door)
            await noLogin.send(hello, isCertain: false)
            #expect(await noLogin.nextIfAny(within: .milliseconds(100)) == nil)

            let scale = try await Peer.dealer(door, Peer.Options(user: "scale", password: token))
            let forged = try await scale.ask(
                "HELLO", #"{"protocol":[1],"instance":"cloud","plugin":"scale","version":"1"}"#)
            #expect(forged.code == "forbidden" && forged.body["closed"].truth == true)
            let welcome = try await scale.hello("scale")
            #expect(["ipc://\(folder.run)/feed-1", "ipc://\(folder.run)/feed-2"].contains(welcome["feed"].string))
            try await expectUnharmed(scale)
            let mended = try await owner.status()["plugins"].array.first { $0["name"].string == "scale" }
            #expect(mended?["lastError"].string == nil)
            // A token is valid for any number of connections.
            let again = try await Peer.dealer(door, Peer.Options(user: "scale", password: token))
            try await again.hello("scale", mode: "check")
            // R8.6 R8.10: queries and commands that only the owner may use.
            #expect(try await scale.query("", want: "status").code == "forbidden")
            #expect(try await scale.command("stop").code == "forbidden")
            #expect(try await scale.query("").verb == "RESULT")
            try await expectUnharmed(owner)
            // Tokens are never logged.
            #expect(!hub.log.lines.contains { $0.contains(token) })
        }
    }

    @Test func `R4.26 at the owner's door no program can replace a process that the hub started`()
        async throws
    {
        var setting = try Setting.withTokens(["scale"])
        setting.lifePolicy.firstPause = 300_000
        try await withHub(setting) { hub in
            let token = try await hub.token(of: "scale")
            let other = try await hub.peer()
            let hello = #"{"protocol":[1],"instance":"scale","plugin":"scale","version":"1"}"#
            // This holds before and after the process has greeted.
            #expect(try await other.ask("HELLO", hello).code == "forbidden")
            let scale = try await Peer.dealer(
                hub.hub.endpoints.pluginDoor, Peer.Options(user: "scale", password: token))
            try await scale.hello("scale")
            let refused = try await other.ask("HELLO", hello)
            #expect(refused.code == "forbidden" && refused.body["closed"].truth == true, "\(refused)")
            #expect(refused.body["reason"].string?.contains("give this program another instance name") == true)
            #expect(try await scale.give([weight("a")]).results == ["stored"], "the first session continues")
            // A session in mode once does not replace another.
            try await other.hello("scale", mode: "once")
            #expect(try await scale.give([weight("b")]).results == ["stored"])

            let pid = try #require(try await other.status()["plugins"][0]["pid"].int)
            kill(pid_t(pid), SIGKILL)
            try await eventually(
                "a program started by hand can use the instance name while the plugin's process does not run"
            ) {
                try await other.ask("HELLO", hello).verb == "WELCOME"
            }
            #expect(try await other.give([weight("c")]).results == ["stored"])
        }
    }

    @Test func `R4.5 a routing id that reappears on another endpoint has no session`() async throws {
        let setting = try Setting.withTokens(["scale"])
        try await withHub(setting) { hub in
            var options = Peer.Options()
            options.routingID = Array("reused".utf8)
            let owner = try await hub.peer(options)
            try await owner.hello("owner")
            await owner.close()
            (options.user, options.password) = ("scale", try await hub.token(of: "scale"))
            // Until the hub notices that the first peer is gone, it ignores the second one with the equal id.
            var answer: Frames?
            while answer == nil {
                let thief = try await Peer.dealer(hub.hub.endpoints.pluginDoor, options)
                await thief.say("QUERY", #"{"id":1,"want":"status"}"#)
                answer = await thief.nextIfAny(within: .milliseconds(200))
                await thief.close()
            }
            #expect(answer?.code == "hello-first", "\(String(describing: answer))")
        }
    }

    @Test func `R3.2 R3.3 R3.4 R4.1 R4.9 malformed messages get an error, and other sessions continue`()
        async throws
    {
        try await withHub { hub in
            let bystander = try await hub.client("bystander")
            let peer = try await hub.peer()
            #expect(try await peer.ask("PING").code == "hello-first")
            let version = try await peer.ask("HELLO", #"{"protocol":[2,3],"instance":"a","plugin":"a","version":"1"}"#)
            #expect(version.code == "version" && version.body["reason"].string?.contains("1") == true)
            try await peer.hello()
            let verb = try await peer.ask("FROB")
            #expect(verb.code == "verb" && verb.body["reason"].string?.contains("FROB") == true)
            let nan = try await peer.ask("SAMPLES", #"{"batch":1,"records":[{"type":"weight","value":NaN}]}"#)
            #expect(nan.code == "json" && nan.body["reason"].string?.contains(/\d+/) == true)
            try await expectUnharmed(peer)
            try await expectUnharmed(bystander)
        }
    }

    @Test func `R3.7 a frame over the limit ends that connection without an answer`() async throws {
        try await withHub { hub in
            let bystander = try await hub.client("bystander")
            let peer = try await hub.client()
            let limit = 1_048_576
            // The largest frame is read.
            let padding = String(repeating: " ", count: limit - 2)
            #expect(try await peer.ask("PING", "{\(padding)}").verb == "PONG")
            await peer.say("PING", "{\(padding) }")
            await peer.say("PING", #"{"after":1}"#)
            // The DEALER reconnects and has no session now.
            let answer = try await peer.next()
            #expect(answer.code == "hello-first", "\(answer)")
            try await expectUnharmed(bystander)
        }
    }

    @Test func `a partial message never arrives, whatever follows it`() async throws {
        try await withHub { hub in
            let bystander = try await hub.client("bystander")
            for cut in [0, 10, 64, 70, 100, 130, 200] {
                let raw = try RawConnection(hub.folder.run + "/door")
                raw.send(RawConnection.handshake)
                raw.send(
                    RawConnection.frame("HELLO", more: true)
                        + RawConnection.frame(
                            #"{"protocol":[1],"instance":"raw","plugin":"raw","version":"1"}"#, more: false))
                let batch =
                    RawConnection.frame("SAMPLES", more: true)
                    + RawConnection.frame(#"{"batch":1,"records":[\#(weight("half"))]}"#, more: true)
                    + RawConnection.frame("payload", more: true)
                raw.send(Array(batch.prefix(cut)))
            }
            // Bytes that are not ZMTP.
            for garbage in ["GET / HTTP/1.1\r\n\r\n", String(repeating: "\u{1}", count: 5_000), ""] {
                let raw = try RawConnection(hub.folder.run + "/door")
                raw.send(Array(garbage.utf8))
            }
            try await expectUnharmed(bystander)
            #expect(try await bystander.all().records.allSatisfy { $0["key"].string != "half" })
        }
    }

    @Test func `R4.13 R4.14 a batch beyond credit or limits closes only its session and stores nothing`()
        async throws
    {
        try await withHub { hub in
            let bystander = try await hub.client("bystander")
            let peer = try await hub.client()
            let payloads = [[UInt8]](repeating: [UInt8](repeating: 7, count: 262_144), count: 32)
            let batch = Array(#"{"batch":5,"records":[\#(weight("beyond"))]}"#.utf8)
            await peer.send([Array("SAMPLES".utf8), batch] + payloads)
            let answer = try await peer.next()
            #expect(answer.code == "credit" && answer.body["closed"].truth == true, "\(answer)")
            #expect(answer.body["ref"].int == 5)
            #expect(try await peer.ask("PING").code == "hello-first")
            // A message larger than any credit is dropped before it is complete.
            try await peer.hello()
            await peer.send([Array("SAMPLES".utf8), batch] + payloads + payloads)
            #expect(try await peer.next().code == "limit")
            try await peer.hello()
            await peer.send([Array("SAMPLES".utf8), batch] + [[UInt8]](repeating: [], count: 1_001))
            #expect(try await peer.next().code == "limit")
            try await expectUnharmed(bystander)
            #expect(try await bystander.all().records.allSatisfy { $0["key"].string != "beyond" })
        }
    }

    @Test func `R4.15 answers return the whole credit after each flood`() async throws {
        try await withHub { hub in
            let peer = try await hub.peer()
            let window = try #require(try await peer.hello()["credit"]["records"].int)
            let full = (0..<1_000).map { weight("k\($0)") }
            for _ in 0..<window / 1_000 { await peer.give(unanswered: full) }
            var back: Int64 = 0
            for _ in 0..<window / 1_000 {
                let answer = try await peer.next()
                #expect(answer.verb == "STORED", "\(answer)")
                back += answer.body["credit"]["records"].int ?? 0
            }
            #expect(back == window)
            #expect(try await peer.all().records.count == 1_000)
        }
    }

    @Test func `R4.20 a peer that never reads loses its session at 4 MiB, even if it repeats HELLO`()
        async throws
    {
        try await withHub { hub in
            let bystander = try await hub.client("bystander")
            let large =
                #","metadata":{"a":"\#(String(repeating: "y", count: 16_000))"},"b":"\#(String(repeating: "z", count: 15_000))""#
            for batch in 0..<2 {
                _ = try await bystander.give((0..<20).map { weight("large\(batch * 20 + $0)", 1, large) })
            }
            let before = ProcessMemory.residentBytes() ?? 0
            var options = Peer.Options()
            options.reads = false
            let peer = try await hub.peer(options)
            let hello = #"{"protocol":[1],"instance":"deaf","plugin":"deaf","version":"1"}"#
            await peer.say("HELLO", hello)
            func isThere() async throws -> Bool {
                try await bystander.status()["sessions"].array.contains { $0["instance"].string == "deaf" }
            }
            try await eventually("the session begins") { try await isThere() }
            var id = 0
            try await eventually("the session ends") {
                id += 1
                await peer.say("QUERY", #"{"id":\#(id),"want":"records"}"#)
                return try await !isThere()
            }
            #expect(hub.log.lines.contains { $0.contains("reason=unread") })
            // A new HELLO does not help.
            for _ in 0..<20 {
                await peer.say("HELLO", hello)
                for _ in 0..<10 {
                    id += 1
                    await peer.say("QUERY", #"{"id":\#(id),"want":"records"}"#)
                }
                #expect(try await !isThere())
            }
            #expect((ProcessMemory.residentBytes() ?? 0) - before < 128 << 20)
            try await expectUnharmed(bystander)
        }
    }

    @Test func `R4.20 a peer that finally reads and answers the PINGs can log in again`() async throws {
        try await withHub { hub, peer in
            let large =
                #","metadata":{"a":"\#(String(repeating: "y", count: 16_000))"},"b":"\#(String(repeating: "z", count: 15_000))""#
            for batch in 0..<2 { _ = try await peer.give((0..<20).map { weight("k\(batch * 20 + $0)", 1, large) }) }
            await peer.answerPings(false)
            var pings: [Frames] = []
            var lost: Frames?
            for id in 100... {
                await peer.say("QUERY", #"{"id":\#(id),"want":"records"}"#)
                let answer = try await peer.next()
                if answer.verb == "PING" { pings.append(answer) }
                if answer.code == "hello-first" {
                    lost = answer
                    break
                }
            }
            #expect(lost != nil && (3...4).contains(pings.count))
            let refused = try await peer.ask(
                "HELLO", #"{"protocol":[1],"instance":"kitchen-script","plugin":"kitchen-script","version":"1"}"#)
            #expect(refused.code == "limit" || refused.code == "hello-first", "\(refused)")
            for ping in pings { await peer.send([Array("PONG".utf8), ping.all[1]]) }
            while try await peer.ask("PING").code != "hello-first" {}
            await peer.say(
                "HELLO", #"{"protocol":[1],"instance":"kitchen-script","plugin":"kitchen-script","version":"1"}"#)
            var answer = try await peer.next()
            while answer.code == "hello-first" || answer.code == "limit" { answer = try await peer.next() }
            #expect(answer.verb == "WELCOME", "\(answer)")
        }
    }

    @Test func `R4.7 there are at most 256 sessions, and an ended one makes room`() async throws {
        try await withHub { hub in
            var peers: [Peer] = []
            for index in 0..<256 { peers.append(try await hub.client("i\(index)", #","mode":"once""#)) }
            let late = try await hub.peer()
            for _ in 0..<44 {
                let refused = try await late.ask(
                    "HELLO", #"{"protocol":[1],"instance":"late","plugin":"late","version":"1"}"#)
                #expect(refused.code == "limit" && refused.body["closed"].truth == true)
            }
            #expect(try await peers[17].ask("BYE").verb == "BYE")
            try await late.hello("late", mode: "once")
            try await expectUnharmed(late)
            try await expectUnharmed(peers[255])
            for peer in peers { await peer.close() }
        }
    }

    @Test func `tens of thousands of invalid messages do not affect other sessions`() async throws {
        let count = Int(ProcessInfo.processInfo.environment["HUB_TEST_GARBAGE"] ?? "") ?? 50_000
        let seed = UInt64.random(in: .min ... .max)
        var random = SeededGenerator(seed: seed)
        try await withHub { hub in
            let bystander = try await hub.client("bystander")
            var options = Peer.Options()
            options.reads = false
            let silent = try await hub.peer(options)
            await silent.say("HELLO", #"{"protocol":[1],"instance":"garbage","plugin":"garbage","version":"1"}"#)
            let stranger = try await hub.peer(options)
            let before = ProcessMemory.residentBytes() ?? 0
            let verbs = ["SAMPLES", "QUERY", "COMMAND", "LIVE", "EVENT", "PING", "PONG", "WANT", "", "\u{0}", "HELLO "]
            let pieces = [
                "{", "}", "[", "]", "\"a\"", ":", ",", "1", "NaN", "\"records\"", "\"batch\"", "\\u12", " ", "-",
            ]
            for index in 0..<count {
                let verb = verbs.randomElement(using: &random) ?? ""
                let body = (0..<Int.random(in: 0...8, using: &random)).map { _ in
                    pieces.randomElement(using: &random) ?? ""
                }
                var frames = [Array(verb.utf8), Array(body.joined().utf8)]
                if Int.random(in: 0..<20, using: &random) == 0 { frames.append([1]) }
                if Int.random(in: 0..<20, using: &random) == 0 { frames.removeLast() }
                await (index % 2 == 0 ? silent : stranger).send(frames)
                if index % 5_000 == 0 { try await expectUnharmed(bystander, "seed \(seed)") }
            }
            try await expectUnharmed(bystander, "seed \(seed)")
            #expect((ProcessMemory.residentBytes() ?? 0) - before < 128 << 20, "seed \(seed)")
        }
    }

    @Test func `R3.6 R6.17 damaged records never make the commit of others fail`() async throws {
        let vectors = try VectorTests.of("record").compactMap(\.in)
        let seed = UInt64.random(in: .min ... .max)
        var random = SeededGenerator(seed: seed)
        let pieces = [
            "0", "9", "-", ".", "e308", "\"", "\\", "{", "}", "[", "]", ",", ":", "null", "true", "\\u0000", "\\ud800",
            "é", "\u{1}", "kg",
            "9223372036854775808", "day", "retraction", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59-23:59",
        ]
        try await withHub { hub in
            let bystander = try await hub.client("bystander")
            let peer = try await hub.client()
            for round in 0..<400 {
                let records = (0..<4).map { _ in
                    var text = Array(vectors.randomElement(using: &random) ?? "")
                    for _ in 0..<Int.random(in: 0...3, using: &random) where !text.isEmpty {
                        let start = Int.random(in: 0..<text.count, using: &random)
                        let end = min(text.count, start + Int.random(in: 0...6, using: &random))
                        text.replaceSubrange(start..<end, with: Array(pieces.randomElement(using: &random) ?? ""))
                    }
                    return String(text)
                }
                let answer = try await peer.give(records)
                #expect(
                    answer.verb == "STORED" || answer.code == "json" || answer.code == "field",
                    "seed \(seed): \(answer)")
                if answer.body["closed"].truth == true { try await peer.hello() }
                if round % 100 == 0 { try await expectUnharmed(bystander, "seed \(seed)") }
            }
            // All stored records can be read page by page.
            #expect(try await bystander.status()["store"]["state"].string == "ok")
            let stored = try await bystander.all(
                #""kinds":["quantity","category","correlation","workout","characteristic","other","day","retraction"]"#)
            let accounts = try await bystander.query("", want: "accounts").body["accounts"].array
            #expect(
                accounts.compactMap { $0["stored"].int }.reduce(0, +) == Int64(stored.records.count), "seed \(seed)")
        }
    }

    @Test func `R5.8 a flood of LIVE is dropped and counted, also after its session ended`() async throws {
        try await withHub { hub, peer in
            for _ in 0..<400 { await peer.say("LIVE", #"{"type":"weight","value":1,"unit":"kg"}"#) }
            try await expectUnharmed(peer)
            let dropped = try #require(try await peer.status()["dropped"].int)
            #expect((200...350).contains(dropped), "\(dropped)")
            #expect(try await peer.ask("BYE").verb == "BYE")
            let other = try await hub.client("other")
            #expect(try await other.status()["dropped"].int == dropped)
        }
    }

    @Test(arguments: ["LIVE", "EVENT"])
    func `R5.11 a LIVE or EVENT that is too long is refused and not published, and the session continues`(
        verb: String
    ) async throws {
        try await withHub { hub in
            let (listener, peer) = (try await hub.listener("live/", "device/"), try await hub.client())
            func body(_ count: Int) -> String {
                let start =
                    verb == "LIVE" ? #"{"type":"weight","value":1,"unit":"kg","x":""# : #"{"event":"tick","x":""#
                return start + String(repeating: "x", count: count - start.utf8.count - 2) + "\"}"
            }
            #expect(try await peer.ask(verb, body(8_193)).code == "limit")
            await peer.say(verb, body(8_192))
            #expect(try await listener.next().text(2).utf8.count > 8_192)
            try await expectUnharmed(peer)
        }
    }

    @Test func `a flood of subscriptions or invalid bytes on the feed does not delay others`() async throws {
        try await withHub { hub in
            let listener = try await hub.listener("sample/weight/")
            let flooder = try await Peer.listener(hub.feed, [])
            for index in 0..<20_000 { try await flooder.subscribe("sample/weight/nobody-\(index)/") }
            let raw = try RawConnection(hub.folder.run + "/feed")
            raw.send(RawConnection.handshake)
            raw.send(RawConnection.frame("\u{7}\u{9}", more: false) + RawConnection.frame("", more: false))
            let peer = try await hub.client()
            #expect(try await peer.give((0..<1_000).map { weight("k\($0)") }).results.count == 1_000)
            for sequence in 1...1_000 {
                #expect(try await listener.next().place == [Int64(sequence), Int64(sequence - 1)])
            }
            await flooder.close()
            withExtendedLifetime(raw) {}
            try await expectUnharmed(peer)
            #expect(try await listener.next().sequence == 1_001)
        }
    }
}
