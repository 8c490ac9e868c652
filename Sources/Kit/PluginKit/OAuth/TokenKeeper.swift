import Foundation
import HubWire
import Logging
import Samples

/// Keeps one account's token valid: the hub stores the token, and this plugin refreshes it, never twice at the same time.
///
/// ```swift
/// let keeper = TokenKeeper(hub, account: "me") { old in try await service.refresh(old) }
/// let token = try await keeper.token()
/// ```
///
/// A refreshed token is on this plugin's disk before it is offered to the hub, and the hub has it before it is used. A crash of either can lose the
/// token only between the service's answer and the write to our disk, a gap that no client can close. The service then refuses the old token, and a
/// person logs in again.
public actor TokenKeeper {
    /// Asks the service for a new token with the refresh token of the old one; throws ``LogInRefused`` if the log-in has ended.
    ///
    /// The task is cancelled shortly before the lease ends, so that no two refreshes run at the same time.
    public typealias Refresh = @Sendable (OAuthToken) async throws -> OAuthToken

    /// Points at which tests end the process.
    package enum Step: Sendable { case refreshed, written, put }

    /// The lease in milliseconds if the hub does not send its length.
    private static let usualLease: Int64 = 60_000

    private let hub: PluginContext
    private let account: String
    private let margin: Duration
    private let refresh: Refresh
    private let probe: @Sendable (Step) -> Void
    /// The refresh in progress; other callers wait for it.
    private var work: Task<OAuthToken, any Error>?

    /// Creates a keeper of one account; create only one for each account, so that all callers wait for the same refresh.
    ///
    /// - Parameters:
    ///   - hub: the context that ``Plugin/run(_:)`` or the command received.
    ///   - account: the plugin's own name of the account, 1 to 128 bytes.
    ///   - margin: how long before its expiry a token is refreshed.
    ///   - refresh: asks the service for a new token.
    public init(
        _ hub: PluginContext, account: String, margin: Duration = .seconds(60), refresh: @escaping Refresh
    ) {
        self.init(hub, account: account, margin: margin, probe: { _ in }, refresh: refresh)
    }

    package init(
        _ hub: PluginContext, account: String, margin: Duration = .seconds(60),
        probe: @escaping @Sendable (Step) -> Void, refresh: @escaping Refresh
    ) {
        (self.hub, self.account, self.margin) = (hub, account, margin)
        (self.refresh, self.probe) = (refresh, probe)
    }

    /// A token that is valid for a while; refreshes the token if necessary.
    ///
    /// While the hub is away, the call waits for it. A refresh that has begun is finished even if its callers have given up, because a token that the
    /// service has renewed must not be lost.
    /// - Parameter refused: a token that the service has just refused although it should be valid; the call returns a different one.
    /// - Throws: ``TokenError``; ``AskError`` if the plugin is stopped or the hub refuses.
    public func token(insteadOf refused: OAuthToken? = nil) async throws -> OAuthToken {
        if let work {
            // A refresh that began before the refusal may return the refused token.
            let token = try await work.value
            if token.accessToken != refused?.accessToken { return token }
            return try await self.token(insteadOf: refused)
        }
        let task = Task {
            defer { work = nil }
            return try await obtain(insteadOf: refused)
        }
        work = task
        return try await task.value
    }

    /// Passes the token of a log-in to the hub; returns when the hub has it on its disk.
    public func put(_ token: OAuthToken) async throws {
        try await settlePending()
        // A log-in that happens now is newer than any stored token.
        for _ in 0..<5 {
            let (_, version) = try await stored()
            if try await offer(token, expecting: version) { return }
        }
        throw TokenError(
            .unreachable, "the token of \(hub.instance) is changed by other programs all the time; try again")
    }

    /// Like ``token(insteadOf:)``, but waits for `hub login` instead of throwing if there is no log-in.
    ///
    /// - Throws: ``TokenError`` with code `unreachable`; ``AskError``; `CancellationError`.
    public func tokenOnceLoggedIn(insteadOf refused: OAuthToken? = nil) async throws -> OAuthToken {
        while true {
            let known = hub.logIns.count
            do {
                return try await token(insteadOf: refused)
            } catch let error as TokenError where error.needsLogIn {
                hub.logger.warning("not logged in", metadata: ["reason": "\(error.message)"])
            }
            try await hub.logIns.wait(beyond: known)
        }
    }

    /// The token that the hub stores, valid or not.
    func current() async throws -> OAuthToken? {
        try await settlePending()
        return try await stored().token
    }

    // MARK: - Steps

    private func obtain(insteadOf refused: OAuthToken?) async throws -> OAuthToken {
        try await settlePending()
        while true {
            let (token, version) = try await stored()
            if let token, isGood(token, refused) { return token }
            guard token != nil else {
                try await release(.init(.auth, "not logged in"), of: version)
                throw needed(.missing, "not logged in")
            }
            switch try await ask(.refresh) {
            case .held(let after): try await Task.sleep(for: .milliseconds(min(max(after, 10), 5_000)))
            case .stored: continue  // Removed meanwhile.
            case .token(let json, let version, let lease):
                let leased = try Self.read(json)
                if isGood(leased, refused) {  // Another process has refreshed it meanwhile.
                    try await release(nil)
                    return leased
                }
                return try await renew(leased, version, for: .milliseconds(lease ?? Self.usualLease))
            }
        }
    }

    private func renew(_ old: OAuthToken, _ version: Int64, for lease: Duration) async throws -> OAuthToken {
        guard old.refreshToken != nil else {
            try await release(.init(.auth, "the log-in has ended and cannot be renewed"), of: version)
            throw needed(.missing, "the log-in has ended and cannot be renewed")
        }
        let (pending, copy) = try await hub.renewals.during {
            let new = try await renewed(old, version, for: lease)
            probe(.refreshed)
            let pending = Pending(expect: version, token: new)
            let copy = try pending.bytes()
            try await hub.state.set(pendingKey, to: .bytes(copy))
            return (pending, copy)
        }
        probe(.written)
        try await settle(pending, copy)
        guard let stored = try await stored().token else { throw needed(.missing, "the log-in was taken back") }
        probe(.put)
        return stored
    }

    /// Asks the service for a new token; releases the lease if the service does not issue one.
    private func renewed(_ old: OAuthToken, _ version: Int64, for lease: Duration) async throws -> OAuthToken {
        do {
            return try await withLimit(lease * 3 / 4) { [refresh] in try await refresh(old) }
        } catch let refusal as LogInRefused {
            try await release(.init(.auth, Self.short(refusal.reason)), of: version)
            throw needed(.refused, refusal.reason)
        } catch {
            // This includes an answer lost on the way: the service may have renewed the token, and the next try shows it.
            try await release(.init(.network, Self.short("\(error)")), of: version)
            throw TokenError(.unreachable, "the token of \(hub.instance) cannot be renewed now: \(error)")
        }
    }

    private func isGood(_ token: OAuthToken, _ refused: OAuthToken?) -> Bool {
        guard token.accessToken != refused?.accessToken else { return false }
        guard let end = token.expiresAt else { return true }
        return hub.clock.now() + Int64(margin / .microseconds(1)) < end.microseconds
    }

    private func needed(_ code: TokenError.Code, _ reason: String) -> TokenError {
        TokenError(code, "\(reason); run hub login \(hub.instance)")
    }
}

// MARK: - The hub, and the copy on our own disk

extension TokenKeeper {
    /// A refreshed token that the hub may not have stored yet.
    private struct Pending: Codable {
        var expect: Int64
        var token: OAuthToken

        func bytes() throws -> [UInt8] { Array(try JSONEncoder().encode(self)) }
    }

    private var pendingKey: String { "token/\(account)" }

    /// Passes on a token that an earlier process or an earlier call left behind.
    private func settlePending() async throws {
        guard let bytes = try await hub.state.bytes(pendingKey) else { return }
        // Drop a copy that cannot be decoded.
        try await settle(try? JSONDecoder().decode(Pending.self, from: Data(bytes)), bytes)
    }

    private func settle(_ pending: Pending?, _ copy: [UInt8]) async throws {
        if let pending {
            let isTaken = try await offer(pending.token, expecting: pending.expect)
            // Otherwise the hub has a newer token: from a log-in, or ours, if its confirmation was lost.
            if !isTaken { hub.logger.info("a refreshed token was not needed any more") }
        }
        // Another keeper of the account may have stored a newer copy meanwhile.
        try await hub.state.transaction { [pendingKey] transaction in
            if try transaction.bytes(pendingKey) == copy { try transaction.set(pendingKey, to: nil) }
        }
    }

    /// - Returns: true once the hub has the token on its disk; false if the hub has another version.
    private func offer(_ token: OAuthToken, expecting version: Int64) async throws -> Bool {
        let json = RawJSON(trusted: Array(try JSONEncoder().encode(token)))
        while true {
            do {
                _ = try await hub.link.put(TokenPut(id: 0, account: account, expect: version, token: json))
                return true
            } catch let error as AskError where error.code == .lost || error.error?.code == .store {
                // The hub may already have stored it. In that case the version differs, and the next try shows it.
                if error.code != .lost { try await Task.sleep(for: .milliseconds(error.error?.after ?? 2_000)) }
            } catch let error as AskError where error.error?.code == .field {
                let (now, current) = try await stored()
                guard current != version else { throw error }  // The token is invalid, for example too long.
                return now == token
            }
        }
    }

    /// The token and version that the hub stores.
    private func stored() async throws -> (token: OAuthToken?, version: Int64) {
        switch try await ask(.use) {
        case .token(let json, let version, _): (try Self.read(json), version)
        case .stored(let version): (nil, version)
        case .held: (nil, 0)
        }
    }

    /// - Parameter version: the version of the token that failed; a log-in may have brought a newer one meanwhile.
    private func release(_ failure: TokenRequest.Failure?, of version: Int64? = nil) async throws {
        _ = try await ask(.release, failure, of: version)
    }

    private func ask(
        _ purpose: TokenRequest.Purpose, _ failure: TokenRequest.Failure? = nil, of version: Int64? = nil
    ) async throws -> TokenAnswer.Content {
        let request = TokenRequest(id: 0, account: account, purpose: purpose, failure: failure, version: version)
        return try await hub.link.token(request).content
    }

    static func read(_ json: RawJSON) throws -> OAuthToken {
        // A decoding error contains the decoded data.
        guard let token = try? JSONDecoder().decode(OAuthToken.self, from: Data(json.bytes)) else {
            throw TokenError(.missing, "the hub keeps a token that this plugin does not understand; log in again")
        }
        return token
    }

    /// Shortens a reason to the length that the hub accepts.
    private static func short(_ reason: String) -> String {
        guard reason.utf8.count > TokenRequest.reasonBytes else { return reason }
        return String(decoding: reason.utf8.prefix(TokenRequest.reasonBytes - 6), as: UTF8.self) + "…"
    }
}
