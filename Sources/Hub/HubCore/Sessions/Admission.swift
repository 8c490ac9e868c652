import HubWire

/// Passes the admitted messages of sessions to the parts that act on them.
extension Door {
    func admit(_ message: ClientMessage, from peer: RoutingID) {
        guard let client = clients[peer] else { return }
        let session = client.session
        switch message {
        case .live(let live): pass(live, of: client)
        case .event(let event): pass(mask(of: session).hiding(event), of: client)
        case .want(let request):
            let names = FilterNames("WANT", session, facts)
            parts.deliveries.assumeIsolated { $0.open(request, names, for: session) }
        case .done(let report):
            let report = mask(of: session).hiding(report)
            parts.deliveries.assumeIsolated { $0.take(report, from: session) }
        case .query(let query): parts.questions.assumeIsolated { $0.answer(query, for: session) }
        case .command(let command): parts.commands.assumeIsolated { $0.carryOut(command, for: session) }
        case .progress(let progress):
            let progress = mask(of: session).hiding(progress)
            parts.commands.assumeIsolated { $0.relay(progress, from: session) }
        case .outcome(let outcome):
            let outcome = mask(of: session).hiding(outcome)
            parts.commands.assumeIsolated { $0.relay(outcome, from: session) }
        case .token(let request):
            let request = mask(of: session).hiding(request)
            parts.tokens.assumeIsolated { $0.answer(request, for: session) }
        case .tokenPut(let put): parts.tokens.assumeIsolated { $0.store(put, for: session) }
        case .hello, .samples, .ping, .pong, .bye:
            break  // The session machine admits none of these: it answers or rejects them.
        }
    }

    private func mask(of session: ClientSession) -> SecretMask {
        parts.tokens.assumeIsolated { $0.mask(of: session.instance) }
    }
}
