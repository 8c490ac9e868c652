import Foundation
import HubWire
import Logging
import Samples

/// Keeps one account's token valid: the hub stores it, this plugin refreshes it, and only one at a time does.
///
/// ```swift
/// let keeper = TokenKeeper(hub, account: "me") { old in try await service.refresh(old) }
/// let token = try await keeper.token()
/// ```
///
/// A refreshed token is on this plugin's disk before it is offered to the hub, and with the hub before it is used. So a crash of either
/// loses it only between the service's answer and our disk, which no client can close: then the service refuses the old one, and a
/// person logs in again.
public actor TokenKeeper {
    /// Asks the service for a new token with the refresh token of the old one; throws ``LogInRefused`` when the log-in is over.
    ///
    /// Cancelled when the lease is nearly over, so that no two refresh at a time.
    public typealias Refresh = @Sendable (OAuthToken) async throws -> OAuthToken

    /// Moments at which tests end the process.
    package enum Step: Sendable { case refreshed, written, put }

    /// Milliseconds, of a hub that does not say how long its lease is.
    private static let usualLease: Int64 = 60_000

    private let hub: PluginContext
    private let account: String
    private let margin: Duration
    private let refresh: Refresh
    private let probe: @Sendable (Step) -> Void
    /// The one that is at work; others wait for it.
    private var work: Task<OAuthToken, any Error>?

    /// A keeper of one account; make one for each, so that its callers wait for the same refresh.
    ///
    /// - Parameters:
    ///   - hub: what ``Plugin/run(_:)`` or the command has.
    ///   - account: the plugin's own name of the account, 1 to 128 bytes.
    ///   - margin: so long before its end a token is refreshed.
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

    /// A token that is valid for a while; refreshes it if need be.
    ///
    /// Waits for the hub while it is away. A refresh that has begun is finished also when its callers have given up: what the service has
    /// renewed must not get lost.
    /// - Parameter refused: one that the service has just refused, although it should be valid; another than this one is returned.
    /// - Throws: ``TokenError``; ``AskError`` when the plugin is stopped or the hub refuses.
    public func token(insteadOf refused: OAuthToken? = nil) async throws -> OAuthToken {
        if let work {
            // One that was begun before the refusal may end with the very token that was refused.
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

    /// Hands the token of a log-in to the hub; returns when it is on its disk.
    public func put(_ token: OAuthToken) async throws {
        try await settlePending()
        // Whatever is there, a log-in of now is newer.
        for _ in 0..<5 {
            let (_, version) = try await stored()
            if try await offer(token, expecting: version) { return }
        }
        throw TokenError(.unreachable, "the token of \(hub.instance) is changed by others all the time; try again")
    }

    /// The same as ``token(insteadOf:)``, and while there is no log-in it waits for `hub login` instead of throwing.
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

    /// What the hub keeps, whether it is still valid or not.
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
            case .stored: continue  // Taken away meanwhile.
            case .token(let json, let version, let lease):
                let leased = try Self.read(json)
                if isGood(leased, refused) {  // Another has refreshed it since.
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

    /// Asks the service; gives the right to renew back when it does not do it.
    private func renewed(_ old: OAuthToken, _ version: Int64, for lease: Duration) async throws -> OAuthToken {
        do {
            return try await withLimit(lease * 3 / 4) { [refresh] in try await refresh(old) }
        } catch let refusal as LogInRefused {
            try await release(.init(.auth, Self.short(refusal.reason)), of: version)
            throw needed(.refused, refusal.reason)
        } catch {
            // Also where the answer got lost on the way: the service may have renewed it, and tells at the next try.
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
    /// A token that the hub may not have yet.
    private struct Pending: Codable {
        var expect: Int64
        var token: OAuthToken

        func bytes() throws -> [UInt8] { Array(try JSONEncoder().encode(self)) }
    }

    private var pendingKey: String { "token/\(account)" }

    /// Hands over what an earlier life, or an earlier call, has left.
    private func settlePending() async throws {
        guard let bytes = try await hub.state.bytes(pendingKey) else { return }
        // A copy that cannot be read is dropped.
        try await settle(try? JSONDecoder().decode(Pending.self, from: Data(bytes)), bytes)
    }

    private func settle(_ pending: Pending?, _ copy: [UInt8]) async throws {
        if let pending {
            let isTaken = try await offer(pending.token, expecting: pending.expect)
            // Else the hub has a newer one: of a log-in, or ours, whose confirmation was lost.
            if !isTaken { hub.logger.info("a refreshed token was not needed any more") }
        }
        // Another keeper of the account may have put a newer copy there meanwhile.
        try await hub.state.transaction { [pendingKey] transaction in
            if try transaction.bytes(pendingKey) == copy { try transaction.set(pendingKey, to: nil) }
        }
    }

    /// - Returns: whether the hub has it on its disk; false when another version is there.
    private func offer(_ token: OAuthToken, expecting version: Int64) async throws -> Bool {
        let json = RawJSON(trusted: Array(try JSONEncoder().encode(token)))
        while true {
            do {
                let answer = try await hub.link.questions.ask(repeats: false) { [account] number in
                    .tokenPut(TokenPut(id: number, account: account, expect: version, token: json))
                }
                guard case .token = answer else { throw TokenError(.unreachable, "the hub did not confirm a token") }
                return true
            } catch let error as AskError where error.code == .lost || error.error?.code == .store {
                // It may be there already: then the version is another, which is how we find out.
                if error.code != .lost { try await Task.sleep(for: .milliseconds(error.error?.after ?? 2_000)) }
            } catch let error as AskError where error.error?.code == .field {
                let (now, current) = try await stored()
                guard current != version else { throw error }  // The token itself is wrong, such as too long.
                return now == token
            }
        }
    }

    /// What the hub has.
    private func stored() async throws -> (token: OAuthToken?, version: Int64) {
        switch try await ask(.use) {
        case .token(let json, let version, _): (try Self.read(json), version)
        case .stored(let version): (nil, version)
        case .held: (nil, 0)
        }
    }

    /// - Parameter version: the token that the failure is of; a log-in may have brought another meanwhile.
    private func release(_ failure: TokenRequest.Failure?, of version: Int64? = nil) async throws {
        _ = try await ask(.release, failure, of: version)
    }

    private func ask(
        _ purpose: TokenRequest.Purpose, _ failure: TokenRequest.Failure? = nil, of version: Int64? = nil
    ) async throws -> TokenAnswer.Content {
        let answer = try await hub.link.questions.ask(repeats: true) { [account] number in
            .token(TokenRequest(id: number, account: account, purpose: purpose, failure: failure, version: version))
        }
        guard case .token(let answer) = answer else {
            throw TokenError(.unreachable, "the hub answered a question about a token without one")
        }
        return answer.content
    }

    static func read(_ json: RawJSON) throws -> OAuthToken {
        // A decoding error shows what it found.
        guard let token = try? JSONDecoder().decode(OAuthToken.self, from: Data(json.bytes)) else {
            throw TokenError(.missing, "the hub keeps a token that this plugin does not understand; log in again")
        }
        return token
    }

    /// As much of a reason as the hub takes.
    private static func short(_ reason: String) -> String {
        guard reason.utf8.count > TokenRequest.reasonBytes else { return reason }
        return String(decoding: reason.utf8.prefix(TokenRequest.reasonBytes - 6), as: UTF8.self) + "…"
    }
}
