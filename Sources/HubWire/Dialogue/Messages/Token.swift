/// TOKEN from a plugin: it needs an account's token (Protocol §11, specified).
public struct TokenRequest: Hashable, Sendable {
    public enum Purpose: String, Hashable, Sendable, CaseIterable {
        case use
        /// Also leases the single right to refresh.
        case refresh
    }

    public var id: Int64
    public var account: String
    public var purpose: Purpose

    public init(id: Int64, account: String, purpose: Purpose) {
        (self.id, self.account, self.purpose) = (id, account, purpose)
    }
}

extension TokenRequest: BodyCoding {
    init(reading object: ObjectReader) throws(WireError) {
        self.init(
            id: try object.integer("id"), account: try object.text("account"),
            purpose: try object.word("for", as: Purpose.self))
    }

    func write(to body: inout ObjectWriter) {
        body.member("id", integer: id)
        body.member("account", text: account)
        body.member("for", text: purpose.rawValue)
    }
}

/// TOKEN from the hub, in answer to TOKEN or TOKEN-PUT.
///
/// The token prints as its size (R11.3).
public struct TokenAnswer: Hashable, Sendable {
    public enum Content: Hashable, Sendable {
        /// `lease`: milliseconds for which the asker alone may refresh.
        case token(RawJSON, version: Int64, lease: Int64?)
        /// Another holds the right to refresh; ask again after so many milliseconds.
        case held(after: Int64)
        /// The token that was put is on disk as this version.
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

/// TOKEN-PUT: a plugin hands over a refreshed token (Protocol §11, specified).
public struct TokenPut: Hashable, Sendable {
    public var id: Int64
    public var account: String
    /// The version the plugin believes to be stored; another is refused (R11.1).
    public var expect: Int64
    /// A JSON object; it prints as its size.
    public var token: RawJSON

    public init(id: Int64, account: String, expect: Int64, token: RawJSON) {
        (self.id, self.account, self.expect, self.token) = (id, account, expect, token)
    }
}

extension TokenPut: BodyCoding {
    init(reading object: ObjectReader) throws(WireError) {
        self.init(
            id: try object.integer("id"), account: try object.text("account"), expect: try object.integer("expect"),
            token: try object.rawObject("token"))
    }

    func write(to body: inout ObjectWriter) {
        body.member("id", integer: id)
        body.member("account", text: account)
        body.member("expect", integer: expect)
        body.member("token", raw: token)
    }
}
