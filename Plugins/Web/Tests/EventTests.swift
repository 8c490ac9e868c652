import Foundation
import Glibc
import HubProcess
import Testing

/// The stream of events (`/api/v1/events`).
@Suite(.timeLimit(.minutes(3)), .enabled(if: Need.python.isMet, "\(Need.python.reason)")) struct EventTests {
    private static func events(_ lines: [String]) throws -> [Told] { try lines.map(Told.init) }

    private static let ready: @Sendable (String) -> Bool = { $0.contains("\"ready\"") }

    @Test(arguments: [1, 2]) func `over broken connections each record arrives once and in order`(seed: Int)
        async throws
    {
        let scene = try await Scene()
        let follower = try scene.listen(
            ["follow", "--count", "300", "--breaks", "\(seed)"], tokens: [try await scene.token("a")])
        _ = await follower.lines(count: 1, where: Self.ready)
        let lines = (1...300).map { number in
            #"{"type":"stepCount","value":\#(number),"unit":"count","start":"2026-03-15T06:30:00Z","key":"k\#(number)","subject":{"name":"me"}}"#
        }
        for part in 0..<6 {
            try await scene.publish(lines[(part * 50)..<(part * 50 + 50)])
        }
        let result = await follower.result()
        #expect(result.code == 0, "\(result.errors.suffix(500))")
        let events = try Self.events(follower.lines).filter { $0.text("event") != "ready" }
        // Each record once, by its id, in the order in which the hub stored them, even after breaks.
        let ids = events.compactMap { $0.text("id")?.split(separator: "-").last }.compactMap { Int($0) }
        #expect(ids.count == 300 && ids == ids.sorted() && Set(ids).count == 300)
        let values = events.compactMap { ($0["data"] as? [String: Any])?["value"] as? Int }
        #expect(values == Array(1...300))
        #expect(result.errors.isEmpty, "\(result.errors.suffix(500))")
    }

    @Test func `a listener that pauses delays no other, and gets each record once and in order`() async throws {
        let scene = try await Scene()
        let token = try await scene.token("a")
        let (count, sign) = (4_000, scene.folder + "/go-on")
        let deaf = try scene.listen(["follow", "--count", "\(count)", "--deaf", sign], tokens: [token])
        _ = await deaf.lines(count: 1, where: Self.ready)
        let other = try scene.listen(["follow", "--count", "\(count)"], tokens: [token])
        _ = await other.lines(count: 1, where: Self.ready)
        // Eight megabytes: more than the sockets and the bounded buffer hold.
        let note = String(repeating: "n", count: 1_500)
        let lines = (1...count).map { number in
            #"{"type":"stepCount","value":\#(number),"unit":"count","start":"2026-03-15T06:30:00Z","key":"k\#(number)","metadata":{"note":"\#(note)"},"subject":{"name":"me"}}"#
        }
        try await scene.publish(lines)
        #expect(await other.result().code == 0)
        #expect(deaf.lines.count < count)
        _ = try scene.write("", to: "go-on")
        #expect(await deaf.result().code == 0)
        for follower in [deaf, other] {
            let events = try Self.events(follower.lines).filter { $0.text("event") == "record" }
            let values = events.compactMap { ($0["data"] as? [String: Any])?["value"] as? Int }
            #expect(values == Array(1...count))
        }
    }

    @Test func `a listener that reconnects after a kill of the page or the hub misses no event`() async throws {
        let port = try FreePort.next()
        let host = try HubHost(plugins: "[plugin.web]\nlisten = \"127.0.0.1:\(port)\"")
        var hub = try await host.start()
        var token: String?
        try await eventually {
            token = try await host.command("web", "token", "new", "a").lines.first
            return token != nil
        }
        let file = try host.folder.write(try #require(token), to: "token")
        let script = try #require(Bundle.module.path(forResource: "events", ofType: "py"))
        let follower = try ChildProcess(
            "/usr/bin/env", ["python3", script, "follow", "\(port)", file, "--count", "40"])
        _ = await follower.lines(count: 1, where: Self.ready)
        for number in 1...40 {
            if number % 10 == 5 {
                let status = try Told(try await host.command("status", "--json").lines.joined())
                let page = status.list("plugins").first { $0["name"] as? String == "web" }
                if let pid = page?["pid"] as? Int { kill(pid_t(pid), SIGKILL) }
            }
            if number % 20 == 10 {
                await hub.killAndWait()
                hub = try await host.start()
            }
            let told = try await host.command("log", "stepCount", "\(number)", "--key", "k\(number)")
            #expect(told.status == 0, "\(told.errors)")
        }
        let result = await follower.result()
        let values = try Self.events(follower.lines).compactMap { ($0["data"] as? [String: Any])?["value"] as? Int }
        #expect(result.code == 0 && values == Array(1...40), "\(values) \(result.errors.suffix(500))")
        withExtendedLifetime(hub) {}
    }

    @Test func `a viewer of one person receives only that person's records, departures and live values`() async throws {
        let scene = try await Scene()
        let (all, ben) = (try await scene.token("all"), try await scene.token("ben", person: "ben"))
        let owner = try scene.listen(["follow", "--count", "4"], tokens: [all])
        _ = await owner.lines(count: 1, where: Self.ready)
        let own = try scene.listen(["follow", "--count", "2"], tokens: [ben])
        _ = await own.lines(count: 1, where: Self.ready)
        // The units that ben has chosen for the pages.
        let browser = try await Browser(scene, "ben")
        _ = try await browser.press(try await browser.form("/preferences"), ["weight": "lb"])
        let live = [("me", 80.5), ("ben", 71.25)].map { person, value in
            #"{"live":{"type":"weight","value":\#(value),"unit":"kg","subject":{"name":"\#(person)"}}}"#
        }
        func isHeard(_ process: ChildProcess, _ text: String) -> Bool {
            process.lines.contains { $0.contains("\"live\"") && $0.contains(text) }
        }
        // Live values are not stored, so send them until they arrive.
        repeat {
            try Task.checkCancellation()
            try await scene.publish(live)
        } while !isHeard(owner, "80.5 kg") || !isHeard(owner, "157.1 lb") || !isHeard(own, "157.1 lb")
        // One step at a time, because of two quick changes only the last version is sent.
        let steps = [
            ["log", "weight", "80.4kg", "--person", "me"], ["log", "weight", "71.3kg", "--person", "ben"],
            ["assign", "2", "--to", "me"], ["retract", "1", "--yes"],
        ]
        for (number, words) in steps.enumerated() {
            _ = try await scene.command(words)
            _ = await owner.lines(count: number + 1) { $0.contains("\"number\":") }
            if number == 1 || number == 2 { _ = await own.lines(count: number) { $0.contains("\"number\":") } }
        }
        let codes = (await owner.result().code, await own.result().code)
        #expect(codes == (0, 0))
        func told(_ process: ChildProcess) throws -> [String] {
            try Self.events(process.lines).filter { $0.text("event") != "ready" }.map { event in
                let data = event["data"] as? [String: Any]
                return [
                    event.text("event"), data?["number"].map { "\($0)" }, data?["person"] as? String,
                    data?["text"] as? String,
                ].compactMap(\.self).joined(separator: " ")
            }
        }
        let records = try told(owner).filter { !$0.hasPrefix("live") }
        #expect(records == ["record 1 me", "record 2 ben", "record 2 me", "retraction 1 me"])
        let heard = try told(own)
        #expect(heard.filter { !$0.hasPrefix("live") } == ["record 2 ben", "retraction 2 ben"])
        #expect(Set(heard.filter { $0.hasPrefix("live") }) == ["live ben 157.1 lb"])
        #expect(Set(try told(owner).filter { $0.hasPrefix("live") }) == ["live ben 157.1 lb", "live me 80.5 kg"])
    }

    @Test func `a cursor of another store is answered with reset, and an invalid one is refused by name`() async throws
    {
        let scene = try await Scene()
        let token = try await scene.token("a")
        let follower = try scene.listen(["follow", "--count", "1", "--after", "aaaaaaaa-7"], tokens: [token])
        _ = await follower.lines(count: 1) { $0.contains("reset") }
        _ = try await scene.command("log", "weight", "80.4kg", "--person", "me")
        #expect(await follower.result().code == 0)
        let events = try Self.events(follower.lines).filter { $0.text("event") != "ready" }
        #expect(events.compactMap { $0.text("event") } == ["reset", "record"])
        let cursor = (events[0]["data"] as? [String: Any])?["cursor"] as? String
        #expect(cursor == events[0].text("id") && cursor?.hasPrefix("aaaaaaaa") == false)
        let wrong = try await scene.api("/events?since=yesterday", token)
        #expect(wrong.status == 400)
        #expect(try Told(wrong.body).text("member") == "since")
    }

    @Test func `two hundred listeners get a record, pages answer meanwhile, and a revoked token ends its streams`()
        async throws
    {
        let scene = try await Scene()
        let tokens = try await [scene.token("a"), scene.token("b"), scene.token("c"), scene.token("d")]
        let crowd = try scene.listen(["crowd", "--streams", "200"], tokens: tokens)
        _ = await crowd.lines(count: 1) { $0 == "ready" }
        let session = try await scene.logIn()
        #expect(try await scene.get("/", cookie: session).status == 200)
        _ = try await scene.command("log", "weight", "80.4kg", "--person", "me")
        let result = await crowd.result()
        #expect(result.code == 0, "\(result.errors.suffix(500))")
        #expect((try Told(try #require(crowd.lines.last))).number("heard") == 200)
        let follower = try scene.listen(["follow", "--count", "1"], tokens: [tokens[0]])
        _ = await follower.lines(count: 1, where: Self.ready)
        _ = try await scene.command("web", "token", "revoke", "a")
        _ = await follower.errorLines(count: 1) { $0.contains(" 401 ") }
        follower.signal(SIGKILL)
    }
}
