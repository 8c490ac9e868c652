import FoundationEssentials
import HubStore
import HubWire
import Samples

extension TokenStatus {
    /// - Parameter now: microseconds since 1970.
    init(_ token: TokenOverview, at now: Int64) {
        let isOver = token.expires.map { $0 <= now } ?? false
        let failure = token.failure?.reason
        let state: State =
            switch token.failure?.kind {
            case .auth: token.isThere ? .refused : .missing
            case _ where !token.isThere: .missing
            case .network: .failing
            case nil where isOver && !token.isRenewable: .expired
            case nil: .valid
            }
        let repair = "hub login \(token.account.instance)"
        let why = failure.map { " (\($0))" } ?? ""
        let advice: String? =
            switch state {
            case .failing: "its token cannot be refreshed now\(why); the plugin tries again"
            case .expired: "the log-in has expired; \(repair)"
            case .refused: "the service refuses the log-in\(why); \(repair)"
            // A failure with this text only repeats the state.
            case .missing: "not logged in\(failure == "not logged in" ? "" : why); \(repair)"
            default: nil
            }
        self.init(
            account: token.account.name, user: token.isThere ? token.user : nil, state: state,
            expires: token.expires.map { Timestamp(microseconds: $0).text },
            refreshed: token.put.map { Timestamp(microseconds: $0).text }, failure: failure, advice: advice)
    }
}

extension NewToken {
    /// The members that the hub reads by convention (Protocol §11); the others are the plugin's.
    private struct Known: Decodable {
        var expires: String?
        var refresh: String?
        var user: String?

        private enum CodingKeys: String, CodingKey {
            case expires = "expires_at"
            case refresh = "refresh_token"
            case user
        }

        init(from decoder: any Decoder) throws {
            // A token with another format is valid, because the format is up to the plugin.
            let members = try decoder.container(keyedBy: CodingKeys.self)
            expires = try? members.decodeIfPresent(String.self, forKey: .expires)
            refresh = try? members.decodeIfPresent(String.self, forKey: .refresh)
            user = try? members.decodeIfPresent(String.self, forKey: .user)
        }
    }

    init(reading token: RawJSON) {
        let known = try? JSONDecoder().decode(Known.self, from: Data(token.bytes))
        self.init(
            json: token.bytes, expires: known?.expires.flatMap { try? Timestamp(parsing: $0) }?.microseconds,
            isRenewable: known?.refresh?.isEmpty == false, user: known?.user.map { String($0.prefix(128)) })
    }
}
