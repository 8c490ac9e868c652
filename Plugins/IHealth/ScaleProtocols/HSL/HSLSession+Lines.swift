import JSON
import Platform

extension HSLSession {
    mutating func send(_ message: HSLMessage, at now: ScaleMoment, _ actions: inout [Action]) {
        actions.append(.send(message.bytes))
    }

    func warn(_ device: HSLDeviceID?, _ text: String, _ actions: inout [Action]) {
        actions.append(.event(.protocolWarning(.other(text)), of: device))
    }

    mutating func receive(_ bytes: [UInt8], at now: ScaleMoment, _ actions: inout [Action]) {
        for line in lines.append(bytes) {
            guard phase == .greeting || phase == .open else { return }
            do throws(HSLMessageError) {
                try take(try HSLMessage(line: line), at: now, &actions)
                complaints = 0
            } catch {
                complain(error, at: now, &actions)
            }
        }
        if lines.isOverlong {
            close(HSLMessageError(.lineTooLong, "a line has at most \(HSLLines.limit) bytes"), at: now, &actions)
        }
    }

    private mutating func complain(_ complaint: HSLMessageError, at now: ScaleMoment, _ actions: inout [Action]) {
        complaints += 1
        let isFatal =
            phase == .greeting && peer == nil || complaint.known == .authFailed || complaints > Self.complaintLimit
        guard !isFatal else { return close(complaint, at: now, &actions) }
        send(.error(complaint), at: now, &actions)
        warn(nil, "a line was refused: \(complaint.code), \(complaint.text)", &actions)
    }

    private mutating func take(
        _ message: HSLMessage, at now: ScaleMoment, _ actions: inout [Action]
    ) throws(HSLMessageError) {
        (pongBy, pingAt) = (nil, phase == .open ? now.uptime + settings.pingAfter : nil)
        switch (message, phase) {
        case (.ping(let mark), _): send(.pong(mark), at: now, &actions)
        case (.pong, _): break
        case (.bye, _): close(nil, at: now, &actions)
        case (.error(let complaint), _): complained(complaint, at: now, &actions)
        case (.hello(let hello), .greeting) where peer == nil: try greet(hello, at: now, &actions)
        case (.auth(let proof), .greeting) where !isProven: try prove(proof, at: now, &actions)
        // A device that has a token may prove it even if this side has none.
        case (.auth, .open) where settings.token == nil: break
        case (.event(let event), .open): take(event, at: now, &actions)
        case (.result(let result), .open): take(result, at: now, &actions)
        default: throw HSLMessageError(.badMessage, "this message does not belong here")
        }
    }

    private mutating func greet(
        _ hello: HSLHello, at now: ScaleMoment, _ actions: inout [Action]
    ) throws(HSLMessageError) {
        guard hello.role == .device else { throw HSLMessageError(.badMessage, "role: both sides are connectors") }
        peer = hello
        if settings.token == nil { admit(at: now, &actions) }
    }

    private mutating func prove(
        _ proof: String, at now: ScaleMoment, _ actions: inout [Action]
    ) throws(HSLMessageError) {
        guard let token = settings.token, let peer else { return }
        guard refusals.isAttemptAllowed(caller, at: now.uptime) else {
            throw HSLMessageError(.authFailed, "five wrong proofs in a minute; wait")
        }
        guard token.accepts(proof, connector: nonce, device: peer.nonce) else {
            refusals.note(caller, at: now.uptime)
            throw HSLMessageError(.authFailed, "the proof is not that of the token")
        }
        admit(at: now, &actions)
    }

    private mutating func admit(at now: ScaleMoment, _ actions: inout [Action]) {
        guard isGuest else { return welcome(at: now, &actions) }
        (isProven, helloBy) = (true, nil)
    }

    /// Continues in this session with the greeting of a guest.
    mutating func takeOver(_ greeting: HSLGreeting, at now: ScaleMoment, _ actions: inout [Action]) {
        connections += 1
        (nonce, peer, lines) = (greeting.nonce, greeting.hello, greeting.lines)
        (phase, complaints) = (.greeting, 0)
        welcome(at: now, &actions)
    }

    private mutating func welcome(at now: ScaleMoment, _ actions: inout [Action]) {
        if let peer {
            family = peer.family
            if !peer.models.isEmpty, !peer.models.contains(settings.model) {
                warn(nil, "the other side has no \(settings.model.rawValue)", &actions)
            }
        }
        (phase, helloBy, pingAt) = (.open, nil, now.uptime + settings.pingAfter)
        let random = Array(Digests.authenticate(Array("session \(connections)".utf8), key: seed).prefix(16)).hexadecimal
        let parts = [(0, 8), (8, 12), (12, 16), (16, 20), (20, 32)].map { (start, end) in
            String(random.dropFirst(start).prefix(end - start))
        }
        let resume = scales.compactMapValues(\.lastAcknowledged)
        send(.welcome(session: parts.joined(separator: "-"), resumeFrom: resume), at: now, &actions)
        listing = (nextRequest, now.uptime + settings.resultTimeout)
        send(
            .request(HSLRequest(id: nextRequest, device: nil, operation: .listDevices, arguments: [:])), at: now,
            &actions)
        nextRequest += 1
    }
}
