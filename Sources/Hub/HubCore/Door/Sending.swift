import HubWire
import Logging
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
        parts.questions.assumeIsolated { $0.end(of: session) }
        parts.deliveries.assumeIsolated { $0.end(of: session) }
        parts.commands.assumeIsolated { $0.end(of: session) }
        parts.tokens.assumeIsolated { $0.end(of: session) }
        // Otherwise a peer that repeats HELLO could make the hub hold a window of credit each time.
        committer.drop { $0 == session }
        plugins.sessionEnded(client.hello, wasLast: sessions.runner(of: client.hello.instance) == nil)
        // The end of a replaced session is only logged for debugging, because its successor is logged.
        logOfSessions(
            reason == .replaced ? .debug : .info, "session ended",
            ["instance": "\(client.hello.instance)", "reason": "\(reason)"])
    }

    /// Logs a line that peers cause; lines beyond an allowance are only counted.
    func logOfSessions(_ level: Logger.Level, _ message: Logger.Message, _ facts: Logger.Metadata) {
        guard logger.logLevel <= level, log.take(at: now) else { return }
        logger.log(level: level, message, metadata: facts)
    }
}
