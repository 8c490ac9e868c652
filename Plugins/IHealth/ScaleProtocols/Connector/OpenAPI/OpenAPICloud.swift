public import PluginKit

/// The Open API with the log-in of one plugin instance.
struct OpenAPICloud: ScaleCloud {
    private let api: IHealthOpenAPI
    private let keeper: TokenKeeper
    private let clock: @Sendable () -> HubClock

    init(_ hub: PluginContext) throws {
        let api = try IHealthOpenAPI(OpenAPISettings(hub.settings))
        self.api = api
        clock = { hub.clock }
        keeper = TokenKeeper(hub, account: IHealthOpenAPI.account) { old in
            try await api.renewed(old, at: hub.clock.now())
        }
    }

    /// Requests an empty page, because the service answers only for a linked account.
    func verify() async -> CloudVerdict {
        do {
            _ = try await weights(page: 1, since: clock().now() / 1_000_000)
            return .linked
        } catch let error as TokenError {
            switch error.code {
            case .missing: return .notLoggedIn
            case .refused: return api.isSoftwareRefused ? .softwareRefused : .userRefused
            default: return .unreachable
            }
        } catch is LogInRefused {
            return .userRefused
        } catch {
            return .unreachable
        }
    }

    func untilLoggedIn() async { _ = try? await keeper.tokenOnceLoggedIn() }

    /// Requests a page of weights, with another token if the service refuses the first.
    func weights(page: Int, since: Int64?) async throws -> OpenAPIPage {
        let token = try await keeper.token()
        do {
            return try await api.weights(token, page: page, since: since)
        } catch is LogInRefused {
            return try await api.weights(try await keeper.token(insteadOf: token), page: page, since: since)
        }
    }
}

extension ScalePlugin {
    /// The vendor's cloud, if the settings enable it.
    func cloud(_ hub: PluginContext) throws -> OpenAPICloud? {
        try setup(hub.settings).verification == .openapi ? try OpenAPICloud(hub) : nil
    }

    /// `hub login`.
    static var logInCommand: Command<Self> {
        .logIn(help: "Links the person's iHealth account, if auth_mode is \"openapi\".") { plugin, call in
            guard try plugin.setup(call.hub.settings).verification == .openapi else {
                throw CommandFailure(
                    "settings", "there is nothing to log in to: auth_mode is not \"openapi\", so no cloud is asked")
            }
            let api = try IHealthOpenAPI(OpenAPISettings(call.hub.settings))
            let answer = try await call.authorize(api.authorization)
            let token = try await api.token(
                code: try answer.code(), user: call.hub.settings["user_id"]?.string, at: call.hub.clock.now())
            return LogIn(account: IHealthOpenAPI.account, token: token)
        }
    }
}

/// The result of `hub do INSTANCE cloud`.
public struct CloudDownload: Encodable, Sendable {
    /// Records of devices, new and known ones; records typed in by a person; records without a weight or date that this scale can have.
    var records = 0
    var manual = 0
    var unreadable = 0
}

extension ScalePlugin {
    /// Fetches the weighings that devices have put into the account, and passes them to the connector, which stores the new ones.
    ///
    /// - Parameters:
    ///   - since: seconds since 1970; `nil` for a year ago, the service's default.
    ///   - user: the scale's user number of the account's owner.
    /// - Returns: `nil` if the settings name no cloud.
    public func download(_ call: CommandCall, device: String, since: Int64?, user: UInt32?) async throws
        -> CloudDownload?
    {
        guard let cloud = try cloud(call.hub) else { return nil }
        var (result, seen) = (CloudDownload(), 0)
        for page in 1...1_000 {
            let answer: OpenAPIPage
            do {
                answer = try await cloud.weights(page: page, since: since)
            } catch is LogInRefused {
                throw CommandFailure("refused", "iHealth refuses the log-in; run hub login \(call.hub.instance)")
            }
            let weighings = answer.weighings(of: Self.model, device, user: user)
            if !weighings.found.isEmpty, !call.isDryRun {
                try await queue.demand(keeping: weighings.found, of: device, Self.model)
            }
            result.records += weighings.found.count
            result.manual += weighings.manual
            result.unreadable += weighings.unreadable
            seen += answer.count
            call.progress(seen, of: max(seen, answer.total))
            if answer.count == 0 || seen >= answer.total { break }
        }
        return result
    }
}
