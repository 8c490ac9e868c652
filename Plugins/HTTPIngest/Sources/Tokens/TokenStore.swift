import Foundation
import PluginKit

/// The tokens of the plugin's state and of its settings.
actor TokenStore {
    private let state: PluginState
    private let declared: [PhoneToken]
    /// Owners of broker messages, which need no token.
    private let trusted: [PhoneToken]
    private var made: [String: PhoneToken] = [:]
    private var isRead = false
    /// Microseconds of the last use of each, since the start of the program.
    private var seen: [String: Int64] = [:]
    /// Compared with the secret if the id is unknown, so that both cases take equally long.
    private static let unknown = PhoneToken(
        name: "-", id: "00000000", hash: [UInt8](repeating: 0, count: 32), person: nil, made: 0)
    /// Maximum number of tokens, for the phones of a household.
    static let most = 200

    init(_ state: PluginState, declared: [PhoneToken], trusted: [PhoneToken] = []) {
        (self.state, self.declared, self.trusted) = (state, declared, trusted)
    }

    private func read() async throws {
        guard !isRead else { return }
        let kept = try await state.transaction { transaction in
            try transaction.keys(prefix: "token/").compactMap { try transaction.text($0) }
        }
        for token in kept.compactMap(PhoneToken.init(kept:)) { made[token.id] = token }
        isRead = true
    }

    /// The token that this text proves.
    func owner(of text: String, at time: Int64) async throws -> PhoneToken? {
        try await read()
        let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        let id = String(parts[0].prefix(64))
        let found = made[id] ?? declared.first { $0.id == id }
        let isProved = (found ?? Self.unknown).isProved(by: parts.count > 1 ? String(parts[1].prefix(256)) : "")
        guard let found, isProved else { return nil }
        seen[id] = time
        return found
    }

    /// Whether it is still valid; a revoked token also stops a post in progress.
    func isGood(_ token: PhoneToken) async throws -> Bool {
        try await read()
        return made[token.id] == token || declared.contains(token) || trusted.contains(token)
    }

    func list() async throws -> [(token: PhoneToken, isDeclared: Bool, seen: Int64?)] {
        try await read()
        return
            (made.values.map { ($0, false) } + declared.map { ($0, true) })
            .sorted { $0.0.name < $1.0.name }.map { ($0.0, $0.1, seen[$0.0.id]) }
    }

    /// - Throws: ``CommandFailure`` if the name is taken or there are too many tokens.
    func add(name: String, person: String?, formats: Set<String>, at time: Int64) async throws -> (PhoneToken, String) {
        try await read()
        guard !made.values.contains(where: { $0.name == name }), !declared.contains(where: { $0.name == name }) else {
            throw CommandFailure("taken", "there is a token \(name) already; revoke it, or choose another name")
        }
        guard made.count < Self.most else {
            throw CommandFailure("full", "there are \(made.count) tokens; revoke some that are not used")
        }
        let (token, text) = PhoneToken.make(name: name, person: person, formats: formats, at: time / 1_000_000)
        try await state.set("token/\(token.id)", to: .text(token.kept))
        made[token.id] = token
        return (token, text)
    }

    /// - Throws: ``CommandFailure`` if there is no such token.
    func revoke(_ name: String) async throws {
        try await read()
        guard let token = made.values.first(where: { $0.name == name }) else {
            guard !declared.contains(where: { $0.name == name }) else {
                throw CommandFailure("settings", "the token \(name) is of the setting tokens: take it out there")
            }
            let names = made.values.map(\.name).sorted().joined(separator: ", ")
            throw CommandFailure("unknown", "there is no token \(name)\(names.isEmpty ? "" : "; there are: \(names)")")
        }
        try await state.set("token/\(token.id)", to: nil)
        made[token.id] = nil
    }
}
