/// Whose token: an instance has accounts of its own only.
public struct TokenAccount: Hashable, Sendable {
    public var instance: String
    /// As the plugin names it.
    public var name: String

    public init(instance: String, name: String) { (self.instance, self.name) = (instance, name) }
}

/// A token to be stored; prints without it.
public struct NewToken: Sendable, CustomStringConvertible, CustomReflectable {
    /// A JSON object.
    public var json: [UInt8]
    /// Microseconds since 1970, as the token says.
    public var expires: Int64?
    /// Whether it can be refreshed without a person.
    public var isRenewable: Bool
    /// Who is logged in, as the token says.
    public var user: String?

    public init(json: [UInt8], expires: Int64?, isRenewable: Bool, user: String? = nil) {
        (self.json, self.expires, self.isRenewable, self.user) = (json, expires, isRenewable, user)
    }

    public var description: String { "<token of \(json.count) bytes>" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// What is stored of an account; prints without the token.
public struct StoredToken: Sendable, CustomStringConvertible, CustomReflectable {
    /// 0 when there never was one.
    public var version: Int64
    /// A JSON object; `nil` when none is there.
    public var json: [UInt8]?

    public var description: String { "<version \(version), token of \(json?.count ?? 0) bytes>" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// What became of a token that was to be stored.
public enum TokenPutResult: Hashable, Sendable {
    /// On the disk, as this version.
    case stored(version: Int64)
    /// This version is there, and not the one that was expected; nothing was changed.
    case conflict(version: Int64)
    /// The instance has as many accounts as it may.
    case tooMany
}

/// Why a token could not be had.
public struct TokenFailure: Hashable, Sendable {
    public enum Kind: String, Sendable {
        /// The service refuses: a person has to log in again.
        case auth
        /// The service cannot be reached now.
        case network
    }
    public var kind: Kind
    /// A sentence without the token.
    public var reason: String

    public init(_ kind: Kind, reason: String) { (self.kind, self.reason) = (kind, reason) }
}

/// What `hub status` may know of a token.
///
/// Times are microseconds since 1970.
public struct TokenOverview: Hashable, Sendable {
    public var account: TokenAccount
    public var version: Int64
    public var isThere: Bool
    public var user: String?
    public var expires: Int64?
    public var isRenewable: Bool
    /// When it was stored: at a log-in or a refresh.
    public var put: Int64?
    public var failure: TokenFailure?
    public var failed: Int64?
}
