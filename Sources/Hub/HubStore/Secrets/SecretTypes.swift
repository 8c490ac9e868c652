/// The owner of a token: an account of an instance.
public struct TokenAccount: Hashable, Sendable {
    public var instance: String
    /// The plugin's name for the account.
    public var name: String

    public init(instance: String, name: String) { (self.instance, self.name) = (instance, name) }
}

/// A token to store.
///
/// Its description does not contain the token.
public struct NewToken: Sendable, CustomStringConvertible, CustomReflectable {
    /// A JSON object.
    public var json: [UInt8]
    /// The expiry from the token, in microseconds since 1970.
    public var expires: Int64?
    /// Whether it can be refreshed without a person.
    public var isRenewable: Bool
    /// The logged-in user, from the token.
    public var user: String?

    public init(json: [UInt8], expires: Int64?, isRenewable: Bool, user: String? = nil) {
        (self.json, self.expires, self.isRenewable, self.user) = (json, expires, isRenewable, user)
    }

    public var description: String { "<token of \(json.count) bytes>" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// The stored token of an account.
///
/// Its description does not contain the token.
public struct StoredToken: Sendable, CustomStringConvertible, CustomReflectable {
    /// 0 if there never was a token.
    public var version: Int64
    /// A JSON object; `nil` if there is no token.
    public var json: [UInt8]?

    public var description: String { "<version \(version), token of \(json?.count ?? 0) bytes>" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// The result of storing a token.
public enum TokenPutResult: Hashable, Sendable {
    /// The token is on disk as this version.
    case stored(version: Int64)
    /// This version is stored instead of the expected one; nothing was changed.
    case conflict(version: Int64)
    /// The instance has the maximum number of accounts.
    case tooMany
}

/// Why a token could not be obtained.
public struct TokenFailure: Hashable, Sendable {
    public enum Kind: String, Sendable {
        /// The service refuses: a person has to log in again.
        case auth
        /// The service is not reachable now.
        case network
    }
    public var kind: Kind
    /// A sentence without the token.
    public var reason: String

    public init(_ kind: Kind, reason: String) { (self.kind, self.reason) = (kind, reason) }
}

/// The state of a token, for `hub status`.
///
/// Times are microseconds since 1970.
public struct TokenOverview: Hashable, Sendable {
    public var account: TokenAccount
    public var version: Int64
    public var isThere: Bool
    public var user: String?
    public var expires: Int64?
    public var isRenewable: Bool
    /// When it was stored, by a log-in or a refresh.
    public var put: Int64?
    public var failure: TokenFailure?
    public var failed: Int64?
}
