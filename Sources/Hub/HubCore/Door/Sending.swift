import HubStore
import HubWire
import Logging
import Samples
import ZeroMQ

/// Carries out the actions of sessions, and sends messages to them.
extension Door {
    func perform(_ actions: [PeerAction]) {
        for action in actions {
            switch action.action {
            case .reply(let message): send(message, to: action.peer)
            case .admit(let message): admit(message, from: action.peer)
            case .end(let reason): forget(action.peer, reason)
            case .store: break  // Only a batch leads to it, and `take` has its records.
            }
        }
    }

    /// Passes an admitted message to the part that acts on it.
    private func admit(_ message: ClientMessage, from peer: RoutingID) {
        guard let client = clients[peer] else { return }
        let session = client.session
        switch message {
        case .live(let live): pass(live, of: client)
        case .event(let event):
            let event = mask(of: session).hiding(event)
            plugins.note(
                event, of: session.instance, isEnabled: facts.instances[session.instance] != nil, at: facts.clock.now())
            feeds.publish(event, of: session)
        case .want(let request): deliveries.open(request, FilterNames("WANT", session, facts), for: session)
        case .done(let report): deliveries.take(mask(of: session).hiding(report), from: session)
        case .query(let query): questions.answer(query, for: session)
        case .command(let command): commands.carryOut(command, for: session)
        case .progress(let progress): pluginCommands.relay(mask(of: session).hiding(progress), from: session)
        case .outcome(let outcome): pluginCommands.relay(mask(of: session).hiding(outcome), from: session)
        case .token(let request): tokens.answer(mask(of: session).hiding(request), for: session)
        case .tokenPut(let put): tokens.store(put, for: session)
        case .hello, .samples, .ping, .pong, .bye:
            break  // The session machine admits none of these: it answers or rejects them.
        }
    }

    private func mask(of session: ClientSession) -> SecretMask { tokens.mask(of: session.instance) }

    private func pass(_ live: LiveValue, of client: Client) {
        do throws(WireError) {
            try feeds.publish(live, of: client)
        } catch {
            // LIVE has no answer (R5.8), so the author of the source finds the reason in the log.
            sessions.noteDropped()
            logOfSessions(
                .notice, "a LIVE was dropped",
                ["instance": "\(client.hello.instance)", "reason": "\(error.reason.prefix(256))"])
        }
    }

    func send(_ message: HubMessage, to peer: RoutingID) {
        if case .error(let error) = message { tell(error, to: peer) }
        outgoing.removeAll()
        peer.withUnsafeBytes { outgoing.append($0) }
        outgoing.append(message.verb.rawValue)
        let body = message.body
        outgoing.append(body)
        do throws(ZeroMQError) {
            switch try socket?.sendMultipart(&outgoing) {
            case .sent:
                perform(sessions.sent(message.verb.rawValue.utf8.count + body.count, of: message.verb, to: peer))
            case .wouldBlock, .unroutable, .abandoned, nil: perform(sessions.gone(peer))
            }
        } catch {
            logger.error("an answer could not be sent", metadata: ["error": "\(error)"])
            perform(sessions.gone(peer))
        }
    }

    private func forget(_ peer: RoutingID, _ reason: SessionEnd) {
        guard let client = clients.removeValue(forKey: peer) else { return }
        let session = client.reference
        questions.end(of: session)
        deliveries.end(of: session)
        commands.end(of: session)
        pluginCommands.end(of: session)
        tokens.end(of: session)
        // Otherwise a peer that repeats HELLO could make the hub hold a window of credit each time.
        committer.drop { $0 == session }
        plugins.sessionEnded(client.hello, wasLast: sessions.runner(of: client.hello.instance) == nil)
        // The end of a replaced session is only logged for debugging, because its successor is logged.
        logOfSessions(
            reason == .replaced ? .debug : .info, "session ended",
            ["instance": "\(client.hello.instance)", "reason": "\(reason)"])
    }

    // MARK: - For the parts

    /// Sends to a session, which may end it; does nothing if the session is over.
    func send(_ message: HubMessage, to session: SessionReference) {
        if sessions[session] != nil { send(message, to: session.peer) }
    }

    /// Answers a request of a session once; does nothing if the session is over, or does not wait for the answer.
    func answer(_ message: HubMessage, to request: SessionRequest, in session: SessionReference) {
        perform(sessions.answer(message, to: request, in: session))
    }

    func isOpen(_ session: SessionReference) -> Bool { sessions[session] != nil }

    /// Whether the session continues: it is not over, and was not sent STOP.
    func isContinuing(_ session: SessionReference) -> Bool { sessions[session].map { !$0.isStopping } ?? false }

    /// The session in which an instance runs.
    func runner(of instance: String) -> SessionReference? { sessions.runner(of: instance).flatMap(sessions.reference) }

    /// Ends the session in which an instance runs; the instance greets again.
    func dismiss(_ instance: String, because reason: String) { perform(sessions.dismiss(instance, because: reason)) }

    /// Logs a line that peers cause; lines beyond an allowance are only counted.
    func logOfSessions(_ level: Logger.Level, _ message: Logger.Message, _ facts: Logger.Metadata) {
        guard logger.logLevel <= level, log.take(at: now) else { return }
        logger.log(level: level, message, metadata: facts)
    }
}

/// Reports refused messages to the owner's listeners (R17.1): the program gets the reason in its answers, its author gets it here.
struct RefusalNotices {
    /// Limits the reports about a program that sends only invalid messages; the program itself gets every answer.
    private var bucket = TokenBucket(size: 20, rate: 5, now: 0)

    /// The text to publish now; `nil` if the news is only counted.
    mutating func text(_ text: String, at now: Int64) -> String? {
        guard bucket.take(at: now) else { return nil }
        let omitted = bucket.takeRefused()
        return omitted > 0 ? "\(text) (and \(omitted) such answers before it)" : text
    }

    /// The rejected records of a batch in words; `nil` if there are none.
    static func words(_ results: [StoreResult]) -> String? {
        var (count, first) = (0, [String]())
        for (place, result) in results.enumerated() {
            guard case .rejected(let rejection) = result else { continue }
            count += 1
            if first.count < most { first.append("records[\(place)]: \(rejection.code): \(cut(rejection.reason))") }
        }
        guard count > 0 else { return nil }
        let more = count > most ? ["and \(count - most) more"] : []
        return "\(count) of \(results.count) records were rejected: \((first + more).joined(separator: "; "))"
    }

    /// An ERROR in words; `nil` if the program did not cause it.
    static func words(_ error: WireError) -> String? {
        switch error.code {
        case .helloFirst, .replaced, .store, .stopping, .busy, .internal: nil
        default: "was answered ERROR \(error.code): \(cut(error.reason))"
        }
    }

    /// Maximum number of records of a batch that are named.
    private static let most = 3
    private static func cut(_ text: String) -> String { text.count > 300 ? "\(text.prefix(300))…" : text }
}

extension Door {
    /// Publishes the rejected records of a batch, if there are any.
    func reportRejection(_ results: [StoreResult], of instance: String) {
        if let words = RefusalNotices.words(results) { tell(refused: words, of: instance) }
    }

    /// Publishes an ERROR that is sent to a session.
    func tell(_ error: WireError, to peer: RoutingID) {
        guard let client = clients[peer], let words = RefusalNotices.words(error) else { return }
        tell(refused: words, of: client.hello.instance)
    }

    private func tell(refused words: String, of instance: String) {
        guard let text = refusals.text(words, at: now) else { return }
        feeds.publish(PluginNotices(instance: instance, word: "refused", text: text, level: .info, isNotice: false))
    }
}
