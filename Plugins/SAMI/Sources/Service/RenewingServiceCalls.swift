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
struct RenewingServiceCalls: ServiceCalls {
    let service: SAMIService
    private let account: CloudAccount
    let watch: ServiceWatch
    let instance: String

    init(_ hub: PluginContext, _ service: SAMIService, _ watch: ServiceWatch) {
        (self.service, self.watch, instance) = (service, watch, hub.instance)
        account = CloudAccount(hub, service.oauth)
    }

    func token(insteadOf refused: OAuthToken? = nil) async throws -> OAuthToken {
        try await account.keeper.token(insteadOf: refused)
    }

    /// Returns when there is a log-in.
    func waitForLogIn() async throws { _ = try await account.keeper.tokenOnceLoggedIn() }

    func call(_ request: CloudRequest) async throws -> JSONTree {
        // Few attempts: the caller retries later and reports the problem in the meantime.
        try await call(request, attempts: 3)
    }

    func call(_ request: CloudRequest, attempts: Int) async throws -> JSONTree {
        // The service's limits open again within a day.
        let retry = Retry(attempts: attempts, patience: .seconds(86_400))
        // SAMI counts posted messages separately from all other calls.
        let isPost = request.method == .post && request.path == SAMIService.messagesPath
        let answer = try await account.send(request, with: isPost ? service.posts : service.client, retrying: retry)
        if !isPost { await watch.noteAnswer() }
        return try answer.value(instance)
    }
}

extension RenewingServiceCalls {
    /// Revokes a token at the service, and checks that it no longer works.
    func revoke(_ token: OAuthToken) async throws -> Revocation {
        try await account.revoke(
            token, orElse: "in the browser that is logged in there, open \(service.settings.accounts.text)/logout",
            accepts: service.takes, by: service.revoke)
    }
}

/// Makes calls with a token of the settings, for `--check`.
struct FixedTokenServiceCalls: ServiceCalls {
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
