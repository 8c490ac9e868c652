/// TOKEN from a plugin: it needs an account's token, or failed to refresh it (Protocol §11).
public struct TokenRequest: Hashable, Sendable {
    public enum Purpose: String, Hashable, Sendable, CaseIterable {
        case use
        /// Also leases the exclusive right to refresh.
        case refresh
        /// Returns that right, with the reason if the refresh failed.
        case release
    }

    /// The reason why there is no token to use.
    public struct Failure: Hashable, Sendable {
        public enum Kind: String, Hashable, Sendable, CaseIterable {
            /// The service refuses it: a person must log in.
            case auth
            /// The service cannot be reached now.
            case network
        }
        public var kind: Kind
        /// A sentence for people, without the token.
        public var reason: String

        public init(_ kind: Kind, _ reason: String) { (self.kind, self.reason) = (kind, reason) }
    }

    public var id: Int64
    public var account: String
    public var purpose: Purpose
    /// With `release` only.
    public var failure: Failure?
    /// The version of the token that failed, 0 for none; `nil`: the stored one.
    public var version: Int64?

    public init(id: Int64, account: String, purpose: Purpose, failure: Failure? = nil, version: Int64? = nil) {
        (self.id, self.account, self.purpose) = (id, account, purpose)
        (self.failure, self.version) = (failure, version)
    }

    /// Maximum size of a failure's reason in bytes.
    public static let reasonBytes = 1_024
}

/// The plugin's own name of an account.
enum AccountName {
    static let expected = "1 to 128 bytes of text without control characters"

    static func isValid(_ name: String) -> Bool {
        (1...128).contains(name.utf8.count) && name.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
    }
}

extension TokenRequest: BodyCoding {
    init(reading object: ObjectReader) throws(WireError) {
        self.init(
            id: try object.integer("id"),
            account: try object.name("account", AccountName.expected, where: AccountName.isValid),
            purpose: try object.word("for", as: Purpose.self))
        guard purpose == .release, let kind = try object.wordIfPresent("failure", as: Failure.Kind.self) else { return }
        let reason = try object.text("reason")
        guard reason.utf8.count <= Self.reasonBytes else {
            throw WireError(.field, "TOKEN.reason: at most \(Self.reasonBytes) bytes, found \(reason.utf8.count)")
        }
        failure = Failure(kind, reason)
        version = try object.integerIfPresent("version")
    }

    func write(to body: inout ObjectWriter) {
        body.member("id", integer: id)
        body.member("account", text: account)
        body.member("for", text: purpose.rawValue)
        body.member("failure", text: failure?.kind.rawValue)
        body.member("reason", text: failure?.reason)
        body.member("version", integer: version)
    }
}

/// TOKEN from the hub, in answer to TOKEN or TOKEN-PUT.
///
/// It prints only the token's size (R11.3).
public struct TokenAnswer: Hashable, Sendable {
    public enum Content: Hashable, Sendable {
        /// `lease`: the milliseconds for which only the asker may refresh.
        case token(RawJSON, version: Int64, lease: Int64?)
        /// Another session holds the right to refresh; ask again after this many milliseconds.
        case held(after: Int64)
        /// The new token is on disk as this version. In answer to TOKEN: there is no token yet, and `expect` must be this version.
        case stored(version: Int64)
    }

    public var id: Int64
    public var content: Content

    public init(id: Int64, _ content: Content) {
        (self.id, self.content) = (id, content)
    }
}

extension TokenAnswer: BodyCoding {
    init(reading object: ObjectReader) throws(WireError) {
        id = try object.integer("id")
        if try object.truthIfPresent("held") == true {
            content = .held(after: try object.integer("after"))
        } else if let token = try object.rawObjectIfPresent("token") {
            content = .token(
                token, version: try object.integer("version"), lease: try object.integerIfPresent("lease"))
        } else {
            content = .stored(version: try object.integer("version"))
        }
    }

    func write(to body: inout ObjectWriter) {
        body.member("id", integer: id)
        switch content {
        case .token(let token, let version, let lease):
            body.member("token", raw: token)
            body.member("version", integer: version)
            body.member("lease", integer: lease)
        case .held(let after):
            body.member("held", truth: true)
            body.member("after", integer: after)
        case .stored(let version): body.member("version", integer: version)
        }
    }
}

/// TOKEN-PUT: a plugin stores a token, new or refreshed (Protocol §11).
public struct TokenPut: Hashable, Sendable {
    /// Members of a token that are not secret (R11.13).
    package static let openMembers: Set = ["token_type", "scope", "expires_at", "user", "uid", "user_id"]

    public var id: Int64
    public var account: String
    /// The version that the plugin believes to be stored; the hub refuses another (R11.1).
    public var expect: Int64
    /// A JSON object; it prints only its size.
    public var token: RawJSON

    /// Maximum size of a token in bytes.
    public static let tokenBytes = 16_384

    public init(id: Int64, account: String, expect: Int64, token: RawJSON) {
        (self.id, self.account, self.expect, self.token) = (id, account, expect, token)
    }
}

extension TokenPut: BodyCoding {
    init(reading object: ObjectReader) throws(WireError) {
        self.init(
            id: try object.integer("id"),
            account: try object.name("account", AccountName.expected, where: AccountName.isValid),
            expect: try object.integer("expect", in: 0...ObjectReader.safeIntegers.upperBound),
            token: try object.rawObject("token"))
        guard token.bytes.count <= Self.tokenBytes else {
            throw WireError(
                .field, "TOKEN-PUT.token: at most \(Self.tokenBytes) bytes, found \(token.bytes.count)")
        }
    }

    func write(to body: inout ObjectWriter) {
        body.member("id", integer: id)
        body.member("account", text: account)
        body.member("expect", integer: expect)
        body.member("token", raw: token)
    }
}
