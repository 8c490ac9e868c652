import Foundation
import PluginKit

/// The rights of the holder of a link, a session or a token.
struct Grant: Codable, Hashable, Sendable {
    /// The only person whose values it shows; nil for the owner, which includes everything.
    var person: String?
    /// In microseconds since 1970.
    var made: Int64
    var until: Int64
    /// For a token: its name and its scope.
    var name: String?
    var scope: Scope?
    /// For a session: the hash of the browser's form token; without it the session only reads.
    var formToken: String?
    /// For a session: the user of a proxy to whom it belongs; nil for one that began with a link.
    var proxyUser: String?
}

/// The unused links, the logged-in browsers, and the tokens of programs.
///
/// They are in the plugin's state, so that a browser stays logged in after a restart; secrets are stored only as hashes.
actor AccessStore {
    private static let linkTime: Int64 = 600_000_000
    private static let sessionTime: Int64 = 30 * 86_400_000_000
    /// A session in use is extended; the extension is saved once a day.
    private static let renewal: Int64 = 86_400_000_000
    /// Maximum number of sessions; a new one replaces the one that would end first.
    private static let most = 100
    /// Maximum number of sessions of a user of a proxy; with more, a user would end those of others.
    private static let mostOfProxyUser = 10

    private enum Kind: String, CaseIterable { case link, session, token }

    private let state: PluginState
    private var grants: [Kind: [String: Grant]] = [:]
    private var isRead = false

    init(_ state: PluginState) { self.state = state }

    private func read() async throws {
        guard !isRead else { return }
        let kept = try await state.transaction { transaction in
            try Kind.allCases.map { kind in
                try transaction.keys(prefix: "\(kind.rawValue)/").map { key in
                    (kind, String(key.dropFirst(kind.rawValue.count + 1)), try transaction.text(key) ?? "")
                }
            }
        }
        // Another call may have read the state meanwhile, and ended some grants.
        guard !isRead else { return }
        for (kind, hash, text) in kept.joined() {
            guard let grant = try? JSONDecoder().decode(Grant.self, from: Data(text.utf8)) else { continue }
            grants[kind, default: [:]][hash] = grant
        }
        isRead = true
    }

    private func keep(_ kind: Kind, _ hash: String, _ grant: Grant?) async throws {
        let text = try grant.map { String(decoding: try JSONEncoder().encode($0), as: UTF8.self) }
        // Change it before the disk write, so that concurrent calls see it, and no link or name is used twice.
        let before = grants[kind]?[hash]
        grants[kind, default: [:]][hash] = grant
        do {
            try await state.set("\(kind.rawValue)/\(hash)", to: text.map { .text($0) })
        } catch {
            // A grant that could not be saved is removed; an ended one stays ended until the next start.
            if grant != nil, grants[kind]?[hash] == grant { grants[kind]?[hash] = before }
            throw error
        }
    }

    private func make(
        _ kind: Kind, _ person: String?, lasting time: Int64, formToken: AccessKey? = nil, proxyUser: String? = nil,
        at now: Int64
    ) async throws -> (AccessKey, Grant) {
        try await read()
        for (hash, grant) in grants[kind] ?? [:] where grant.until <= now { try await keep(kind, hash, nil) }
        if let all = grants[kind], all.count >= Self.most, let first = all.min(by: { $0.value.until < $1.value.until })
        {
            try await keep(kind, first.key, nil)
        }
        let secret = AccessKey()
        let grant = Grant(
            person: person, made: now, until: now + time, formToken: formToken?.hash, proxyUser: proxyUser)
        try await keep(kind, secret.hash, grant)
        return (secret, grant)
    }

    /// Makes a link for one log-in.
    func makeLink(for person: String?, at now: Int64) async throws -> (secret: String, until: Int64) {
        let (secret, grant) = try await make(.link, person, lasting: Self.linkTime, at: now)
        return (secret.text, grant.until)
    }

    /// Ends the link and begins a session with a new secret.
    ///
    /// - Parameter formToken: sent by the browser's pages with each form; nil if the session only reads.
    /// - Returns: nil for an unknown, used or expired link.
    func logIn(with link: AccessKey, formToken: AccessKey? = nil, at now: Int64) async throws -> AccessKey? {
        try await read()
        guard let grant = grants[.link]?[link.hash] else { return nil }
        try await keep(.link, link.hash, nil)
        guard grant.until > now else { return nil }
        return try await make(.session, grant.person, lasting: Self.sessionTime, formToken: formToken, at: now).0
    }

    /// Begins a session of a user of a proxy.
    ///
    /// - Parameter formToken: as for a link.
    func logIn(_ user: ProxyUser, formToken: AccessKey?, at now: Int64) async throws -> AccessKey {
        try await read()
        let own = (grants[.session] ?? [:]).filter { $0.value.proxyUser == user.id }
        if own.count >= Self.mostOfProxyUser, let first = own.min(by: { $0.value.until < $1.value.until }) {
            try await keep(.session, first.key, nil)
        }
        let (session, _) = try await make(
            .session, user.person, lasting: Self.sessionTime, formToken: formToken, proxyUser: user.id, at: now)
        return session
    }

    /// The grant of a session in use; nil if the session has ended.
    ///
    /// - Returns: also whether the session was extended, so that the browser needs a new cookie.
    func grant(of session: AccessKey, at now: Int64) async throws -> (grant: Grant, isRenewed: Bool)? {
        try await read()
        guard var grant = grants[.session]?[session.hash], grant.until > now else { return nil }
        guard grant.until - now < Self.sessionTime - Self.renewal else { return (grant, false) }
        grant.until = now + Self.sessionTime
        try await keep(.session, session.hash, grant)
        guard grants[.session]?[session.hash] != nil else {
            // The session was ended meanwhile, possibly before this write.
            try await keep(.session, session.hash, nil)
            return nil
        }
        return (grant, true)
    }

    func end(_ session: AccessKey) async throws {
        try await read()
        if grants[.session]?[session.hash] != nil { try await keep(.session, session.hash, nil) }
    }

    /// The active sessions, newest first, each named by the beginning of its hash.
    func sessions(at now: Int64) async throws -> [(name: String, grant: Grant)] {
        try await read()
        return (grants[.session] ?? [:]).filter { $0.value.until > now }
            .sorted { ($1.value.made, $0.key) < ($0.value.made, $1.key) }.map { (Self.name($0.key), $0.value) }
    }

    private static func name(_ hash: String) -> String { String(hash.prefix(8)) }

    /// Ends one session, or all.
    ///
    /// - Returns: the hashes of the ended sessions.
    /// - Throws: `CommandFailure` if there is no session with that name.
    func end(named name: String?) async throws -> [String] {
        try await read()
        let ended = (grants[.session] ?? [:]).keys.filter { name == nil || Self.name($0) == name }
        if let name, ended.isEmpty {
            throw CommandFailure("session", "session: there is no \(name); hub web sessions lists those that there are")
        }
        for hash in ended { try await keep(.session, hash, nil) }
        return Array(ended)
    }
}

// MARK: - Tokens

extension AccessStore {
    /// Makes a token for a program; the secret is shown only now.
    ///
    /// - Throws: `CommandFailure` for an invalid or used name, or too many tokens.
    func makeToken(_ name: String, _ scope: Scope, for person: String?, at now: Int64) async throws -> AccessKey {
        try await read()
        guard (1...64).contains(name.utf8.count), name.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw CommandFailure("name", "name: a token's is 1 to 64 letters, digits and signs, without blanks")
        }
        let tokens = grants[.token] ?? [:]
        guard !tokens.values.contains(where: { $0.name == name }) else {
            throw CommandFailure("name", "name: there is a token \(name); hub web token revoke \(name) ends it")
        }
        guard tokens.count < Self.most else {
            throw CommandFailure("tokens", "there are \(Self.most) tokens, the maximum; hub web token list shows them")
        }
        let token = AccessKey()
        try await keep(.token, token.hash, Grant(person: person, made: now, until: .max, name: name, scope: scope))
        return token
    }

    /// The grant of a token; nil if it is unknown or revoked.
    func grant(ofToken token: AccessKey) async throws -> Grant? {
        try await read()
        return grants[.token]?[token.hash]
    }

    /// All tokens by name.
    func tokens() async throws -> [Grant] {
        try await read()
        return (grants[.token] ?? [:]).values.sorted { ($0.name ?? "") < ($1.name ?? "") }
    }

    /// Ends a token.
    ///
    /// - Returns: the hash of the token.
    /// - Throws: `CommandFailure` if there is no token with that name.
    func revoke(_ name: String) async throws -> String {
        try await read()
        guard let hash = (grants[.token] ?? [:]).first(where: { $0.value.name == name })?.key else {
            throw CommandFailure("name", "name: there is no token \(name); hub web token list has those that there are")
        }
        try await keep(.token, hash, nil)
        return hash
    }

    /// Whether a viewer's session or token is still valid; this does not extend a session, so an open page does not either.
    func isKnown(_ viewer: Viewer, at now: Int64) async throws -> Bool {
        try await read()
        return (grants[viewer.isBrowser ? .session : .token]?[viewer.session.hash]?.until ?? 0) > now
    }
}
