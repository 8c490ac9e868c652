import Foundation
import HubWire
import PluginKit
import PluginTesting
import Samples
import Synchronization
import Testing

/// A service that issues tokens; each refresh token can be used once.
private final class Service: Sendable {
    struct State {
        var generation = 1
        var renewals = 0
        var reuses = 0
        /// Runs instead of the next renewal.
        var fault: (@Sendable () throws -> Void)?
    }
    let state = Mutex(State())

    static func token(_ generation: Int, expires: String = "2020-01-01T00:00:00Z") -> String {
        #"{"access_token":"access-\#(generation)","refresh_token":"refresh-\#(generation)","expires_at":"\#(expires)","user":"u1"}"#
    }

    func renew(_ old: OAuthToken) throws -> OAuthToken {
        try state.withLock { state in
            let fault = state.fault
            state.fault = nil
            try fault?()
            guard old.refreshToken?.reveal() == "refresh-\(state.generation)" else {
                state.reuses += 1
                throw LogInRefused("the refresh token was used before")
            }
            state.generation += 1
            state.renewals += 1
            let answer =
                #"{"access_token":"access-\#(state.generation)","refresh_token":"refresh-\#(state.generation)","expires_in":3600}"#
            return try OAuthToken(response: Data(answer.utf8), at: HubClock.system.now(), renewing: old)
        }
    }
}

/// Collects the tokens and errors of a plugin; lets a test wait without sleeping.
private actor Answers {
    private(set) var texts: [String] = []
    private var waiters: [(Int, CheckedContinuation<Void, Never>)] = []

    func add(_ text: String) {
        texts.append(text)
        for (count, waiter) in waiters where count <= texts.count { waiter.resume() }
        waiters.removeAll { $0.0 <= texts.count }
    }

    func get(_ count: Int) async -> [String] {
        if texts.count < count { await withCheckedContinuation { waiters.append((count, $0)) } }
        return texts
    }

    /// Adds the token that `body` returned, or the error that it threw.
    func note(_ body: () async throws -> OAuthToken) async {
        do {
            add(try await body().accessToken.reveal())
        } catch let error as TokenError {
            add("\(error.code): \(error.message)")
        } catch {
            add("\(error)")
        }
    }
}

@Suite(.timeLimit(.minutes(1))) struct TokenTests {
    private let service = Service()
    private let answers = Answers()

    private func keeper(_ hub: PluginContext) -> TokenKeeper {
        TokenKeeper(hub, account: "me") { [service] in try service.renew($0) }
    }

    private func raw(_ text: String) -> RawJSON { RawJSON(trusted: Array(text.utf8)) }

    @Test func `a valid token is used as it is`() async throws {
        let scene = try await Scene()
        await scene.hub.setToken(raw(Service.token(1, expires: "2999-01-01T00:00:00Z")), of: "me")
        let run = scene.run { hub in await answers.note { try await self.keeper(hub).token() } }
        #expect(await answers.get(1) == ["access-1"])
        #expect(service.state.withLock { $0.renewals } == 0)
        try await scene.end(run)
    }

    @Test func `R11.2 a token wanted by many callers is refreshed once, and stored in the hub before it is used`()
        async throws
    {
        let scene = try await Scene()
        await scene.hub.setToken(raw(Service.token(1)), of: "me")
        let run = scene.run { hub in
            let keepers = [keeper(hub), keeper(hub)]  // Two, as two parts of a plugin may have.
            await withTaskGroup(of: Void.self) { group in
                for index in 0..<20 { group.addTask { await answers.note { try await keepers[index % 2].token() } } }
            }
        }
        #expect(Set(await answers.get(20)) == ["access-2"])
        #expect(service.state.withLock { ($0.renewals, $0.reuses) } == (1, 0))
        let kept = try #require(await scene.hub.token(of: "me", version: 2))
        #expect(
            kept.text.contains("refresh-2") && kept.text.contains(#""user":"u1""#), "the token keeps its other members")
        try await scene.end(run)
    }

    @Test func `a token that the service refuses although it should be valid is refreshed`() async throws {
        let scene = try await Scene()
        await scene.hub.setToken(raw(Service.token(1, expires: "2999-01-01T00:00:00Z")), of: "me")
        let run = scene.run { hub in
            let keeper = keeper(hub)
            await answers.note {
                let first = try await keeper.token()
                return try await keeper.token(insteadOf: first)
            }
        }
        #expect(await answers.get(1) == ["access-2"])
        try await scene.end(run)
    }

    @Test func `a refusal and an outage are distinguished, and the hub gets the right failure`() async throws {
        let scene = try await Scene()
        await scene.hub.setToken(raw(Service.token(1)), of: "me")
        struct Outage: Error, CustomStringConvertible { var description: String { "no route to host" } }
        service.state.withLock { $0.fault = { throw Outage() } }
        let run = scene.run { hub in
            let keeper = keeper(hub)
            await answers.note { try await keeper.token() }
            service.state.withLock { $0.generation = 7 }
            await answers.note { try await keeper.token() }
        }
        #expect(
            await answers.get(2) == [
                "unreachable: the token of scripted cannot be renewed now: no route to host",
                "refused: the refresh token was used before; run hub login scripted",
            ])
        #expect(
            await scene.hub.tokenFailures == [
                .init(.network, "no route to host"), .init(.auth, "the refresh token was used before"),
            ])
        try await scene.end(run)
    }

    @Test func `without a log-in the error asks for one, and the token of a log-in is stored at once`() async throws {
        let scene = try await Scene()
        let run = scene.run { hub in
            let keeper = keeper(hub)
            await answers.note { try await keeper.token() }
            try await keeper.put(OAuthToken(accessToken: Secret("new")))
            await answers.note { try await keeper.token() }
        }
        #expect(await answers.get(2) == ["missing: not logged in; run hub login scripted", "new"])
        let kept = try #require(await scene.hub.tokens["me"]?.json)
        let read = try JSONDecoder().decode(OAuthToken.self, from: Data(kept.bytes))
        #expect(read == OAuthToken(accessToken: Secret("new")))
        try await scene.end(run)
    }

    @Test func `a lost confirmation causes no second renewal and loses no token`() async throws {
        let scene = try await Scene { $0.heartbeat = Heartbeat(interval: 30, timeout: 60_000) }
        await scene.hub.setToken(raw(Service.token(1)), of: "me")
        await scene.hub.loseTokenAnswers(1)
        let run = scene.run { hub in await answers.note { try await keeper(hub).token() } }
        #expect(await answers.get(1) == ["access-2"])
        #expect(service.state.withLock { ($0.renewals, $0.reuses) } == (1, 0))
        #expect(await scene.hub.tokens["me"]?.version == 2)
        try await scene.end(run)
    }

    @Test func `a token renewed while the hub was away is stored by the next run`() async throws {
        let scene = try await Scene()
        await scene.hub.setToken(raw(Service.token(1)), of: "me")
        let isRenewed = Gate()
        let first = PluginRun(
            ScriptedSource { hub in
                let keeper = TokenKeeper(hub, account: "me") { old in
                    await scene.hub.vanish()
                    let new = try service.renew(old)
                    await isRenewed.open()
                    return new
                }
                await answers.note { try await keeper.token() }
            }, at: scene.place)
        await isRenewed.wait()
        first.stop()
        await first.end()
        try await scene.hub.start()
        let second = scene.run { hub in await answers.note { try await self.keeper(hub).token() } }
        #expect(await answers.get(2).last == "access-2")
        #expect(service.state.withLock { ($0.renewals, $0.reuses) } == (1, 0))
        try await scene.end(second)
    }

    @Test func `a token prints without its secrets and decodes to the same value`() throws {
        let text = Service.token(3)
        let token = try JSONDecoder().decode(OAuthToken.self, from: Data(text.utf8))
        #expect("\(token)" == "<token until 2020-01-01T00:00:00Z>" && token.user == "u1")
        var dumped = ""
        dump(token, to: &dumped)
        #expect(!dumped.contains("refresh-3") && !dumped.contains("access-3"))
        #expect(try JSONDecoder().decode(OAuthToken.self, from: JSONEncoder().encode(token)) == token)
        let answer = Data(#"{"access_token":"a","expires_in":1e300}"#.utf8)
        #expect(try OAuthToken(response: answer, at: 0).expiresAt != nil)
        #expect(throws: CommandFailure.self) { try OAuthToken(response: Data("{}".utf8), at: 0) }
    }
}
