import HubStore
import HubWire
import Logging
import Samples
import ZeroMQ

/// Keeps the tokens of plugins, which handle OAuth themselves (Protocol §11), and the secrets of each instance, including its tokens.
///
/// A part of the door.
@DoorActor
final class Tokens {
    /// The store of tokens, or why it cannot be used.
    private let store: Result<SecretStore, StoreError>
    private let door: Door
    private let logger: Logger
    private var leases = TokenLeases()
    /// The secrets of instances whose process runs, and of remote instances that have sent messages.
    private var hidden: [String: InstanceSecrets] = [:]

    init(of door: Door) {
        (self.door, store, logger) = (door, door.secrets, door.logger)
    }

    /// Ends the leases of a session that is over.
    func end(of session: SessionReference) { leases.ended(session) }

    // MARK: - Secrets

    /// - Parameter secrets: the secrets of an instance to hide from now on; `nil` to read them from `hub.conf` again when needed.
    func hide(_ secrets: InstanceSecrets?, of instance: String) { hidden[instance] = secrets }

    /// The mask for texts that plugins write for people: the same secrets are hidden everywhere as in the plugins' logs (R11.3).
    ///
    /// Such texts go to the feed, into `hub status`, into the store and to the caller of a command.
    func mask(of instance: String) -> SecretMask { secrets(of: instance)?.mask ?? SecretMask.nothing }

    private func secrets(of instance: String) -> InstanceSecrets? {
        if let known = hidden[instance] { return known }
        guard let policy = door.facts.instances[instance] else { return nil }
        let secrets = InstanceSecrets(policy.secrets)
        hidden[instance] = secrets
        return secrets
    }

    // MARK: - Requests

    func answer(_ request: TokenRequest, for session: ClientSession) {
        let key = TokenLeases.Key(session, request.account)
        answer(request.id, of: session) { secrets throws(WireError) in
            let account = TokenAccount(instance: session.instance, name: request.account)
            switch request.purpose {
            case .use: return try await self.stored(secrets, account, lease: nil)
            case .refresh:
                guard self.door.isOpen(session.reference) else { return .held(after: TokenLeases.patience) }
                switch self.leases.take(key, by: session.reference, at: self.door.now) {
                case .held(let after): return .held(after: after)
                case .leased(let length):
                    let answer = try await self.stored(secrets, account, lease: length)
                    // If there is nothing to refresh, other sessions need not wait.
                    if case .stored = answer { self.leases.release(key, by: session.reference) }
                    return answer
                }
            case .release:
                self.leases.release(key, by: session.reference)
                if let failure = request.failure { try await self.note(failure, of: request.version, secrets, account) }
                return .stored(version: try await self.look(secrets, account).version)
            }
        }
    }

    func store(_ put: TokenPut, for session: ClientSession) {
        secrets(of: session.instance)?.learn(put.token.bytes)
        answer(put.id, of: session) { secrets throws(WireError) in
            let account = TokenAccount(instance: session.instance, name: put.account)
            let result: TokenPutResult
            do throws(StoreError) {
                result = try await secrets.put(
                    NewToken(reading: put.token), for: account, expecting: put.expect, at: self.door.facts.clock.now()
                )
            } catch {
                throw self.refusal(error)
            }
            switch result {
            case .stored(let version):
                self.leases.release(TokenLeases.Key(session, put.account), by: session.reference)
                self.logger.info(
                    "a token was stored",
                    metadata: ["instance": "\(session.instance)", "version": "\(version)"])
                return .stored(version: version)
            case .conflict(let version):
                throw WireError(
                    .field,
                    "TOKEN-PUT.expect: version \(version) is stored, not \(put.expect); ask for it with TOKEN, and compare"
                )
            case .tooMany:
                throw WireError(
                    .field,
                    "TOKEN-PUT.account: an instance has at most \(SecretStore.accountsOfInstance) accounts")
            }
        }
    }

    /// Answers one question of an instance that `hub.conf` names, about its own accounts only.
    private func answer(
        _ id: Int64, of session: ClientSession,
        _ content: @escaping (SecretStore) async throws(WireError) -> TokenAnswer.Content
    ) {
        Task {
            let message: HubMessage
            do throws(WireError) {
                guard door.facts.instances[session.instance] != nil else {
                    throw WireError(
                        .forbidden,
                        "TOKEN: hub.conf has no [plugin.\(session.instance)], and tokens are kept only for its plugins")
                }
                message = .token(TokenAnswer(id: id, try await content(try openSecrets())))
            } catch {
                var error = error
                error.ref = id
                message = .error(error)
            }
            if case .token(let answer) = message, case .token(let token, _, _) = answer.content {
                self.secrets(of: session.instance)?.learn(token.bytes)
            }
            door.answer(message, to: .token(id), in: session.reference)
        }
    }

    /// - Throws: `store` if the file of the tokens cannot be used.
    private func openSecrets() throws(WireError) -> SecretStore {
        do throws(StoreError) { return try store.get() } catch { throw refusal(error) }
    }

    private func stored(
        _ secrets: SecretStore, _ account: TokenAccount, lease: Int64?
    ) async throws(WireError) -> TokenAnswer.Content {
        let stored = try await look(secrets, account)
        guard let json = stored.json else { return .stored(version: stored.version) }
        return .token(RawJSON(trusted: json), version: stored.version, lease: lease)
    }

    private func look(_ secrets: SecretStore, _ account: TokenAccount) async throws(WireError) -> StoredToken {
        do throws(StoreError) { return try await secrets.token(of: account) } catch { throw refusal(error) }
    }

    private func note(
        _ failure: TokenRequest.Failure, of version: Int64?, _ secrets: SecretStore, _ account: TokenAccount
    ) async throws(WireError) {
        let kind: TokenFailure.Kind =
            switch failure.kind {
            case .auth: .auth
            case .network: .network
            }
        do throws(StoreError) {
            try await secrets.note(
                TokenFailure(kind, reason: failure.reason), of: account, version: version, at: door.facts.clock.now())
        } catch {
            throw refusal(error)
        }
    }

    private func refusal(_ error: StoreError) -> WireError {
        WireError(.store, error.message, after: StoreHealth.retryAfter)
    }
}

extension TokenLeases.Key {
    fileprivate init(_ session: ClientSession, _ account: String) {
        self.init(instance: session.instance, account: account)
    }
}
