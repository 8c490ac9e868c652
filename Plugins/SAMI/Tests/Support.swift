import Foundation
import JSON
import PluginKit
import PluginTesting
import SAMIExchange
import Testing
import WebFaults

@testable import SAMI

/// An exchange on a real socket, a fake hub, and the plugin between them.
final class Scene: Sendable {
    static let scale = Fixtures.scale

    let place: TestPlace
    let hub: FakeHub
    let exchange: Exchange
    let faults: FaultQueue
    /// The clock of the exchange.
    let clock: SettableClock
    let base: String
    private let server: Task<Void, any Error>

    init(
        isLoggedIn: Bool = true, settings more: [String: String] = [:], without absent: [String] = [],
        _ change: (inout Exchange.Options) -> Void = { $0.hasRateLimits = false }
    ) async throws {
        place = try TestPlace()
        var options = Exchange.Options()
        change(&options)
        let clock = try SettableClock()
        let faults = FaultQueue(forms: Exchange.forms)
        let exchange = try Exchange(options, clock: clock, faults: faults)
        (self.faults, self.exchange, self.clock) = (faults, exchange, clock)
        let (ports, port) = AsyncStream<Int>.makeStream()
        server = Task {
            try await StandIn(exchange, faults: faults, clock: clock)
                .run(host: "127.0.0.1", port: 0, sockets: exchange) { port.yield($0) }
        }
        var numbers = ports.makeAsyncIterator()
        base = "http://127.0.0.1:\(await numbers.next() ?? 0)"
        var settings: [String: JSONTree] = [
            "base": .text(base + "/v1.1"), "plain_http": .truth(false), "dialect": .text(options.dialect.name),
            "client_id": .text(Fixtures.application), "client_secret": .text(Fixtures.secret),
            "redirect": .text("http://127.0.0.1:8737/"), "grant": .text("implicit"), "poll_every": .text("15min"),
            "overlap": .text("7d"), "full_every": .text("30d"), "post": .list([]), "post_by": .text("websocket"),
        ]
        for (name, json) in more {
            let tree = try #require(JSONTree(reading: json))
            settings[name] = tree
        }
        for name in absent { settings[name] = nil }
        var behaviour = FakeHub.Behaviour()
        behaviour.settings = RawJSON(trusted: Array(JSONTree.object(settings).json.utf8))
        hub = try FakeHub(door: place.door, context: place.context, behaviour: behaviour)
        try await hub.start()
        if isLoggedIn { try await logIn() }
    }

    deinit { server.cancel() }

    /// Gives the hub a token, as `hub login` does.
    func logIn() async throws {
        let made = try control("POST", "tokens", "{}")
        let token = try #require(made["access_token"]?.text)
        let refresh = try #require(made["refresh_token"]?.text)
        await hub.setToken(
            RawJSON(
                trusted: Array(
                    #"{"access_token":"\#(token)","refresh_token":"\#(refresh)","token_type":"Bearer"}"#.utf8)),
            of: "me")
    }

    @discardableResult func control(_ method: String, _ what: String, _ body: String = "") throws -> JSONTree {
        let answer = try exchange.control(WebRequest(method, "/control/\(what)", body: Array(body.utf8)))
        let body = try #require(answer).body
        return try #require(JSONTree(Array(body)))
    }

    /// Posts a message as another app does.
    func post(_ data: String, at time: Int64, device: String = Scene.scale) throws {
        let token = try #require(try control("POST", "tokens", "{}")["access_token"]?.text)
        let body = #"{"sdid":"\#(device)","ts":\#(time),"data":\#(data)}"#
        let answer = try exchange.answer(
            WebRequest(
                "POST", "/v1.1/messages",
                fields: ["authorization": "bearer \(token)", "content-type": "application/json"],
                body: Array(body.utf8)), faults: [])
        #expect(answer.status == 200)
    }

    /// Adds a device of the user.
    /// - Returns: its id.
    func add(device name: String, type: String) throws -> String {
        let token = try #require(try control("POST", "tokens", "{}")["access_token"]?.text)
        let answer = try exchange.answer(
            WebRequest(
                "POST", "/v1.1/devices",
                fields: ["authorization": "bearer \(token)", "content-type": "application/json"],
                body: Array(#"{"uid":"\#(Fixtures.user)","dtid":"\#(type)","name":"\#(name)"}"#.utf8)), faults: [])
        let made = try #require(JSONTree(Array(answer.body)))
        return try #require(made["data"]?["id"]?.text)
    }

    func get(_ target: String) throws -> JSONTree {
        let token = try #require(try control("POST", "tokens", "{}")["access_token"]?.text)
        let answer = try exchange.answer(
            WebRequest("GET", "/v1.1" + target, fields: ["authorization": "bearer \(token)"]), faults: [])
        return try #require(JSONTree(Array(answer.body)))
    }

    /// Returns when the plugin has a live socket; polls the exchange, which does not report it.
    func untilItListens() async throws {
        while try control("GET", "state")["sockets"]?.lenientInteger == 0 {
            try await Task.sleep(for: .milliseconds(10))
        }
    }

    func run(_ mode: Hello.Mode = .run) -> PluginRun { PluginRun(SAMI(), at: place, mode: mode, settings: nil) }

    /// Stops the plugin and checks that it followed the protocol.
    func end(_ run: PluginRun) async {
        run.stop()
        #expect(await run.end() == .done)
        #expect(await hub.violations == [])
    }

    /// Sets the rate of the hub's clock, and its offset from now.
    func hurry(_ rate: Double, from offset: Duration = .zero) async {
        let start = Timestamp(microseconds: HubClock.system.now() + Int64(offset / .microseconds(1)))
        await hub.change { $0.clock = "\(start.text)@\(rate)" }
    }

    /// Waits until the plugin reports a problem with these words, and returns its text.
    @discardableResult func trouble(_ words: String) async -> String {
        await hub.wait { $0.events.contains { $0.text?.contains(words) == true } }
        return await hub.events.last { $0.text?.contains(words) == true }?.text ?? ""
    }

    /// Returns when the last problem is over.
    func isWellAgain() async { await hub.wait { $0.events.last?.isResolved == true } }

    /// The time this long ago, in milliseconds since 1970.
    static func ago(_ time: Duration) -> Int64 { HubClock.system.now() / 1_000 - Int64(time / .milliseconds(1)) }
}
