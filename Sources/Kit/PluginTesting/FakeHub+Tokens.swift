public import HubWire

extension FakeHub {
    /// Sets the token of an account, like a log-in; `nil` removes it.
    public func setToken(_ json: RawJSON?, of account: String) {
        tokens[account] = ((tokens[account]?.version ?? 0) + 1, json)
    }

    public func loseTokenAnswers(_ count: Int) { lostTokenAnswers = count }

    /// The token of an account, as soon as its version reaches `version`.
    public func token(of account: String, version: Int64) async -> RawJSON? {
        await wait { ($0.tokens[account]?.version ?? 0) >= version }
        return tokens[account]?.json
    }

    func answer(_ request: TokenRequest, _ peer: [UInt8]) {
        guard let session = sessions[peer]?.reference else { return }
        let key = TokenLeases.Key(instance: "", account: request.account)
        let known = tokens[request.account] ?? (0, nil)
        var lease: Int64?
        switch request.purpose {
        case .use: break
        case .refresh:
            switch leases.take(key, by: session, at: now) {
            case .held(let after): return send(.token(TokenAnswer(id: request.id, .held(after: after))), to: peer)
            case .leased(let length): lease = length
            }
        case .release:
            leases.release(key, by: session)
            if let failure = request.failure { tokenFailures.append(failure) }
            return send(.token(TokenAnswer(id: request.id, .stored(version: known.version))), to: peer)
        }
        let content = known.json.map { TokenAnswer.Content.token($0, version: known.version, lease: lease) }
        send(.token(TokenAnswer(id: request.id, content ?? .stored(version: known.version))), to: peer)
    }

    func store(_ put: TokenPut, _ peer: [UInt8]) {
        guard let session = sessions[peer]?.reference else { return }
        let version = tokens[put.account]?.version ?? 0
        guard version == put.expect else {
            let error = WireError(.field, "TOKEN-PUT.expect: version \(version) is stored", ref: put.id)
            return send(.error(error), to: peer)
        }
        tokens[put.account] = (version + 1, put.token)
        leases.release(TokenLeases.Key(instance: "", account: put.account), by: session)
        if lostTokenAnswers > 0 {
            lostTokenAnswers -= 1
            return forgetSessions()
        }
        send(.token(TokenAnswer(id: put.id, .stored(version: version + 1))), to: peer)
    }
}
