import HubSessions
import HubStore
import HubWire
import Logging
import Samples

/// Tokens: the hub keeps them, the plugin speaks OAuth (Protocol §11).
extension Door {
    func answer(_ request: TokenRequest, for client: Client) {
        let (session, key) = (client.reference, TokenLeases.Key(client, request.account))
        tokenAnswer(to: request.id, client) { secrets throws(WireError) in
            let account = TokenAccount(instance: client.hello.instance, name: request.account)
            switch request.purpose {
            case .use: return try await self.stored(secrets, account, lease: nil)
            case .refresh:
                guard self.sessions[session] != nil else { return .held(after: TokenLeases.patience) }
                switch self.leases.take(key, by: session, at: self.now) {
                case .held(let after): return .held(after: after)
                case .leased(let length):
                    let answer = try await self.stored(secrets, account, lease: length)
                    // Where there is nothing to refresh, nobody has to wait for it.
                    if case .stored = answer { self.leases.release(key, by: session) }
                    return answer
                }
            case .release:
                self.leases.release(key, by: session)
                if let failure = request.failure { try await self.note(failure, of: request.version, secrets, account) }
                return .stored(version: try await self.look(secrets, account).version)
            }
        }
    }

    func store(_ put: TokenPut, for client: Client) {
        instanceSecrets(of: client.hello.instance)?.learn(put.token.bytes)
        tokenAnswer(to: put.id, client) { secrets throws(WireError) in
            let account = TokenAccount(instance: client.hello.instance, name: put.account)
            let result: TokenPutResult
            do throws(StoreError) {
                result = try await secrets.put(
                    NewToken(reading: put.token), for: account, expecting: put.expect, at: self.facts.clock.now())
            } catch {
                throw self.refusal(error)
            }
            switch result {
            case .stored(let version):
                self.leases.release(TokenLeases.Key(client, put.account), by: client.reference)
                self.logger.info(
                    "a token was stored",
                    metadata: ["instance": "\(client.hello.instance)", "version": "\(version)"])
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

    /// Answers one question of an instance that `hub.conf` names, and of its own accounts only.
    private func tokenAnswer(
        to id: Int64, _ client: Client,
        _ content: @escaping (SecretStore) async throws(WireError) -> TokenAnswer.Content
    ) {
        Task {
            let message: HubMessage
            do throws(WireError) {
                guard facts.instances[client.hello.instance] != nil else {
                    throw WireError(
                        .forbidden,
                        "TOKEN: hub.conf has no [plugin.\(client.hello.instance)], whose tokens these would be")
                }
                message = .token(TokenAnswer(id: id, try await content(try openSecrets())))
            } catch {
                var error = error
                error.ref = id
                message = .error(error)
            }
            if case .token(let answer) = message, case .token(let token, _, _) = answer.content {
                self.instanceSecrets(of: client.hello.instance)?.learn(token.bytes)
            }
            perform(sessions.answer(message, to: .token(id), in: client.reference))
        }
    }

    /// - Throws: `store`, when the file of the tokens cannot be used.
    func openSecrets() throws(WireError) -> SecretStore {
        do throws(StoreError) { return try secrets.get() } catch { throw refusal(error) }
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
                TokenFailure(kind, reason: failure.reason), of: account, version: version, at: facts.clock.now())
        } catch {
            throw refusal(error)
        }
    }

    private func refusal(_ error: StoreError) -> WireError {
        WireError(.store, error.message, after: 2_000)
    }
}

extension TokenLeases.Key {
    fileprivate init(_ client: Client, _ account: String) {
        self.init(instance: client.hello.instance, account: account)
    }
}
