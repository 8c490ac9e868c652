import FoundationEssentials
import HubStore
import HubWire
import Samples

/// The state of a plugin's account: the status of its token in `hub status`, never the token.
public struct TokenStatus: Codable, Hashable, Sendable {
    public enum State: String, Codable, Hashable, Sendable {
        /// It can be used, or the plugin can refresh it.
        case valid
        /// The service could not be reached for a new one; the plugin retries.
        case failing
        /// It has expired and cannot be refreshed.
        case expired
        /// The service requires a person to log in again.
        case refused
        /// No account is logged in.
        case missing
    }

    public var account: String
    /// The name of the account as the person knows it; absent if the plugin does not report it.
    public var user: String?
    public var state: State
    /// How long the token is valid, RFC 3339; absent if the token does not contain it.
    public var expires: String?
    /// When the hub got it, at a log-in or a refresh, RFC 3339.
    public var refreshed: String?
    /// Why the last refresh failed.
    public var failure: String?
    /// The problem with its remedy; absent if all is well.
    ///
    /// It follows the account's name.
    public var advice: String?

    /// Whether a person has to log in.
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
            // A failure with this text only repeats the state.
            case .missing: "not logged in\(failure == "not logged in" ? "" : why); \(repair)"
            }
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
