import Foundation
import HubWire
import JSON
import PluginKit
import PluginTesting
import SAMIExchange
import Testing
import WebFaults

@testable import SAMI

/// `hub logout sami` answers according to the result at the exchange.
@Suite(.timeLimit(.minutes(1))) struct LogOutTests {
    private func logOut(_ scene: Scene) async -> CommandOutcome.Content {
        await scene.hub.command("logout", RawJSON(trusted: Array(#"{"account":"me"}"#.utf8)))
    }

    /// Whether the exchange accepts the token that the hub keeps.
    private func isTaken(_ token: String, _ scene: Scene) throws -> Bool {
        let request = WebRequest("GET", "/v1.1/users/self", fields: ["authorization": "bearer \(token)"])
        return try scene.exchange.answer(request, faults: []).status == 200
    }

    private func token(_ scene: Scene) async throws -> String {
        let json = try #require(await scene.hub.tokens["me"]?.json)
        return try #require(JSONTree(Array(json.bytes))?["access_token"]?.text)
    }

    /// - Parameter way: the dialect, and whether the settings have the application's secret.
    @Test(arguments: [("sami", true), ("sami", false), ("artik", true), ("artik", false)])
    func `R11.12 a log-out invalidates the token at the exchange, with and without the application's secret`(
        _ way: (dialect: String, hasSecret: Bool)
    ) async throws {
        let scene = try await Scene(without: way.hasSecret ? [] : ["client_secret"]) {
            ($0.hasRateLimits, $0.dialect) = (false, way.dialect == "artik" ? .artik : .sami)
        }
        let run = scene.run()
        await scene.hub.hellos(1)
        let token = try await token(scene)
        #expect(try isTaken(token, scene))
        #expect(await logOut(scene) == .done(result: RawJSON(#"{"service":"revoked"}"#)))
        #expect(try !isTaken(token, scene))
        #expect(
            await logOut(scene) == .done(result: RawJSON(#"{"service":"unknown"}"#)), "and it says so the next time")
        await scene.end(run)
    }

    @Test(arguments: [true, false])
    func `an expired token is renewed and then revoked, so that it cannot become valid again`(
        _ hasSecret: Bool
    ) async throws {
        let scene = try await Scene(without: hasSecret ? [] : ["client_secret"])
        let run = scene.run()
        await scene.hub.hellos(1)
        try scene.control("DELETE", "tokens")
        #expect(await logOut(scene) == .done(result: RawJSON(#"{"service":"revoked"}"#)))
        #expect(try await !isTaken(token(scene), scene))
        #expect(try scene.control("GET", "state")["counts"]?["token"]?.lenientInteger == (hasSecret ? 1 : 0))
        await scene.end(run)
    }

    @Test func `the log-out fails with a reason if the service still accepts the token`() async throws {
        let scene = try await Scene(without: ["client_secret"]) {
            ($0.hasRateLimits, $0.logoutRevokes) = (false, false)
        }
        let run = scene.run()
        await scene.hub.hellos(1)
        guard case .failed(let code, let reason) = await logOut(scene) else {
            Issue.record("it claims to be done")
            return
        }
        #expect(code == "service" && reason.contains("still accepts it") && reason.contains("/logout"), "\(reason)")
        #expect(try await isTaken(token(scene), scene))
        await scene.end(run)
    }

    @Test func `the log-out fails if the service is unavailable`() async throws {
        let scene = try await Scene(without: ["client_secret"])
        let run = scene.run()
        await scene.hub.hellos(1)
        scene.faults.add([try Fault("cut-before@users/self", forms: Exchange.forms)])
        guard case .failed(let code, let reason) = await logOut(scene) else {
            Issue.record("it claims to be done")
            return
        }
        #expect(code == "service", "\(reason)")
        #expect(try await isTaken(token(scene), scene))
        await scene.end(run)
    }
}
