import Foundation
import HubWire
import Logging
import PluginKit
import Testing
import WebFaults

@testable import Exist

/// `hub-exist --check`, with the state of a hub and without a hub.
@Suite(.timeLimit(.minutes(1))) struct CheckTests {
    private func check(_ scene: ExistScene, _ tokens: CheckContext.Tokens? = nil) async throws -> String {
        let clock = try #require(HubClock("2024-05-20T12:00:00Z@1"))
        return try await Exist().check(
            CheckContext(
                instance: "exist-me", settings: scene.settings, clock: clock, logger: Logger(label: "test"),
                tokens: tokens))
    }

    private func token(_ scene: ExistScene) async throws -> OAuthToken {
        let pair = try await scene.send(
            "POST", url: "\(scene.base)/control/personal-token", json: #"{"user":"mira","client":"hub"}"#)
        return OAuthToken(
            accessToken: Secret(try #require(pair.json?["access_token"]?.text)),
            refreshToken: Secret(try #require(pair.json?["refresh_token"]?.text)), user: "mira")
    }

    @Test func `a check with the hub's token logs in, shows the account, and writes nothing`() async throws {
        let scene = try await ExistScene()
        let token = try await token(scene)
        let said = try await check(scene) { $0 == "me" ? token : nil }
        #expect(said.contains("mira") && said.contains("Europe/Berlin") && said.contains("weight"), "\(said)")
        #expect(try await scene.calls() == ["accounts/profile"])
    }

    @Test func `a check leaves an expired token to the running plugin and asks for a log-in if Exist does not know it`()
        async throws
    {
        let scene = try await ExistScene()
        var token = try await token(scene)
        let isKnown = try await check(scene) { [token] _ in token }
        #expect(isKnown.contains("mira"))
        token.expiresAt = try Timestamp(parsing: "2024-05-20T11:59:59Z")
        let over = try await check(scene) { [token] _ in token }
        #expect(over.contains("due to be renewed") && !over.contains(token.accessToken.reveal()), "\(over)")
        let renewals = try await scene.calls().count { $0 == "/oauth2/access_token" }
        #expect(renewals == 1, "one question about the client, which uses up no token")
        token.refreshToken = nil
        await #expect(throws: PluginFailure.self) { try await check(scene) { [token] _ in token } }
        try await scene.control("revoke", #"{"user":"mira"}"#)
        token.expiresAt = nil
        let failure = await #expect(throws: PluginFailure.self) { try await check(scene) { [token] _ in token } }
        #expect(failure?.exit == .refused && failure?.message.contains("hub login exist-me") == true)
    }

    @Test func `a check without a log-in or without a hub shows the next command`() async throws {
        let scene = try await ExistScene()
        #expect(try await check(scene) { _ in nil }.contains("hub login exist-me comes next"))
        let alone = try await check(scene)
        #expect(alone.contains("--check --instance exist-me --door URL") && alone.contains("accepts the client"))
    }
}
