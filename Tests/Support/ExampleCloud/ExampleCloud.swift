// A plugin for a service with a log-in, for tests that disturb it. Its `flow` chooses one of the ways in which services log people in.

import CloudClient
import Foundation
import PluginKit

@main struct ExampleCloud: SourcePlugin {
    static let manifest = Manifest(
        name: "example-cloud", summary: "A service with a log-in, for tests.", version: "1.0", writes: ["weight"],
        settings: [
            .init("service", .string(), help: "Where the service is.", required: true),
            .init("redirect", .string(), help: "Redirect URL that is registered at the service.", required: true),
            .init(
                "flow", .choice(["code", "fragment", "foreign", "paste"]), help: "How a person logs in.",
                default: .string("code")),
            .init("careless", .boolean, help: "Prints its token in the answer to refresh.", default: .boolean(false)),
            .init(
                "die", .choice(["never", "refreshed", "written", "put"]),
                help: "The step at which it kills itself, once.",
                default: .string("never")),
        ], reaches: [.network])

    static let commands: [Command<Self>] = [
        .logIn(help: "Logs in to the stand-in.") { plugin, call in
            let service = try CloudService(call.hub)
            var token = try await plugin.logIn(call, service)
            token.user = try await service.name(token)
            return LogIn(account: "me", token: token)
        },
        .logOut(help: "Has the stand-in revoke the token.") { _, call, token in
            let service = try CloudService(call.hub)
            try await service.revoke(token)
            do {
                _ = try await service.name(token)
            } catch is LogInRefused { return .revoked }
            throw CommandFailure("service", "the service confirmed the revocation, but still accepts the token")
        },
        Command("refresh", help: "Asks the service for the name of the logged-in person.") { plugin, call in
            let user = try await plugin.ask(call.hub)
            guard try call.hub.settings.boolean("careless") else { return ["user": user] }
            let token = try await plugin.keeper(call.hub, try CloudService(call.hub)).token()
            return ["user": user, "token": token.accessToken.reveal()]
        },
    ]

    func run(_ hub: PluginContext) async throws {
        do {
            _ = try await keeper(hub, try CloudService(hub)).token()
        } catch let error as TokenError {
            hub.logger.warning("there is no token", metadata: ["reason": "\(error.message)"])
        }
        await hub.untilStopped()
    }

    func once(_ hub: PluginContext) async throws { _ = try await ask(hub) }

    private func logIn(_ call: CommandCall, _ service: CloudService) async throws -> OAuthToken {
        guard try call.hub.settings.text("flow") == "paste" else { return try await service.oauth.logIn(call) }
        return OAuthToken(
            accessToken: Secret(try await call.ask("Paste the token.", url: service.base + "/account", isSecret: true)))
    }

    private func keeper(_ hub: PluginContext, _ service: CloudService) throws -> TokenKeeper {
        let place = try hub.settings.text("die")
        return TokenKeeper(
            hub, account: "me",
            probe: { step in
                guard "\(step)" == place, (try? hub.state.integer("died")) == nil else { return }
                try? hub.state.set("died", to: .integer(1))
                kill(getpid(), SIGKILL)
            }, refresh: { old in try await service.oauth.renewed(old, at: hub.clock.now()) })
    }

    /// Asks the service for the name of the logged-in person; renews the token if the service refuses it.
    private func ask(_ hub: PluginContext) async throws -> String {
        let service = try CloudService(hub)
        let keeper = try keeper(hub, service)
        let token = try await keeper.token()
        if try hub.settings.boolean("careless") { try await blab(token, hub) }
        do {
            return try await service.name(token)
        } catch is LogInRefused {
            return try await service.name(try await keeper.token(insteadOf: token))
        }
    }

    /// Writes a token to everything that a plugin can write to.
    private func blab(_ token: OAuthToken, _ hub: PluginContext) async throws {
        let words = "the token is \(token.accessToken.reveal()) and \(token.refreshToken?.reveal() ?? "")"
        print("printed: \(words)")
        fflush(nil)
        hub.logger.warning("logged: \(words)")
        await hub.event(try DeviceEvent("careless", severity: .error, text: words))
    }
}

/// The requests to the service.
struct CloudService: Sendable {
    private let client: CloudClient
    let oauth: OAuthClient
    var base: String { client.address.text }

    init(_ hub: PluginContext) throws {
        client = CloudClient(try ServiceAddress(hub.settings, "service"), pace: ClientClock(hub))
        var oauth = OAuthClient(
            client, page: client.address.text + "/authorize", path: "/token", id: "client", secret: nil,
            redirect: try hub.settings.text("redirect"), scope: "a b")
        switch try hub.settings.text("flow") {
        case "fragment": oauth.grant = .implicit
        case "foreign":
            (oauth.page, oauth.path, oauth.method) = (client.address.text + "/both", "/both", .get)
            (oauth.secret, oauth.scope) = (Secret("shh"), "")
            oauth.parameters = [("APIName", "OpenApiWeight")]
            (oauth.state, oauth.usesProofKey) = (.ifReturned, false)
            oauth.reading = { answer, now, _ in try Self.token(answer, at: now) }
        default: break
        }
        self.oauth = oauth
    }

    /// - Throws: ``LogInRefused`` if the service does not accept the token.
    func name(_ token: OAuthToken) async throws -> String {
        struct Me: Decodable { var name: String }
        let answer = try await client.send(CloudRequest(.get, "/me").authorized(token.accessToken))
        if answer.status == 401 { throw LogInRefused("the service does not know the token") }
        return try answer.json(Me.self).name
    }

    /// Reads an answer whose members have unusual names.
    private static func token(_ answer: CloudAnswer, at now: Int64) throws -> OAuthToken {
        struct Foreign: Decodable { var AccessToken, RefreshToken, UserID: String, Expires: Int64 }
        guard let read = try? answer.json(Foreign.self) else { throw LogInRefused("the service gave no token") }
        return OAuthToken(
            accessToken: Secret(read.AccessToken), refreshToken: Secret(read.RefreshToken),
            expiresAt: Timestamp(microseconds: now + read.Expires * 1_000_000), extra: ["user_id": read.UserID])
    }

    func revoke(_ token: OAuthToken) async throws {
        let answer = try await client.send(.form("/revoke", [("token", token.accessToken.reveal())]))
        guard answer.status == 200 else {
            throw CommandFailure("service", "the service answered \(answer.status) to the revocation")
        }
    }
}
