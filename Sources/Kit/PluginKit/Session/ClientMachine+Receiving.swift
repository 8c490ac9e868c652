package import HubWire

extension ClientMachine {
    /// Handles a message of the hub.
    package mutating func receive(_ message: HubMessage, at now: Int64) -> [ClientAction] {
        if case .ended = state { return [] }
        heardAt = now
        switch message {
        case .welcome(let welcome): return receive(welcome, at: now)
        case .stored(let stored): return receive(stored, at: now)
        case .ping(let body): return [send(.pong(body))]
        case .pong(let body):
            if state == .proving, body.integer(Self.proof) == Int64(openHellos) { return open(at: now) }
            if state == .open { losses = 0 }
            return []
        case .stop(let stop):
            guard state == .open, stopAt == nil else { return [] }
            if policy.outlivesHub {
                // Send nothing more; the hub answers the sent batches before it ends the session.
                (hubIsStopping, leaveAt) = (true, now + stop.deadline)
                return []
            }
            stopAt = now + stop.deadline
            return [.stop(stop)] + leaveIfDone(at: now)
        case .bye:
            if state == .leaving { return end(stopAt == nil ? .finished : .stopped) }
            return state == .open ? lose("the hub said BYE", wait: true, at: now) : []
        case .error(let error): return receive(error, at: now)
        case .want, .deliver, .result, .command, .progress, .outcome, .token:
            guard state == .open || state == .leaving else { return [] }
            losses = 0
            return [.deliver(message)]
        }
    }

    /// Handles a message of the hub that could not be decoded: it counts as a sign of life, but an unreadable WELCOME is final.
    package mutating func receive(malformed error: WireError, verb: Verb?, at now: Int64) -> [ClientAction] {
        if case .ended = state { return [] }
        heardAt = now
        switch verb {
        case .welcome?: return end(.fatal(error))
        case .stored?: return lose("a STORED that cannot be read: \(error.reason)", wait: true, at: now)
        default: return []
        }
    }

    /// The member of the PING that proves which WELCOME is the last one.
    private static let proof = "hellos"

    private mutating func receive(_ welcome: Welcome, at now: Int64) -> [ClientAction] {
        switch state {
        case .greeting:
            self.welcome = welcome
            if openHellos == 1 { return open(at: now) }
            state = .proving
            return [send(.ping(.object(Self.proof, Int64(openHellos))))]
        case .proving:
            self.welcome = welcome
            return []
        case .open, .leaving:
            // A second answer to HELLOs that began one session (R4.30).
            guard welcome.session != self.welcome?.session else { return [] }
            openHellos = 1  // This answers a HELLO that was not awaited any more, so the next WELCOME has to be proved.
            return lose("the hub began another session", wait: false, at: now)
        case .connecting, .lost, .ended: return []
        }
    }

    private mutating func receive(_ stored: Stored, at now: Int64) -> [ClientAction] {
        guard let index = outbox.index(sentAs: stored.batch) else { return [] }
        guard stored.results.count == outbox.entries[index].batch.records.count else {
            return lose(
                "STORED has \(stored.results.count) results for \(outbox.entries[index].batch.records.count) records",
                wait: true, at: now)
        }
        losses = 0
        storeFailsSince = nil
        credit = credit + stored.credit
        let ticket = outbox.remove(index).ticket
        return [.stored(ticket, stored.results)] + pump(at: now) + leaveIfDone(at: now)
    }

    private mutating func receive(_ error: WireError, at now: Int64) -> [ClientAction] {
        // About WANT or DONE: its `ref` is one of the hub's numbers, which may equal the number of one of our batches (R3.10).
        if error.want != nil, !error.closed { return other(error, at: now) }
        let isGreeting = state == .greeting || state == .proving
        // `limit` may also concern sessions or unread bytes, which are unrelated to the types.
        let isAboutTypes = error.code == .field || error.code == .limit && error.reason.hasPrefix("HELLO.declares")
        if isGreeting, error.closed, isAboutTypes {
            if outdatedHellos > 0 {
                outdatedHellos -= 1
                return []
            }
            if hasAddedTypes { return undeclare(error, at: now) }
        }
        switch error.code {
        case .helloFirst: return receiveHelloFirst(at: now)
        case .replaced, .version, .instance: return end(.fatal(error))
        case .forbidden, .field, .json, .frames, .verb, .unsupported:
            if error.closed { return end(.fatal(error)) }
            return refuse(error, at: now)
        case .store, .internal:
            guard !error.closed, let index = outbox.index(sentAs: error.ref) else { return other(error, at: now) }
            let failing = storeFailsSince ?? now
            storeFailsSince = failing
            if let patience = outbox.entries[index].batch.storePatience, now - failing >= patience {
                return refuse(error, at: now)
            }
            credit = credit + (error.credit ?? .zero)
            outbox.markWaiting(index)
            holdUntil = max(holdUntil ?? 0, now + (error.after ?? policy.storeDelay))
            return leaveIfDone(at: now)
        case .stopping:
            guard !error.closed, let index = outbox.index(sentAs: error.ref) else { return other(error, at: now) }
            credit = credit + (error.credit ?? .zero)
            outbox.markWaiting(index)
            hubIsStopping = true
            return leaveIfDone(at: now)
        default: return other(error, at: now)
        }
    }

    /// Handles `hello-first`, which also answers messages sent before HELLO and means nothing then, because answers arrive in order.
    private mutating func receiveHelloFirst(at now: Int64) -> [ClientAction] {
        switch state {
        case .open: return lose("the hub knows no session", wait: false, at: now)
        case .proving: return greet(at: now)
        case .leaving:
            if outbox.isEmpty || stopAt != nil { return end(stopAt == nil ? .finished : .stopped) }
            return lose("the hub knows no session", wait: false, at: now)
        case .connecting, .greeting, .lost, .ended: return []
        }
    }

    /// Handles the refusal of one of our messages; the hub has not spent the credit of a refused batch.
    private mutating func refuse(_ error: WireError, at now: Int64) -> [ClientAction] {
        guard let index = outbox.index(sentAs: error.ref) else { return other(error, at: now) }
        let entry = outbox.remove(index)
        credit = credit + (error.credit ?? entry.sent?.cost ?? .zero)
        return [.refused(entry.ticket, error)] + pump(at: now) + leaveIfDone(at: now)
    }

    private mutating func other(_ error: WireError, at now: Int64) -> [ClientAction] {
        if error.closed {
            switch state {
            case .greeting, .proving, .open, .leaving: return lose(error.description, wait: true, at: now)
            case .connecting, .lost, .ended: return []
            }
        }
        return state == .open || state == .leaving ? [.deliver(.error(error))] : []
    }
}
