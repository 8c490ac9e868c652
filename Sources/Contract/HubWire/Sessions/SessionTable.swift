/// Names a session that may be over when it is looked up again, for example after a commit.
public struct SessionReference: Hashable, Sendable {
    public let peer: RoutingID
    /// Distinguishes it from earlier and later sessions of the same peer.
    public let serial: UInt64

    package init(peer: RoutingID, serial: UInt64) {
        (self.peer, self.serial) = (peer, serial)
    }
}

/// An action of the hub, with the peer that it concerns.
public struct PeerAction: Hashable, Sendable {
    public let peer: RoutingID
    public let action: SessionAction
}

/// Classification of a message that came in.
public enum Arrival: Hashable, Sendable {
    /// An acceptable HELLO: check it against configuration, grants and registry, then call `open` or `refuse`.
    case hello(Hello)
    /// A HELLO that found no room: carry out these actions, which find sessions whose peer is gone, and pass the message in again (R4.7).
    case full([PeerAction])
    /// A batch in an open session: read its body with the record codec, then call `batch` or `malformed`.
    case samples(SessionReference)
    /// A message that was handled: carry out these actions.
    case actions([PeerAction])
}

/// All sessions of a hub: which peer has one, which instance runs where (Protocol §4.1).
///
/// A value without sockets and clock: events in, actions out. Times are monotonic milliseconds. Each call costs one look-up.
public struct SessionTable: Sendable {
    public let policy: SessionPolicy
    private var sessions: [RoutingID: SessionMachine] = [:]
    /// The sessions in mode `run`, by instance.
    private var runners: [String: RoutingID] = [:]
    private var lastSerial: UInt64 = 0
    private var budget = CreditBudget()
    private var isStopping = false
    /// The unread bytes of peers without a session.
    private var unread = UnreadPeers()
    /// Dropped messages that no open session counts: LIVE and EVENT beyond the allowance in ended sessions, and LIVE with impossible contents.
    private var droppedBefore: Int64 = 0
    private var probedAt: Int64 = -1_000

    public init(policy: SessionPolicy = SessionPolicy()) { self.policy = policy }

    /// The error for a peer without a session, whatever it sends (R4.1).
    public static let helloFirst = WireError(
        .helloFirst, "no session: send HELLO first, then resend the records that were not STORED")

    /// The same for a message whose first frame is known: it points out a misspelt HELLO, or the empty frame of a REQ socket.
    private static func helloFirst(insteadOf verb: UnsafeRawBufferPointer) -> WireError {
        let found =
            verb.isEmpty
            ? "an empty first frame, as a REQ socket sends it (use a DEALER)" : "\(printable(verb))"
        return WireError(
            .helloFirst,
            "no session: expected HELLO, found \(found); send HELLO first, then resend the records that were not STORED"
        )
    }

    public var count: Int { sessions.count }
    /// Maximum bytes of credit for all open sessions together; `nil` for no bound.
    ///
    /// A lower value takes nothing away from open sessions (R4.15).
    public var totalCredit: Int? {
        get { budget.total }
        set { budget.total = newValue }
    }
    /// Bytes of credit granted to open sessions.
    public var grantedCredit: Int { budget.granted }
    /// Every session, by peer.
    public var all: [RoutingID: SessionMachine] { sessions }
    /// The session of a peer.
    public subscript(peer: RoutingID) -> SessionMachine? { sessions[peer] }
    /// The session, if it is not over.
    public subscript(reference: SessionReference) -> SessionMachine? {
        guard let session = sessions[reference.peer], session.serial == reference.serial else { return nil }
        return session
    }
    /// The reference to a peer's session, for looking it up again later.
    public func reference(to peer: RoutingID) -> SessionReference? {
        sessions[peer].map { SessionReference(peer: peer, serial: $0.serial) }
    }
    /// The number of LIVE and EVENT messages beyond the allowance, of all sessions since the start (R5.8).
    public var dropped: Int64 { sessions.values.reduce(droppedBefore) { $0 + Int64($1.passing.refused) } }
    /// Counts a LIVE that was within the allowance but was not published.
    public mutating func noteDropped() { droppedBefore += 1 }
    /// The peer whose session runs an instance.
    public func runner(of instance: String) -> RoutingID? { runners[instance] }
}

// MARK: - Messages of peers

extension SessionTable {
    /// Handles a message that has come in.
    ///
    /// - Parameters:
    ///   - verb: the first frame.
    ///   - body: the second frame; empty when there is none.
    ///   - frameCount: all frames, without the routing id.
    public mutating func receive(
        verb: UnsafeRawBufferPointer, body: UnsafeRawBufferPointer, frameCount: Int, from peer: RoutingID,
        endpoint: Endpoint, at now: Int64
    ) -> Arrival {
        let isHello = Verb(verb) == .hello
        guard isHello || sessions[peer] != nil else {
            guard Verb(verb) != .pong else {
                unread.prove(RawJSON(trusted: Array(body)), by: peer)
                return .actions([])
            }
            return .actions([reply(Self.helloFirst(insteadOf: verb), to: peer)])
        }
        do throws(WireError) {
            let verb = try ClientMessage.verb(verb, frameCount: frameCount, serving: policy.serves)
            if verb == .samples, let session = reference(to: peer) { return .samples(session) }
            if verb == .live || verb == .event, body.count > policy.limits.passingBytes {
                throw WireError(
                    .limit, "\(verb.rawValue): at most \(policy.limits.passingBytes) bytes, found \(body.count)",
                    closed: false)
            }
            let message = try ClientMessage(verb: verb, body: body)
            if case .hello(let hello) = message {
                do throws(WireError) { try judge(hello, from: peer, endpoint: endpoint) } catch {
                    guard error.code == .limit, let probes = probe(at: now) else { throw error }
                    return .full(probes)
                }
                guard sessions[peer]?.greeting(hello, at: now) == .burst else { return .hello(hello) }
                sessions[peer]?.heard(.burst, at: now)
                return .actions([])
            }
            return .actions(act(on: peer) { $0.receive(message, at: now) })
        } catch {
            if isHello { return .actions(refuse(error, from: peer)) }
            return .actions(malformed(error, from: peer, at: now))
        }
    }

    /// Lends a session's allowance to a caller that handles many well-formed LIVE messages of the session in a row.
    ///
    /// The caller must return it by ``returnPassingAllowance(_:from:at:)`` before any other call to the table.
    /// - Returns: `nil` if the session does not accept any; `receive` answers such messages.
    public func takePassingAllowance(of peer: RoutingID) -> TokenBucket? {
        guard let session = sessions[peer], session.state == .open else { return nil }
        return session.passing
    }

    /// - Parameter now: when the last of those messages came.
    public mutating func returnPassingAllowance(_ allowance: TokenBucket, from peer: RoutingID, at now: Int64) {
        sessions[peer]?.returnPassingAllowance(allowance, at: now)
    }

    /// Handles the body of a batch that `receive` announced, once it has been read.
    /// - Parameters:
    ///   - bytes: bytes of all frames after the verb.
    ///   - largestPayload: bytes of the largest payload frame, 0 if there is none.
    public mutating func batch(
        _ number: Int64, records: Int, bytes: Int, largestPayload: Int = 0, from peer: RoutingID, at now: Int64
    ) -> [PeerAction] {
        act(on: peer) {
            $0.receiveBatch(number, records: records, bytes: bytes, largestPayload: largestPayload, at: now)
        }
    }

    /// Handles a message that could not be read; no other peer is affected (R3.6).
    public mutating func malformed(_ error: WireError, from peer: RoutingID, at now: Int64) -> [PeerAction] {
        guard sessions[peer] != nil else { return [reply(Self.helloFirst, to: peer)] }
        return act(on: peer) { $0.receive(malformed: error, at: now) }
    }

    /// Notes that a message of a peer has come in that is not read yet.
    public mutating func heard(_ peer: RoutingID, at now: Int64) {
        sessions[peer]?.heard(at: now)
    }

    /// The peer's session, if an acceptable HELLO equals the one that began it and no other message was exchanged since (R4.30).
    ///
    /// The caller sends its WELCOME again instead of calling `open`.
    public mutating func repeated(_ hello: Hello, from peer: RoutingID, at now: Int64) -> SessionReference? {
        guard sessions[peer]?.greeting(hello, at: now) == .repeated else { return nil }
        sessions[peer]?.heard(.repeated, at: now)
        return reference(to: peer)
    }

    /// Begins the session of a HELLO that the hub accepts; ends the sessions that it replaces (R4.3).
    /// - Parameter rights: the owner's rights that it has, by their words in WELCOME.
    /// - Returns: the session, and the actions to carry out before WELCOME is sent.
    public mutating func open(
        _ hello: Hello, from peer: RoutingID, endpoint: Endpoint, rights: [String] = [], at now: Int64
    ) -> (session: SessionReference, actions: [PeerAction]) {
        var actions = sessions[peer] == nil ? [] : act(on: peer) { $0.end(.replaced) }
        if hello.mode == .run {
            if let older = runners[hello.instance] { actions += act(on: older) { $0.replace() } }
            runners[hello.instance] = peer
        }
        lastSerial += 1
        // `judge` has checked that enough credit is left, or that a session ends to make room for this one.
        let credit = budget.grant(upTo: policy.credit, keeping: keptCredit(hello, endpoint))
        sessions[peer] = SessionMachine(
            hello, endpoint: endpoint, serial: lastSerial, policy: policy, rights: rights,
            credit: credit ?? budget.grantMinimum(upTo: policy.credit),
            isStopping: isStopping, proof: unread.take(peer) ?? ReadingProof(), at: now)
        return (SessionReference(peer: peer, serial: lastSerial), actions)
    }

    /// Refuses a HELLO: the peer has no session from now on.
    public mutating func refuse(_ error: WireError, from peer: RoutingID) -> [PeerAction] {
        var error = error
        error.closed = true
        let ended = sessions[peer] == nil ? [] : act(on: peer) { $0.end(.refused(error.code)) }
        return [reply(error, to: peer)] + ended
    }

    /// Kept free so that a script that leaks sessions locks out neither the hub's own plugins nor an owner who looks for the cause.
    private var keptSessions: Int { policy.limits.sessions / 16 }

    private func isKeptFor(_ hello: Hello, _ endpoint: Endpoint) -> Bool {
        switch endpoint {
        case .owner: hello.mode != .run
        case .plugin: true
        case .remote: false
        }
    }

    /// Bytes of credit that a session must leave to sessions with reserved room.
    private func keptCredit(_ hello: Hello, _ endpoint: Endpoint) -> Int {
        isKeptFor(hello, endpoint) ? 0 : min(keptSessions * CreditBudget.least.bytes, (budget.total ?? 0) / 4)
    }

    private func judge(_ hello: Hello, from peer: RoutingID, endpoint: Endpoint) throws(WireError) {
        if let user = endpoint.user, user != hello.instance {
            throw WireError(.forbidden, "HELLO.instance: this log-in is of instance \(user)", closed: true)
        }
        guard !unread.isExhausted(peer) else {
            throw WireError(
                .limit,
                "HELLO: \(ReadingProof.bound) bytes that the hub has sent are unread; read them, answer its PINGs, and send HELLO again"
            )
        }
        let makesRoom = sessions[peer] != nil || hello.mode == .run && runners[hello.instance] != nil
        guard sessions.count < policy.limits.sessions - (isKeptFor(hello, endpoint) ? 0 : keptSessions) || makesRoom
        else {
            throw WireError(
                .limit, "HELLO: the hub has \(sessions.count) sessions, which is its limit; try again later")
        }
        guard makesRoom || budget.offer(upTo: policy.credit, keeping: keptCredit(hello, endpoint)) != nil else {
            throw WireError(
                .limit,
                "HELLO: the sessions of the hub have \(budget.granted) bytes of credit, and half of memory_limit is \(budget.total ?? 0); end some, or raise memory_limit"
            )
        }
        // The holder of one stolen key must not lock out the other machines either.
        guard case .remote = endpoint, !makesRoom else { return }
        let most = max(1, keptSessions)
        guard sessions.count(where: { $0.value.endpoint.isRemote && $0.value.hello.instance == hello.instance }) < most
        else {
            throw WireError(
                .limit, "HELLO: \(hello.instance) has \(most) sessions over the network, which is its limit; end one")
        }
    }
}

// MARK: - Events of the hub

extension SessionTable {
    /// Answers a request of a session; see ``SessionMachine``.
    /// - Returns: nothing if the session is over or does not wait for the answer; then it must not be sent.
    public mutating func answer(
        _ message: HubMessage, to request: SessionRequest, in session: SessionReference, withholding: Credit = .zero
    ) -> [PeerAction] {
        guard self[session] != nil else { return [] }
        return act(on: session.peer) { $0.answer(message, to: request, withholding: withholding) }
    }

    /// Counts the bytes of all frames sent to a peer; may ask for a PING or end the session (R4.20).
    public mutating func sent(_ bytes: Int, of verb: Verb, to peer: RoutingID) -> [PeerAction] {
        act(on: peer) { $0.sent(bytes, of: verb) }
    }

    /// Ends the session of a peer that the transport cannot reach any more.
    public mutating func gone(_ peer: RoutingID) -> [PeerAction] {
        sessions[peer] == nil ? [] : act(on: peer) { $0.end(.gone) }
    }

    /// Asks every session to finish, and refuses batches from now on.
    public mutating func stop(_ stop: Stop) -> [PeerAction] {
        isStopping = true
        return sessions.keys.flatMap { peer in act(on: peer) { $0.stop(stop) } }
    }

    /// Asks the sessions of one instance to finish, and refuses their batches from now on.
    public mutating func stop(_ stop: Stop, instance: String) -> [PeerAction] {
        let peers = sessions.filter { $0.value.hello.instance == instance }.map(\.key)
        return peers.flatMap { peer in act(on: peer) { $0.stop(stop) } }
    }

    /// Ends the session in which an instance runs; the instance greets again and resends records without a STORED (R4.22).
    public mutating func dismiss(_ instance: String, because reason: String) -> [PeerAction] {
        runners[instance].map { peer in act(on: peer) { $0.dismiss(reason) } } ?? []
    }

    /// Ends the session of a peer, which greets again (R4.22).
    public mutating func dismiss(_ peer: RoutingID, because reason: String) -> [PeerAction] {
        sessions[peer] == nil ? [] : act(on: peer) { $0.dismiss(reason) }
    }

    /// Ends all network sessions of one instance, because the grants in their WELCOME no longer hold (R4.22).
    public mutating func dismissRemote(_ instance: String, because reason: String) -> [PeerAction] {
        remotePeers(of: instance).flatMap { peer in act(on: peer) { $0.dismiss(reason) } }
    }

    /// Ends all network sessions of one instance whose key is no longer valid (R4.24).
    public mutating func expel(_ instance: String, because reason: String) -> [PeerAction] {
        remotePeers(of: instance).flatMap { peer in act(on: peer) { $0.expel(reason) } }
    }

    private func remotePeers(of instance: String) -> [RoutingID] {
        sessions.filter { $0.value.endpoint.isRemote && $0.value.hello.instance == instance }.map(\.key)
    }

    /// Returns a PING for each session, at most once a second.
    ///
    /// A ROUTER learns that a peer is gone only when it sends to it, so the table pings before it refuses a HELLO for lack of room.
    private mutating func probe(at now: Int64) -> [PeerAction]? {
        guard now - probedAt >= 1_000 else { return nil }
        probedAt = now
        return sessions.keys.map { PeerAction(peer: $0, action: .reply(.ping(.emptyObject))) }
    }

    /// Ends the sessions that have been silent too long (R4.6).
    public mutating func tick(at now: Int64) -> [PeerAction] {
        let silent = sessions.filter { now >= $0.value.silenceLimitAt }.keys
        return silent.flatMap { peer in act(on: peer) { $0.tick(at: now) } }
    }

    /// When `tick` has something to do next, if nothing is heard until then.
    public var nextDeadline: Int64? { sessions.values.map(\.silenceLimitAt).min() }
}

extension SessionTable {
    private func reply(_ error: WireError, to peer: RoutingID) -> PeerAction {
        PeerAction(peer: peer, action: .reply(.error(error)))
    }

    private mutating func act(
        on peer: RoutingID, _ event: (inout SessionMachine) -> [SessionAction]
    ) -> [PeerAction] {
        guard let index = sessions.index(forKey: peer) else { return [] }
        let actions = event(&sessions.values[index])
        // A machine is large, so it is copied only when it ends.
        if !sessions.values[index].isAlive {
            let session = sessions.remove(at: index).value
            budget.take(back: session.window.window)
            droppedBefore += Int64(session.passing.refused)
            unread.keep(session.proof, of: peer)
            if runners[session.hello.instance] == peer { runners[session.hello.instance] = nil }
        }
        return actions.map { PeerAction(peer: peer, action: $0) }
    }
}
