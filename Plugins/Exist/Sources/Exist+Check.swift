import CloudClient
import PluginKit

// `--check` logs in with the stored token and writes nothing, neither to Exist nor to the hub.
extension Exist {
    func judge(_ settings: PluginSettings) throws { _ = try ExistSettings(settings) }

    func dayUse(_ settings: PluginSettings) throws -> DayUse? { DayUse(reads: try ExistSettings(settings).types) }

    func check(_ hub: CheckContext) async throws -> String {
        let settings = try ExistSettings(hub.settings)
        let service = ExistService(settings, pace: ClientClock(hub))
        do {
            if let token = try await hub.storedToken(of: CloudAccount.name) {
                return try await Self.check(token, hub, settings, service)
            }
            return try await Self.checkWithoutToken(hub, settings, service)
        } catch let error as CloudError {
            throw PluginFailure(error)
        } catch let error as TokenError {
            throw PluginFailure(.refused, error.message)
        }
    }

    private static func check(
        _ token: OAuthToken, _ hub: CheckContext, _ settings: ExistSettings, _ service: ExistService
    ) async throws -> String {
        if let end = token.expiresAt, end.microseconds <= hub.clock.now() {
            guard token.refreshToken != nil, settings.clientID != nil else {
                throw PluginFailure(
                    .refused, "the log-in has ended and cannot be renewed; run hub login \(hub.instance)")
            }
            return try await client(hub, settings, service)
                + " The log-in of \(token.user ?? "the account") is due to be renewed, which the running plugin does."
        }
        do {
            let profile = try await service.profile(token)
            return "\(settings.address) knows the log-in of \(profile.username), whose days are those of "
                + "\(profile.timezone). \(plan(settings)); nothing was written."
        } catch is LogInRefused {
            throw PluginFailure(.refused, "Exist does not know the log-in any more; run hub login \(hub.instance)")
        }
    }

    private static func checkWithoutToken(
        _ hub: CheckContext, _ settings: ExistSettings, _ service: ExistService
    ) async throws -> String {
        let answer = try await service.client.send(ExistService.profile)
        guard answer.status == 401 || answer.status == 403 else {
            throw PluginFailure(
                .failed, "\(settings.address) answered \(answer.status) where Exist asks for a token: is base right?")
        }
        let found =
            settings.clientID == nil
            ? "\(settings.address) answers as Exist does." : try await client(hub, settings, service)
        let next =
            hub.hasHub
            ? "There is no log-in yet: hub login \(hub.instance) comes next."
            : "Whether there is a log-in, only the hub knows: hub-exist --check --instance \(hub.instance) --door URL "
                + "asks it, with the URL that hub status --json prints."
        return "\(found) \(plan(settings)); nothing was written. \(next)"
    }

    /// Checks, without a token, whether Exist knows the client.
    private static func client(
        _ hub: CheckContext, _ settings: ExistSettings, _ service: ExistService
    ) async throws -> String {
        guard try await service.oauth.isRegistered(at: hub.clock.now()) else {
            throw PluginFailure(.refused, "Exist does not know client_id with this client_secret")
        }
        return "\(settings.address) accepts the client."
    }

    private static func plan(_ settings: ExistSettings) -> String {
        "It would send \(settings.attributes.map(\.name).joined(separator: ", "))"
    }
}
