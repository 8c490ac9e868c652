import HubSessions
import HubWire
import Logging
import Samples
import ZeroMQ

// MARK: - The gate

extension Door {
    func gateIsReady() {
        do throws(ZeroMQError) {
            var question = Multipart()
            while case .complete? = try gate?.receiveMultipart(into: &question) {
                // Only libzmq itself asks here; a REP that does not answer would hear no further question.
                guard let request = ZAPRequest(question) else {
                    logger.error("the gate was asked what is no ZAP 1.0")
                    _ = try gate?.send(Message())
                    continue
                }
                let verdict = verdict(on: request)
                if case .refuse(let reason) = verdict { noteRefusal(of: request, because: reason) }
                _ = try gate?.sendMultipart(request.reply(verdict))
            }
        } catch {
            logger.error("the gate broke", metadata: ["error": "\(error)"])
        }
    }
}

extension Door {
    private func noteRefusal(of request: ZAPRequest, because reason: String) {
        if case .plain(let name, _) = request.credentials, let instance = String(validating: name, as: UTF8.self),
            tokens.isAdmitted(instance)
        {
            // Who writes a plugin would else read, half a minute later, that it did not greet.
            ledger.logInRefused(
                instance,
                "its log-in at HUB_DOOR was refused (\(reason)): the password is the launch token, the first line of its stdin without the line's end"
            )
        } else if !request.address.isEmpty {
            logOfSessions(
                .notice, "the network: a log-in was refused",
                ["address": "\(request.address)", "reason": "\(reason)"])
        }
    }

    private func verdict(on request: ZAPRequest) -> ZAPRequest.Verdict {
        switch request.credentials {
        case .curve(let key): verdict(onKey: key, domain: request.domain)
        case .none: verdictOnNobody()
        default: tokens.verdict(on: request.credentials, domain: request.domain)
        }
    }
}

// MARK: - The door

extension Door {
    func doorIsReady() {
        let end = ContinuousClock.now + Self.longestTurn
        let (mostFrames, mostBytes) = (3 + facts.policy.limits.batchRecords, facts.largestMessage)
        var (time, bytes) = (now, 0)
        clockReads += 1
        // Out of the actor for the turn: each look at it there is checked at run time, and a message is looked at a dozen times.
        var message = Multipart()
        var lane = LiveBurst()
        swap(&message, &incoming)
        swap(&lane, &self.lane)
        defer {
            clear(&lane)
            swap(&lane, &self.lane)
            swap(&message, &incoming)
        }
        for count in 1...PollLoop.messagesPerTurn {
            do throws(ZeroMQError) {
                let outcome = try socket?.receiveMultipart(
                    into: &message, maxFrames: mostFrames, maxBytes: mostBytes)
                switch outcome {
                case .nothing, nil: return
                case .complete:
                    if takeLive(message, on: &lane, at: time) { break }
                    clear(&lane)
                    receive(message, at: time)
                case .overLimit(let frames, let bytes):
                    clear(&lane)
                    refuseOverLong(message, frames: frames, bytes: bytes)
                }
            } catch {
                logger.error("the door broke", metadata: ["error": "\(error)"])
                return
            }
            // The clock is asked every few messages, or after a large one: asking costs a tenth of a small one.
            bytes += message.byteCount
            guard count.isMultiple(of: 16) || bytes > 16_384 else { continue }
            (time, bytes) = (now, 0)
            clockReads += 1
            guard ContinuousClock.now < end else { return }
        }
    }

    /// After so long a turn ends, however many messages wait: one of a megabyte costs as much as thousands of small ones, and answers
    /// and the feed wait for the turn.
    private static let longestTurn = Duration.milliseconds(5)

    /// - Parameter now: monotonic milliseconds, of this turn.
    private func receive(_ message: borrowing Multipart, at now: Int64) {
        let peer = message.lend(0) { RoutingID($0) }
        // Whoever is known is asked first whether it comes over the endpoint that it is known from.
        if let client = clients[peer], message.property("User-Id", is: client.logIn) {
            return receive(message, from: peer, over: client.endpoint, at: now)
        }
        guard let endpoint = endpoint(of: message.property("User-Id")) else {
            return perform(
                sessions.refuse(
                    WireError(.forbidden, "this key is not valid any more, or hub.conf does not expect its instance"),
                    from: peer))
        }
        if let session = sessions[peer], session.endpoint != endpoint {
            // A routing id that came back over another endpoint: a stranger, whatever it knows.
            perform(sessions.gone(peer))
        }
        receive(message, from: peer, over: endpoint, at: now)
    }

    private func receive(
        _ message: borrowing Multipart, from peer: RoutingID, over endpoint: Endpoint, at now: Int64
    ) {
        let most = facts.policy.limits.sessions
        if sessions.count >= most - most / 16 { findGone() }  // From here on a HELLO in mode `run` is refused.
        let frames = message.count - 1
        let arrival = message.lend(1) { verb in
            message.lend(2) { body in
                sessions.receive(verb: verb, body: body, frameCount: frames, from: peer, endpoint: endpoint, at: now)
            }
        }
        switch arrival {
        case .hello(let hello): welcome(hello, peer, endpoint)
        case .samples(let session): take(message, session)
        case .actions(let actions): perform(actions)
        }
    }

    private func refuseOverLong(_ message: borrowing Multipart, frames: Int, bytes: Int) {
        let error = WireError(
            .limit,
            "a message of \(frames) frames and \(bytes) bytes; at most \(facts.policy.limits.batchRecords) payload frames and \(facts.largestMessage) bytes are read",
            closed: true)
        perform(sessions.malformed(error, from: message.lend(0) { RoutingID($0) }, at: now))
    }

    private func take(_ frames: borrowing Multipart, _ session: SessionReference) {
        let peer = session.peer
        guard let client = clients[peer] else { return }
        do throws(WireError) {
            let payloads = max(0, frames.count - 3)
            let result = frames.lend(2) { body in
                Result<SamplesMessage, WireError> { () throws(WireError) in
                    try client.decoder.samples(body, payloadFrames: payloads)
                }
            }
            let message = try result.get()
            var (bytes, largest) = (frames.lend(2, \.count), 0)
            for frame in 3..<max(3, frames.count) {
                let size = frames.lend(frame, \.count)
                (bytes, largest) = (bytes + size, max(largest, size))
            }
            let actions = sessions.batch(
                message.batch, records: message.records.count, bytes: bytes, largestPayload: largest, from: peer,
                at: now)
            for action in actions {
                if case .store(let batch) = action.action {
                    let intake = client.intake.batch(message, at: facts.clock.now()) { frames.bytes(of: 3 + $0) }
                    committer.submit(
                        Committer.Work(session: session, batch: batch, isBackfill: message.isBackfill, intake: intake))
                } else {
                    perform([action])
                }
            }
        } catch {
            perform(sessions.malformed(error, from: peer, at: now))
        }
    }
}

// MARK: - Carrying out

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
        for task in client.questions.values { task.cancel() }
        questions.drop(client.reference)
        let session = client.reference
        onDeliveries { $0.end(of: session) }
        cancelCommands(of: client.reference)
        perform(relay.ended(client.reference))
        leases.ended(client.reference)
        // Else a peer that says HELLO again and again could make the hub hold a window of credit each time.
        committer.drop { $0 == client.reference }
        ledger.sessionEnded(client.hello)
        if client.hello.mode == .run, sessions.runner(of: client.hello.instance) == nil {
            bell.sessionEnded(client.hello.instance)
            devices.lost(client.hello.instance)
        }
        // Of a replaced session its successor tells.
        logOfSessions(
            reason == .replaced ? .debug : .info, "session ended",
            ["instance": "\(client.hello.instance)", "reason": "\(reason)"])
    }

    /// Peers cause these lines: beyond an allowance they are counted only.
    func logOfSessions(_ level: Logger.Level, _ message: Logger.Message, _ facts: Logger.Metadata) {
        guard logger.logLevel <= level, sessionLog.take(at: now) else { return }
        logger.log(level: level, message, metadata: facts)
    }

    /// A ROUTER learns that a peer is gone only when it sends to it.
    ///
    /// So before a HELLO is refused because there are too many sessions, each of them is sent a PING, at most once a second.
    private func findGone() {
        guard now - probedPeersAt >= 1_000 else { return }
        probedPeersAt = now
        for peer in sessions.all.keys { send(.ping(.emptyObject), to: peer) }
    }

    /// Ends sessions that have been silent too long, once a second.
    func beat() {
        perform(sessions.tick(at: now))
        onDeliveries { $0.beat() }
        if now - toldOfOmittedAt >= 60_000 {
            toldOfOmittedAt = now
            let omitted = sessionLog.takeRefused()
            if omitted > 0 { logger.info("more sessions began or ended", metadata: ["lines": "\(omitted)"]) }
        }
        loop.schedule(after: .seconds(1)) { [weak self] in self?.assumeIsolated { $0.beat() } }
    }
}

extension Multipart {
    /// Lends a frame; no bytes for one that is not there.
    func lend<Value>(_ index: Int, _ body: (UnsafeRawBufferPointer) -> Value) -> Value {
        body(index < count ? unsafeBytes(of: index) : UnsafeRawBufferPointer(start: nil, count: 0))
    }
}
