package import HubWire

/// The dialogue as a client leads it (Protocol §4, §5.1): events in, actions out, no sockets and no clock.
///
/// | state | exits |
/// |---|---|
/// | connecting | `start`: greeting |
/// | greeting | WELCOME to the only HELLO: open · WELCOME to one of several: proving · silence: greeting, HELLO again · a refusal: ended, or lost |
/// | proving | PONG to its PING: open · silence or `hello-first`: greeting |
/// | open | `hello-first`, silence: greeting · ERROR closed, an unexpected WELCOME: lost · `replaced` and other final refusals: ended · all answered after `finish`: leaving |
/// | lost | the wait is over: greeting |
/// | leaving | BYE, or silence: ended |
/// | ended | none |
///
/// *Proving*: libzmq keeps what is sent while no hub is there, so that several HELLOs may be answered; those that differ, each with a
/// new session. The answer to a PING sent after the last HELLO shows that the last of these WELCOMEs has arrived.
///
/// A batch leaves the machine as `stored` or `refused`, once; until then it is sent again in each new session, in order (R4.2),
/// under a new number. Times are monotonic milliseconds.
package struct ClientMachine: Sendable {
    package enum State: Hashable, Sendable {
        case connecting, greeting, proving, open, lost, leaving
        case ended(ClientEnd)
    }

    package internal(set) var state = State.connecting
    /// What it greets with: the program's own words, and the types of ``declare(_:at:)``.
    package private(set) var hello: Hello
    /// The program's own.
    private let ownTypes: [TypeDeclaration]
    /// Types of ``declare(_:at:)`` that a hub has taken, in the order in which they came.
    package private(set) var addedTypes: [TypeDeclaration] = []
    /// Those that no hub has judged yet.
    package private(set) var offeredTypes: [TypeDeclaration] = []
    package let policy: ClientPolicy
    /// Of the session that is open or was last.
    package internal(set) var welcome: Welcome?
    /// What may still be sent.
    package internal(set) var credit = Credit.zero
    var outbox = ClientOutbox()
    var lastNumber: Int64 = 0
    var lastTicket: Int64 = 0
    /// HELLOs that may still be answered.
    var openHellos = 0
    /// Those of them with types that the hub has refused already: it may refuse each of them.
    var outdatedHellos = 0
    var helloRepeats = 0
    /// Sessions lost since the hub last did something useful.
    var losses = 0
    var heardAt: Int64 = 0
    var pingedAt: Int64 = 0
    /// Greeting, proving, lost, leaving: when to go on without an answer.
    var deadline: Int64 = 0
    /// Set after the store could not commit: nothing is sent before this time, and before all that was sent is answered, so that
    /// the batches keep their order.
    var holdUntil: Int64?
    /// Since when the hub could not commit; `nil` after each STORED.
    var storeFailsSince: Int64?
    var stopAt: Int64?
    var hubIsStopping = false
    /// When a session whose hub has said STOP is over for a client that waits for the next hub.
    var leaveAt: Int64?
    var isFinishing = false

    package init(hello: Hello, policy: ClientPolicy = ClientPolicy()) {
        (self.hello, self.policy, ownTypes) = (hello, policy, hello.declares)
    }

    package var isOpen: Bool { state == .open }

    /// Batches that are not answered, whether sent or not.
    package var queuedBatches: Int { outbox.entries.count }

    /// A new number for a QUERY, COMMAND or TOKEN.
    ///
    /// Batches draw from the same numbers, so that `ref` of an ERROR is unambiguous.
    package mutating func nextNumber() -> Int64 {
        lastNumber += 1
        return lastNumber
    }

    /// Begins: says HELLO.
    ///
    /// libzmq keeps it until there is a hub.
    package mutating func start(at now: Int64) -> [ClientAction] {
        guard state == .connecting else { return [] }
        return greet(at: now)
    }

    /// Adds types to those that HELLO declares, and greets again where a hub was greeted without them (R4.27).
    ///
    /// What is not answered is sent again in the new session. A hub that refuses them is greeted without: `undeclared`.
    package mutating func declare(_ types: [TypeDeclaration], at now: Int64) -> [ClientAction] {
        let known = Set((ownTypes + addedTypes + offeredTypes).map(\.id))
        let new = types.filter { !known.contains($0.id) }
        guard !new.isEmpty else { return [] }
        offeredTypes += new
        composeHello()
        switch state {
        case .greeting, .proving: return greet(at: now)
        case .open:
            forgetSession()
            return [.lost("the plugin begins a new session, to declare types")] + greet(at: now)
        case .connecting, .lost, .leaving, .ended: return []
        }
    }

    /// The hub refuses a HELLO with added types: without the newest of them, or without any.
    mutating func undeclare(_ error: WireError, at now: Int64) -> [ClientAction] {
        if offeredTypes.isEmpty { addedTypes = [] } else { offeredTypes = [] }
        composeHello()
        // That HELLO is answered; others like it may be on their way.
        openHellos = max(0, openHellos - 1)
        outdatedHellos = openHellos
        return [.undeclared(error)] + greet(at: now)
    }

    /// Whether a hub has taken all of them.
    func hasDeclared(_ types: [TypeDeclaration]) -> Bool {
        let known = Set(hello.declares.map(\.id))
        return offeredTypes.isEmpty && types.allSatisfy { known.contains($0.id) }
    }

    /// Of the added types those that hub.conf lets this instance write.
    var writableTypes: [TypeDeclaration] {
        addedTypes.filter { welcome?.grants.write.allows(type: $0.id) ?? true }
    }

    var hasAddedTypes: Bool { !addedTypes.isEmpty || !offeredTypes.isEmpty }

    private mutating func composeHello() { hello.declares = ownTypes + addedTypes + offeredTypes }

    /// Takes a batch, and sends it as soon as session, credit and order allow.
    package mutating func submit(
        _ batch: OutgoingBatch, at now: Int64
    ) throws(SubmitError) -> (ticket: BatchTicket, actions: [ClientAction]) {
        if case .ended = state { throw .closed }
        guard !isFinishing else { throw .closed }
        guard !batch.records.isEmpty else { throw .empty }
        let isFirst = outbox.isEmpty  // One batch is always taken: a limit of the hub judges its size.
        guard
            isFirst
                || outbox.entries.count < policy.queuedBatches
                    && outbox.bytes + ClientOutbox.size(batch) <= policy.queuedBytes
        else { throw .full }
        lastTicket += 1
        let ticket = BatchTicket(number: lastTicket)
        outbox.append(batch, ticket)
        return (ticket, pump(at: now))
    }

    /// Sends what is answered without the machine: LIVE, EVENT, QUERY, COMMAND, PROGRESS, OUTCOME and the specified verbs.
    /// - Returns: `nil` while no session is open; LIVE and EVENT are then out of date, a question is asked again after `opened`.
    package func message(_ message: ClientMessage) -> ClientAction? {
        isOpen ? .send(OutgoingMessage(message)) : nil
    }

    /// Nothing more will be submitted: says BYE when all is answered, or, after STOP, when what was sent is answered.
    package mutating func finish(at now: Int64) -> [ClientAction] {
        isFinishing = true
        return leaveIfDone(at: now)
    }

    /// Time has passed; call it at ``nextDeadline`` or whenever convenient.
    package mutating func tick(at now: Int64) -> [ClientAction] {
        if case .ended = state { return [] }
        if let stopAt, now >= stopAt { return end(.stopped) }
        switch state {
        case .connecting, .ended: return []
        case .greeting, .proving: return now >= deadline ? greet(at: now) : []
        case .lost: return now >= deadline ? greet(at: now) : []
        case .leaving: return now >= deadline ? end(stopAt == nil ? .finished : .stopped) : []
        case .open: return tickOpen(at: now)
        }
    }

    /// When `tick` has something to do next, if nothing is received until then.
    package var nextDeadline: Int64? {
        var times = stopAt.map { [$0] } ?? []
        switch state {
        case .connecting, .ended: return nil
        case .greeting, .proving, .lost, .leaving: times.append(deadline)
        case .open:
            if let heartbeat = welcome?.heartbeat {
                times += [heardAt + heartbeat.timeout, max(heardAt, pingedAt) + heartbeat.interval]
            }
            if let leaveAt { times.append(leaveAt) }
            if let holdUntil, !hubIsStopping, !outbox.hasSent, outbox.firstWaiting != nil { times.append(holdUntil) }
        }
        return times.min()
    }

    private mutating func tickOpen(at now: Int64) -> [ClientAction] {
        guard let heartbeat = welcome?.heartbeat else { return [] }
        if let leaveAt, now >= leaveAt { return lose("the hub is stopping", wait: true, at: now) }
        if now >= heardAt + heartbeat.timeout {
            return lose("nothing was heard of the hub for \(heartbeat.timeout) ms", wait: false, at: now)
        }
        var actions: [ClientAction] = []
        if now >= max(heardAt, pingedAt) + heartbeat.interval {
            pingedAt = now
            actions.append(send(.ping(.emptyObject)))
        }
        return actions + pump(at: now)
    }
}

// MARK: - Steps that several events share

extension ClientMachine {
    func send(_ message: ClientMessage) -> ClientAction { .send(OutgoingMessage(message)) }

    /// Says HELLO, once more if need be.
    mutating func greet(at now: Int64) -> [ClientAction] {
        if let end = endWithoutSession() { return self.end(end) }
        state = .greeting
        openHellos += 1
        deadline = now + Self.doubled(policy.helloRepeat, after: helloRepeats + 1, atMost: policy.longestHelloRepeat)
        helloRepeats += 1
        return [send(.hello(hello))]
    }

    /// The session is over: what is not answered waits again.
    mutating func lose(_ reason: String, wait: Bool, at now: Int64) -> [ClientAction] {
        forgetSession()
        losses += 1
        guard wait || losses > 1 else { return [.lost(reason)] + greet(at: now) }
        if let end = endWithoutSession() { return [.lost(reason)] + self.end(end) }
        state = .lost
        deadline = now + Self.doubled(policy.lossDelay, after: losses, atMost: policy.longestLossDelay)
        return [.lost(reason)]
    }

    private mutating func forgetSession() {
        outbox.markAllWaiting()
        credit = .zero
        (holdUntil, leaveAt) = (nil, nil)
        helloRepeats = 0
    }

    /// A session of the last WELCOME is open: sends what waits.
    mutating func open(at now: Int64) -> [ClientAction] {
        guard let welcome else { return [] }
        state = .open
        addedTypes += offeredTypes
        offeredTypes = []
        credit = welcome.credit
        (openHellos, outdatedHellos, helloRepeats, holdUntil, hubIsStopping) = (0, 0, 0, nil, false)
        pingedAt = now
        return [.opened(welcome)] + pump(at: now) + leaveIfDone(at: now)
    }

    /// Sends waiting batches in order, as far as the credit goes; one that never can be sent is refused here.
    mutating func pump(at now: Int64) -> [ClientAction] {
        guard state == .open, stopAt == nil, !hubIsStopping, let welcome else { return [] }
        if let time = holdUntil {
            guard now >= time, !outbox.hasSent else { return [] }
            holdUntil = nil
        }
        var actions: [ClientAction] = []
        while let index = outbox.firstWaiting {
            let batch = outbox.entries[index].batch
            let number = lastNumber + 1
            let cost = batch.cost(number: number)
            if let error = objection(to: batch, cost, welcome) {
                actions.append(.refused(outbox.remove(index).ticket, error))
                continue
            }
            guard credit.covers(cost) else { break }
            credit = credit - cost
            lastNumber = number
            outbox.markSent(index, ClientOutbox.Sent(number: number, cost: cost))
            let envelope = SamplesEnvelope(batch: number, isBackfill: batch.isBackfill, records: batch.records)
            actions.append(.send(OutgoingMessage(.samples(envelope), payloads: batch.payloads)))
        }
        return actions
    }

    /// Why a batch can never be sent to this hub.
    private func objection(to batch: OutgoingBatch, _ cost: Credit, _ welcome: Welcome) -> WireError? {
        let limits = welcome.limits
        let largest = batch.payloads.map(\.count).max() ?? 0
        let body = cost.bytes - batch.payloads.reduce(0) { $0 + $1.count }
        if cost.records > limits.batchRecords {
            return WireError(
                .limit, "\(cost.records) records in a batch; the hub takes \(limits.batchRecords)", closed: false)
        }
        if body > limits.frameBytes {
            return WireError(.limit, "a body of \(body) bytes; the hub takes \(limits.frameBytes)", closed: false)
        }
        if largest > min(limits.payloadBytes, limits.frameBytes) {
            return WireError(
                .limit, "a payload of \(largest) bytes; the hub takes \(min(limits.payloadBytes, limits.frameBytes))",
                closed: false)
        }
        if !welcome.credit.covers(cost) {
            return WireError(
                .credit, "a batch of \(cost.bytes) bytes; the hub's whole credit is \(welcome.credit.bytes)",
                closed: false)
        }
        return nil
    }

    mutating func leaveIfDone(at now: Int64) -> [ClientAction] {
        guard isFinishing else { return [] }
        switch state {
        case .open:
            guard stopAt == nil ? outbox.isEmpty : !outbox.hasSent else { return [] }
            state = .leaving
            deadline = now + (welcome?.heartbeat.timeout ?? policy.helloRepeat)
            return [send(.bye(Bye()))]
        case .leaving, .ended: return []
        case .connecting, .greeting, .proving, .lost: return endWithoutSession().map { end($0) } ?? []
        }
    }

    /// How to end where there is no session, if there is nothing left to do in a new one.
    private func endWithoutSession() -> ClientEnd? {
        if stopAt != nil { return .stopped }
        return isFinishing && outbox.isEmpty ? .finished : nil
    }

    mutating func end(_ end: ClientEnd) -> [ClientAction] {
        state = .ended(end)
        return [.ended(end)]
    }

    /// Without chance: what waits is one client of one hub.
    private static func doubled(_ first: Int64, after failures: Int, atMost longest: Int64) -> Int64 {
        let backOff = BackOff(
            first: .milliseconds(first), factor: 2, longest: .milliseconds(longest), spread: 1...1)
        return Int64(backOff.wait(after: failures) / .milliseconds(1))
    }
}
