/// One session as the hub sees it (Protocol §4.1): events in, actions out, no sockets and no clock.
///
/// | state | exits |
/// |---|---|
/// | open | BYE with nothing owed: ended (`bye`) · BYE: leaving · data beyond credit or limits: ended (`refused`) · silence: ended (`silent`) · unread bytes: ended (`unread`) · a newer session: ended (`replaced`) |
/// | leaving | the last owed answer: ended (`bye`) · silence, unread bytes, a newer session: ended |
/// | ended | none; the hub treats a later message of the peer as one of a stranger (R4.5) |
///
/// A session begins open: ``SessionTable`` handles the messages of a peer without a session. Times are monotonic milliseconds.
public struct SessionMachine: Sendable {
    public enum State: Hashable, Sendable { case open, leaving, ended }

    public private(set) var state = State.open
    public let hello: Hello
    public let endpoint: Endpoint
    /// The session's number among all sessions since the hub started.
    public let serial: UInt64
    public private(set) var window: CreditWindow
    /// Batches that are not answered, in the order they came (R5.6); a slice, because the first is answered first, and leaves it without a move of
    /// the others.
    public private(set) var batches: ArraySlice<Batch> = []
    public internal(set) var queries: [Int64] = []
    public internal(set) var commands: [Int64] = []
    /// The subscriptions that the session has asked for.
    public internal(set) var wants: Set<String> = []
    /// TOKEN and TOKEN-PUT that are not answered.
    public internal(set) var tokens: [Int64] = []
    public private(set) var passing: TokenBucket
    public private(set) var lastReceivedAt: Int64
    /// Whether only HELLO, WELCOME, PING and PONG were exchanged; if so, a repeated HELLO changes nothing (R4.30).
    private var isUntouched = true
    private var welcomedAt: Int64
    private(set) var proof: ReadingProof
    /// Set after the store failed: the client did not know of the failure when it sent messages that arrive before the PONG to this PING.
    private var failure: StoreFailure?
    private var failures: Int64 = 0
    /// Whether STOP was sent; the session gets no new work.
    public private(set) var isStopping: Bool
    let policy: SessionPolicy
    /// The owner's rights that the session has, at the plugins' endpoint.
    let rights: [String]

    /// A batch that waits for its answer.
    public struct Batch: Hashable, Sendable {
        public let number: Int64
        public let cost: Credit
    }

    private struct StoreFailure: Sendable {
        static let member = "resume"
        let error: WireError
        /// The value that the PONG must have as its `member`.
        let number: Int64
    }

    /// - Parameters:
    ///   - rights: the owner's rights that it has, by their words in WELCOME.
    ///   - credit: the credit that WELCOME grants.
    ///   - isStopping: whether the hub is already about to stop.
    ///   - proof: the peer's proof of reading from earlier sessions.
    init(
        _ hello: Hello, endpoint: Endpoint, serial: UInt64, policy: SessionPolicy, rights: [String], credit: Credit,
        isStopping: Bool, proof: ReadingProof, at now: Int64
    ) {
        (self.proof, self.rights) = (proof, rights)
        (self.hello, self.endpoint, self.serial, self.policy) = (hello, endpoint, serial, policy)
        (self.isStopping, lastReceivedAt, welcomedAt) = (isStopping, now, now)
        window = CreditWindow(credit)
        passing = TokenBucket(size: policy.limits.livePerSecond, rate: policy.limits.livePerSecond, now: now)
    }

    /// Whether the hub may still owe this session anything.
    public var isAlive: Bool { state != .ended }

    /// The meaning of a HELLO for a session that is open (R4.30).
    enum Greeting: Hashable, Sendable {
        /// The HELLO begins another session.
        case other
        /// The HELLO equals the one that began this session, and no other message has been exchanged since.
        case repeated
        /// As `repeated`, and WELCOME was sent within the last second: one of several HELLOs that were sent while the hub was away.
        case burst
    }

    func greeting(_ hello: Hello, at now: Int64) -> Greeting {
        guard isUntouched, state == .open, hello == self.hello else { return .other }
        return now < welcomedAt + Self.welcomePause ? .burst : .repeated
    }

    /// Minimum milliseconds between two WELCOMEs of one session.
    static let welcomePause: Int64 = 1_000

    /// Notes that the HELLO that began the session came again; the caller sends WELCOME again unless the HELLO is one of a burst.
    mutating func heard(_ greeting: Greeting, at now: Int64) {
        lastReceivedAt = now
        if greeting == .repeated { welcomedAt = now }
    }

    /// Notes that a message has come in that is not read yet.
    mutating func heard(at now: Int64) { lastReceivedAt = now }

    /// Handles a message that could not be read; the session goes on (§3).
    mutating func receive(malformed error: WireError, at now: Int64) -> [SessionAction] {
        (lastReceivedAt, isUntouched) = (now, false)
        return refuse(error)
    }

    /// Handles a message other than HELLO and SAMPLES.
    mutating func receive(_ message: ClientMessage, at now: Int64) -> [SessionAction] {
        lastReceivedAt = now
        switch message {
        case .pong(let body):
            proof.prove(body)
            if let failure, body.integer(StoreFailure.member) == failure.number { self.failure = nil }
            return []
        case .ping: break
        default: isUntouched = false
        }
        guard state == .open else { return [.reply(.error(SessionTable.helloFirst))] }
        switch message {
        case .hello, .samples, .pong: return []
        case .ping(let body): return [.reply(.pong(body))]
        case .bye:
            state = .leaving
            return endIfNothingOutstanding()
        case .live, .event: return passing.take(at: now) ? [.admit(message)] : []
        case .query(let query): return receive(query)
        case .command(let command): return receive(command)
        case .token(let request): return receive(message, of: request.id)
        case .tokenPut(let put): return receive(message, of: put.id)
        case .want(let want): return receive(want)
        case .done(let report): return receive(report)
        case .progress, .outcome: return [.admit(message)]
        }
    }

    /// Takes back the allowance that was lent; the caller took LIVE messages from it until `now`.
    mutating func returnPassingAllowance(_ allowance: TokenBucket, at now: Int64) {
        passing = allowance
        (lastReceivedAt, isUntouched) = (now, false)
    }

    /// Handles a SAMPLES message that was read.
    /// - Parameters:
    ///   - bytes: bytes of all its frames after the verb.
    ///   - largestPayload: bytes of its largest payload frame.
    mutating func receiveBatch(
        _ number: Int64, records: Int, bytes: Int, largestPayload: Int, at now: Int64
    ) -> [SessionAction] {
        (lastReceivedAt, isUntouched) = (now, false)
        guard state == .open else { return [.reply(.error(SessionTable.helloFirst))] }
        let cost = Credit(records: records, bytes: bytes)
        let limits = policy.limits
        if records > limits.batchRecords {
            return refuse(
                WireError(
                    .limit, "SAMPLES.records: at most \(limits.batchRecords) records in a batch, found \(records)",
                    ref: number))
        }
        if largestPayload > limits.payloadBytes {
            return refuse(
                WireError(
                    .limit, "SAMPLES: at most \(limits.payloadBytes) bytes in a payload frame, found \(largestPayload)",
                    ref: number))
        }
        if isStopping {
            return refuse(WireError(.stopping, "the hub is stopping; keep the records", ref: number, credit: cost))
        }
        if let reason = policy.recordsRefusal {
            return refuse(WireError(.store, reason, ref: number, credit: cost))
        }
        if var error = failure?.error {
            (error.ref, error.credit) = (number, cost)
            return refuse(error)
        }
        guard window.spend(cost) else {
            let left = window.available
            return refuse(
                WireError(
                    .credit,
                    "SAMPLES: the batch costs \(records) records and \(bytes) bytes, the credit left is \(left.records) and \(left.bytes)",
                    ref: number))
        }
        batches.append(Batch(number: number, cost: cost))
        return [.store(batch: number)]
    }

    /// Answers a request with STORED, RESULT, OUTCOME, or an ERROR instead of one of them.
    ///
    /// Fills in the credit of STORED. An ERROR to a batch also refuses all later batches of the session, including those that the client
    /// sent before it could know. If one of them were stored first, an older version could come after a newer one (R5.6).
    /// An OUTCOME `ask` keeps its command open.
    /// - Returns: nothing if the session does not wait for that answer; then it must not be sent.
    mutating func answer(
        _ message: HubMessage, to request: SessionRequest, withholding: Credit = .zero
    ) -> [SessionAction] {
        guard isAlive else { return [] }
        switch request {
        case .batch(let number):
            guard let index = batches.firstIndex(where: { $0.number == number }) else { return [] }
            if case .error(let error) = message { return fail(batchesFrom: index, error) }
            guard case .stored(var stored) = message else { return [] }
            let batch = index == batches.startIndex ? batches.removeFirst() : batches.remove(at: index)
            stored.credit = window.answer(batch.cost, withholding: withholding)
            return [.reply(.stored(stored))] + endIfNothingOutstanding()
        case .query(let id):
            guard let index = queries.firstIndex(of: id) else { return [] }
            queries.remove(at: index)
        case .command(let id):
            guard let index = commands.firstIndex(of: id) else { return [] }
            if case .outcome(let outcome) = message, case .ask = outcome.content { break }
            commands.remove(at: index)
        case .token(let id):
            guard let index = tokens.firstIndex(of: id) else { return [] }
            tokens.remove(at: index)
        }
        return [.reply(message)] + endIfNothingOutstanding()
    }

    private mutating func fail(batchesFrom index: Int, _ error: WireError) -> [SessionAction] {
        var actions: [SessionAction] = []
        for batch in batches[index...] {
            var error = error
            (error.ref, error.credit) = (batch.number, window.answer(batch.cost))
            actions.append(.reply(.error(error)))
        }
        batches.removeSubrange(index...)
        failures += 1
        failure = StoreFailure(error: error, number: failures)
        return actions + [.reply(.ping(.object(StoreFailure.member, failures)))] + endIfNothingOutstanding()
    }

    /// Counts the bytes of all frames of a message that was sent to the peer.
    mutating func sent(_ bytes: Int, of verb: Verb) -> [SessionAction] {
        guard isAlive else { return [] }
        switch verb {
        case .welcome, .ping, .pong, .error: break
        default: isUntouched = false
        }
        let ping = proof.count(bytes)
        if proof.isExhausted { return end(.unread) }
        return ping.map { [.reply(.ping($0))] } ?? []
    }

    /// Notes that the hub is about to stop: sends STOP, and refuses new batches from now on.
    mutating func stop(_ stop: Stop) -> [SessionAction] {
        isStopping = true
        return state == .open ? [.reply(.stop(stop))] : []
    }

    /// Handles the passing of time.
    mutating func tick(at now: Int64) -> [SessionAction] {
        guard isAlive, now >= silenceLimitAt else { return [] }
        return end(.silent)
    }

    /// When the session ends if nothing is heard until then.
    public var silenceLimitAt: Int64 { lastReceivedAt + policy.heartbeat.timeout }

    /// Ends the session so that the peer greets again, because the contents of WELCOME no longer hold.
    mutating func dismiss(_ reason: String) -> [SessionAction] {
        guard isAlive else { return [] }
        let error = WireError(
            .helloFirst, "\(reason): send HELLO again, then resend the records that were not STORED", closed: true)
        return [.reply(.error(error))] + end(.refused(.helloFirst))
    }

    /// Ends the session of a peer that is no longer allowed to connect.
    mutating func expel(_ reason: String) -> [SessionAction] {
        guard isAlive else { return [] }
        return [.reply(.error(WireError(.forbidden, reason, closed: true)))] + end(.refused(.forbidden))
    }

    /// Ends this session because a newer one takes its place.
    mutating func replace() -> [SessionAction] {
        guard isAlive else { return [] }
        let error = WireError(.replaced, "a newer session of instance \(hello.instance) has begun")
        return [.reply(.error(error))] + end(.replaced)
    }

    mutating func end(_ reason: SessionEnd) -> [SessionAction] {
        state = .ended
        return [.end(reason)]
    }

    mutating func refuse(_ error: WireError) -> [SessionAction] {
        guard error.closed else { return [.reply(.error(error))] }
        return [.reply(.error(error))] + end(.refused(error.code))
    }

    private mutating func endIfNothingOutstanding() -> [SessionAction] {
        guard state == .leaving, batches.isEmpty, queries.isEmpty, commands.isEmpty, tokens.isEmpty else { return [] }
        return [.reply(.bye(Bye()))] + end(.bye)
    }
}
