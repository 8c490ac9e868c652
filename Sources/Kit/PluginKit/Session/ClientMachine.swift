package import HubWire

/// The client's side of the dialogue (Protocol §4, §5.1) as a state machine: events in, actions out, without sockets or clock.
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
/// *Proving*: libzmq keeps messages while there is no hub, so several HELLOs may be answered. HELLOs that differ get a new session each. The
/// answer to a PING sent after the last HELLO shows that the last of these WELCOMEs has arrived.
///
/// A batch leaves the machine as `stored` or `refused`, once. Until then it is sent again in each new session, in order (R4.2), under a new
/// number. Times are monotonic milliseconds.
package struct ClientMachine: Sendable {
    package enum State: Hashable, Sendable {
        case connecting, greeting, proving, open, lost, leaving
        case ended(ClientEnd)
    }

    package internal(set) var state = State.connecting
    /// The content of HELLO: the program's own, plus the types of ``declare(_:at:)``.
    package private(set) var hello: Hello
    /// The types that the program itself declares.
    private let ownTypes: [TypeDeclaration]
    /// Types of ``declare(_:at:)`` that a hub has accepted, in the order of their arrival.
    package private(set) var addedTypes: [TypeDeclaration] = []
    /// Types of ``declare(_:at:)`` that no hub has answered yet.
    package private(set) var offeredTypes: [TypeDeclaration] = []
    package let policy: ClientPolicy
    /// The terms of the open session or of the last one.
    package internal(set) var welcome: Welcome?
    /// The remaining credit for sending.
    package internal(set) var credit = Credit.zero
    var outbox = ClientOutbox()
    var lastNumber: Int64 = 0
    var lastTicket: Int64 = 0
    /// The number of HELLOs that may still be answered.
    var openHellos = 0
    /// The number of those HELLOs that contain types the hub has already refused; it may refuse each of them.
    var outdatedHellos = 0
    var helloRepeats = 0
    /// Consecutive lost sessions without a useful message of the hub.
    var losses = 0
    var heardAt: Int64 = 0
    var pingedAt: Int64 = 0
    /// In the states greeting, proving, lost and leaving: when to continue without an answer.
    var deadline: Int64 = 0
    /// When to send again after the store could not commit.
    ///
    /// Nothing is sent before this time, nor before all sent batches are answered, so that the batches keep their order.
    var holdUntil: Int64?
    /// The time of the hub's first failure to commit; `nil` after each STORED.
    var storeFailsSince: Int64?
    var stopAt: Int64?
    var hubIsStopping = false
    /// When a client that waits for the next hub gives up a session whose hub has sent STOP.
    var leaveAt: Int64?
    var isFinishing = false

    package init(hello: Hello, policy: ClientPolicy = ClientPolicy()) {
        (self.hello, self.policy, ownTypes) = (hello, policy, hello.declares)
    }

    package var isOpen: Bool { state == .open }

    /// The terms of the open session.
    var session: Welcome? { isOpen ? welcome : nil }

    /// The number of unanswered batches, sent or not.
    package var queuedBatches: Int { outbox.entries.count }

    /// Returns a new number for a QUERY, COMMAND or TOKEN.
    ///
    /// Batches use the same sequence of numbers, so that `ref` of an ERROR is unambiguous.
    package mutating func nextNumber() -> Int64 {
        lastNumber += 1
        return lastNumber
    }

    /// Starts the dialogue by sending HELLO.
    ///
    /// libzmq keeps the message until there is a hub.
    package mutating func start(at now: Int64) -> [ClientAction] {
        guard state == .connecting else { return [] }
        return greet(at: now)
    }

    /// Adds types to those that HELLO declares, and greets again if a hub was greeted without them (R4.27).
    ///
    /// Unanswered batches are sent again in the new session. A hub that refuses the types is greeted without them: `undeclared`.
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

    /// Greets again without the newest added types, or without any, because the hub refuses a HELLO with them.
    mutating func undeclare(_ error: WireError, at now: Int64) -> [ClientAction] {
        if offeredTypes.isEmpty { addedTypes = [] } else { offeredTypes = [] }
        composeHello()
        // That HELLO is answered; other HELLOs with the same types may be on their way.
        openHellos = max(0, openHellos - 1)
        outdatedHellos = openHellos
        return [.undeclared(error)] + greet(at: now)
    }

    /// Whether a hub has accepted all the types.
    func hasDeclared(_ types: [TypeDeclaration]) -> Bool {
        let known = Set(hello.declares.map(\.id))
        return offeredTypes.isEmpty && types.allSatisfy { known.contains($0.id) }
    }

    /// The added types that `hub.conf` allows this instance to write.
    var writableTypes: [TypeDeclaration] {
        addedTypes.filter { welcome?.grants.write.allows(type: $0.id) ?? true }
    }

    var hasAddedTypes: Bool { !addedTypes.isEmpty || !offeredTypes.isEmpty }

    private mutating func composeHello() { hello.declares = ownTypes + addedTypes + offeredTypes }

    /// Queues a batch and sends it as soon as session, credit and order permit.
    package mutating func submit(
        _ batch: OutgoingBatch, at now: Int64
    ) throws(SubmitError) -> (ticket: BatchTicket, actions: [ClientAction]) {
        if case .ended = state { throw .closed }
        guard !isFinishing else { throw .closed }
        guard !batch.records.isEmpty else { throw .empty }
        let isFirst = outbox.isEmpty  // One batch is always accepted; a limit of the hub judges its size.
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

    /// Returns the action that sends a message without queueing: LIVE, EVENT, QUERY, COMMAND, PROGRESS, OUTCOME and the specified verbs.
    /// - Returns: `nil` while no session is open. LIVE and EVENT are out of date then; ask a question again after `opened`.
    package func message(_ message: ClientMessage) -> ClientAction? {
        isOpen ? .send(OutgoingMessage(message)) : nil
    }

    /// Ends the submissions: sends BYE when all batches are answered or, after STOP, when the sent batches are answered.
    package mutating func finish(at now: Int64) -> [ClientAction] {
        isFinishing = true
        return leaveIfDone(at: now)
    }

    /// Handles the passage of time; call it at ``nextDeadline`` or whenever convenient.
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

    /// When `tick` has to be called next, if no message arrives before.
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

    /// Sends HELLO, again if necessary, unless there is nothing left to do.
    mutating func greet(at now: Int64) -> [ClientAction] {
        if let end = endWithoutSession() { return self.end(end) }
        state = .greeting
        openHellos += 1
        deadline = now + Self.doubled(policy.helloRepeat, after: helloRepeats + 1, atMost: policy.longestHelloRepeat)
        helloRepeats += 1
        return [send(.hello(hello))]
    }

    /// Ends the session; unanswered batches wait to be sent again.
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

    /// Opens the session of the last WELCOME and sends the waiting batches.
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

    /// Sends waiting batches in order, within the credit; refuses a batch that this hub can never accept.
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

    /// The reason why a batch can never be sent to this hub.
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

    /// The end to report without a session, if there is nothing left to do in a new one.
    private func endWithoutSession() -> ClientEnd? {
        if stopAt != nil { return .stopped }
        return isFinishing && outbox.isEmpty ? .finished : nil
    }

    mutating func end(_ end: ClientEnd) -> [ClientAction] {
        state = .ended(end)
        return [.ended(end)]
    }

    /// Doubles a delay without randomness, because there is only one client of one hub.
    private static func doubled(_ first: Int64, after failures: Int, atMost longest: Int64) -> Int64 {
        let backOff = BackOff(
            first: .milliseconds(first), factor: 2, longest: .milliseconds(longest), spread: 1...1)
        return Int64(backOff.wait(after: failures) / .milliseconds(1))
    }
}
