public import HubWire

/// Commands of both sides, and the tokens that log-ins give.
extension FakeHub {
    /// A command that a test has sent.
    struct Call {
        var progress: [CommandProgress] = []
        /// The outcomes received, including `ask`, in their order.
        var outcomes: [CommandOutcome.Content] = []
        /// The number of outcomes that the test has already taken.
        var taken = 0

        var isOver: Bool {
            guard let last = outcomes.last else { return false }
            if case .ask = last { return false }
            return true
        }
    }

    /// Sends a command to every session, like a hub that has checked it; the test must fill in defaults.
    /// - Returns: its number.
    @discardableResult
    public func begin(
        _ command: String, _ arguments: RawJSON = .emptyObject, isDryRun: Bool = false, deadline: Int64? = nil
    ) -> Int64 {
        lastCall += 1
        calls[lastCall] = Call()
        send(
            .command(
                CommandRequest(
                    id: lastCall, command: command, arguments: arguments, isDryRun: isDryRun, deadline: deadline)))
        return lastCall
    }

    /// Whether a command has its last outcome.
    public func isOver(_ call: Int64) -> Bool { calls[call]?.isOver ?? false }

    /// The next outcome of a command: `ask`, or the last one.
    public func outcome(of call: Int64) async -> CommandOutcome.Content {
        await wait { ($0.calls[call]?.outcomes.count ?? 0) > ($0.calls[call]?.taken ?? 0) }
        guard let known = calls[call], known.taken < known.outcomes.count else {
            return .failed(code: "test", reason: "the wait was given up")
        }
        calls[call]?.taken += 1
        return known.outcomes[known.taken]
    }

    /// Sends a command, and waits for its outcome.
    public func command(
        _ command: String, _ arguments: RawJSON = .emptyObject, isDryRun: Bool = false, deadline: Int64? = nil
    ) async -> CommandOutcome.Content {
        await outcome(of: begin(command, arguments, isDryRun: isDryRun, deadline: deadline))
    }

    public func answer(_ call: Int64, _ answer: RawJSON) {
        send(.command(CommandRequest(id: call, content: .answer(answer))))
    }

    public func cancel(_ call: Int64) { send(.command(CommandRequest(id: call, content: .cancel))) }

    /// The progress reports of a command, as soon as there are `count` of them.
    @discardableResult
    public func progress(of call: Int64, _ count: Int = 0) async -> [CommandProgress] {
        await wait { ($0.calls[call]?.progress.count ?? 0) >= count }
        return calls[call]?.progress ?? []
    }

    /// Handles a command that a plugin sends with the rights of its owner.
    func carryOut(_ request: CommandRequest, _ peer: [UInt8]) {
        ownersCommands.append(request)
        if case .run(let instance, let name, _, _, _) = request.content {
            let word = instance.map { $0 != "hub" } ?? false ? OwnerRight.commands.rawValue : name
            guard behaviour.grants.owner.contains(word) else {
                let reason = "COMMAND: \"\(word)\" is the owner's, and grants.owner of WELCOME does not have it"
                return send(.error(WireError(.forbidden, reason, ref: request.id)), to: peer)
            }
        }
        if case .cancel = request.content {
            return send(.outcome(CommandOutcome(id: request.id, .cancelled)), to: peer)
        }
        guard let outcome = behaviour.ownersCommand(request) else { return }
        send(.outcome(CommandOutcome(id: request.id, outcome)), to: peer)
    }

    func note(_ progress: CommandProgress) {
        guard let call = calls[progress.id], !call.isOver else {
            return violations.append("R8.15: PROGRESS of command \(progress.id), which is not open")
        }
        calls[progress.id]?.progress.append(progress)
    }

    func note(_ outcome: CommandOutcome) {
        guard let call = calls[outcome.id], !call.isOver else {
            return violations.append("R8.11: OUTCOME of command \(outcome.id), which is not open")
        }
        calls[outcome.id]?.outcomes.append(outcome.content)
    }

    // MARK: - Tokens

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
