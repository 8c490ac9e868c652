import FoundationEssentials
import HubStore
import HubWire
import Samples

/// How an account of a plugin is: what `hub status` says of its token, never the token.
public struct TokenStatus: Codable, Hashable, Sendable {
    public enum State: String, Codable, Hashable, Sendable {
        /// Can be used, or refreshed by the plugin itself.
        case valid
        /// The service could not be reached for a new one; the plugin tries again.
        case failing
        /// Over, and cannot be refreshed.
        case expired
        /// The service wants a person to log in again.
        case refused
        /// No account is logged in.
        case missing
    }

    public var account: String
    /// Who is logged in, as the person knows the account; absent where the plugin does not say.
    public var user: String?
    public var state: State
    /// How long the token is valid, RFC 3339; absent where it does not say.
    public var expires: String?
    /// When the hub got it, at a log-in or a refresh, RFC 3339.
    public var refreshed: String?
    /// Why the last refresh failed.
    public var failure: String?
    /// What is wrong and what to do; absent when all is well.
    ///
    /// To be read after the account.
    public var advice: String?

    /// Whether a person has to do something.
    public var needsLogIn: Bool { state == .expired || state == .refused || state == .missing }

    /// - Parameter now: microseconds since 1970.
    init(_ token: TokenOverview, at now: Int64) {
        account = token.account.name
        user = token.isThere ? token.user : nil
        expires = token.expires.map { Timestamp(microseconds: $0).text }
        refreshed = token.put.map { Timestamp(microseconds: $0).text }
        failure = token.failure?.reason
        let isOver = token.expires.map { $0 <= now } ?? false
        state =
            switch token.failure?.kind {
            case .auth: token.isThere ? .refused : .missing
            case _ where !token.isThere: .missing
            case .network: .failing
            case nil where isOver && !token.isRenewable: .expired
            case nil: .valid
            }
        let repair = "hub login \(token.account.instance)"
        let why = failure.map { " (\($0))" } ?? ""
        advice =
            switch state {
            case .valid: nil
            case .failing: "its token cannot be refreshed now\(why); the plugin tries again"
            case .expired: "the log-in has expired; \(repair)"
            case .refused: "the service refuses the log-in\(why); \(repair)"
            // A plugin that only says this has no more to say.
            case .missing: "not logged in\(failure == "not logged in" ? "" : why); \(repair)"
            }
    }
}

extension NewToken {
    /// The members that the hub looks at by convention (Protocol §11); the rest is the plugin's.
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
            // A token of another form is the plugin's own business.
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
