import CloudClient
import Foundation
import JSON
import PluginKit

/// Makes calls for the logged-in user.
protocol ServiceCalls: Sendable {
    /// Sends a request with a token; repeats it after temporary failures.
    ///
    /// - Throws: ``CloudError``; ``CommandFailure`` with a remedy; errors of the token keeper.
    func call(_ request: CloudRequest) async throws -> JSONTree
}

/// Makes calls with the token that the hub keeps, and renews it when it expires.
struct Account: ServiceCalls {
    /// The plugin's name for the account.
    static let name = "me"

    let service: SAMIService
    let keeper: TokenKeeper
    let watch: ServiceWatch
    let instance: String
    /// Whether a call waits for a log-in instead of failing.
    var waits = false

    init(_ hub: PluginContext, _ service: SAMIService, _ watch: ServiceWatch) {
        (self.service, self.watch, instance) = (service, watch, hub.instance)
        keeper = TokenKeeper(hub, account: Self.name) { old in
            try await service.refreshed(old, at: hub.clock.now())
        }
    }

    func token(insteadOf refused: OAuthToken? = nil) async throws -> OAuthToken {
        waits
            ? try await keeper.tokenOnceLoggedIn(insteadOf: refused) : try await keeper.token(insteadOf: refused)
    }

    func call(_ request: CloudRequest) async throws -> JSONTree {
        // Few attempts: the caller retries later and reports the problem in the meantime.
        try await call(request, attempts: 3)
    }

    func call(_ request: CloudRequest, attempts: Int) async throws -> JSONTree {
        var token = try await token()
        var answer = try await send(request, token, attempts)
        if answer.status == 401 {
            token = try await self.token(insteadOf: token)
            answer = try await send(request, token, attempts)
        }
        return try answer.value(instance)
    }

    private func send(_ request: CloudRequest, _ token: OAuthToken, _ attempts: Int) async throws -> CloudAnswer {
        // The service's limits open again within a day.
        let retry = Retry(attempts: attempts, patience: .seconds(86_400))
        let authorized = request.authorized(token.accessToken)
        // SAMI counts posted messages separately from all other calls.
        if request.method == .post, request.path == SAMIService.messagesPath {
            return try await service.posts.send(authorized, retrying: retry)
        }
        let answer = try await service.client.send(authorized, retrying: retry)
        await watch.noteAnswer()
        return answer
    }
}

extension Account {
    /// Revokes a token at the service, and checks that it no longer works.
    ///
    /// An expired token is renewed first: the service may refuse it but still renew it, so that it would become valid again.
    /// - Throws: ``CommandFailure`` if the service cannot be reached, or still accepts the token.
    func revoke(_ token: OAuthToken) async throws -> Revocation {
        var token = token
        do {
            if try await !service.takes(token) {
                guard token.refreshToken != nil else { return .unknown }
                token = try await keeper.token(insteadOf: token)
            }
            try await service.revoke(token)
            guard try await service.takes(token) else { return .revoked }
        } catch let error as TokenError {
            if error.needsLogIn { return .unknown }
            throw CommandFailure("service", error.message)
        } catch let error as CloudError {
            throw CommandFailure("service", error.message)
        }
        throw CommandFailure(
            "service",
            "the service was asked to revoke the token, but still accepts it; in the browser that is logged in there, open \(service.settings.accounts.text)/logout"
        )
    }
}

/// Makes calls with a token of the settings, for `--check`.
struct LooseAccount: ServiceCalls {
    let service: SAMIService
    let token: Secret
    let instance: String

    func call(_ request: CloudRequest) async throws -> JSONTree {
        try await service.client.send(request.authorized(token), retrying: Retry(attempts: 2)).value(instance)
    }
}

extension CloudAnswer {
    /// The JSON of a success; throws a failure with a remedy otherwise.
    fileprivate func value(_ instance: String) throws -> JSONTree {
        switch status {
        case 401:
            throw CommandFailure("login", "\(self): the service does not know the token; run hub login \(instance)")
        case 403:
            throw CommandFailure(
                "permission",
                "\(self): the application lacks the permission; give it in the service's portal, then run hub login \(instance)"
            )
        case 429:
            throw CommandFailure("limit", "\(self): the service asks for fewer calls; the plugin continues later")
        default: return try successful().tree()
        }
    }
}
