import HubWire
import Logging
import Synchronization
import ZeroMQ

/// The machine's steps, and what it says is to be done.
extension HubLink {
    /// Lets the machine take a step, and does what it says.
    func step(_ body: (inout ClientMachine, Int64) -> [ClientAction]) {
        guard end == nil else { return }
        perform(body(&machine, now))
        timer?.cancel()
        guard end == nil else { return }
        timer = machine.nextDeadline.map { deadline in
            loop.schedule(after: .milliseconds(max(0, deadline - now))) { [weak self] in
                self?.assumeIsolated { link in link.step { $0.tick(at: $1) } }
            }
        }
    }

    /// Does one thing after the other, in the order in which the machine said them.
    ///
    /// What is done may lead to the machine's next step, such as a batch more. That comes last: a batch that overtook an older one
    /// could leave an older version of a record as its newest (R5.6).
    func perform(_ actions: [ClientAction]) {
        due += actions
        guard !isPerforming else { return }
        isPerforming = true
        defer { isPerforming = false }
        while !due.isEmpty { perform(due.removeFirst()) }
    }

    private func perform(_ action: ClientAction) {
        switch action {
        case .send(let message): send(message)
        case .opened(let welcome): opened(welcome)
        case .lost(let reason): lost(reason)
        case .undeclared(let error): undeclared(error)
        case .stored(let ticket, let results): stored(ticket, results)
        case .refused(let ticket, let error): refused(ticket, error)
        case .deliver(let message): received(message)
        case .stop(let stop):
            logger.info("the hub asks to stop", metadata: ["hub.reason": "\(stop.reason)"])
            signal.yield(.stop(stop))
        case .ended(let end): ended(end)
        }
    }

    private func opened(_ welcome: Welcome) {
        let clock: HubClock
        do throws(WireError) {
            clock = try welcome.hubClock()
        } catch {
            return fail(error)
        }
        terms.withLock { $0 = Terms(persons: welcome.persons, clock: clock) }
        logger.info("the hub is there", metadata: ["hub.session": "\(welcome.session)"])
        isAway = false
        for waiter in welcomeWaiters { waiter.resume(returning: welcome) }
        welcomeWaiters = []
        signal.yield(.opened)
        openings.note()
        settleDeclarations(.success(()))
        tellFullness()
        sendQuestions()
        openWants()
        readSpool()
    }

    /// An outage is logged once; its end is `opened`.
    func lost(_ reason: String) {
        if !isAway { logger.warning("the hub is away", metadata: ["hub.reason": "\(reason)"]) }
        isAway = true
        fullness.isTold = false
        loseCommands()
        loseQuestions()
        loseWants()
    }

    private func received(_ message: HubMessage) {
        if receiveForSink(message) { return }
        switch message {
        case .command(let command): receive(command)
        case .result(let result):
            // One that nobody waits for any more was cancelled here.
            _ = answerQuestion(result.id, message)
        case .token(let answer): _ = answerQuestion(answer.id, message)
        case .error(let error) where answerQuestion(error.ref, message): break
        case .error(let error):
            logger.error("the hub reports an error", metadata: ["hub.error": "\(error)"])
        default:
            logger.debug("a message nobody asked for", metadata: ["hub.verb": "\(message.verb.rawValue)"])
        }
    }

    func fail(_ error: WireError) {
        perform([.ended(.fatal(error))])
    }

    private func ended(_ end: ClientEnd) {
        self.end = end
        if case .fatal(let error) = end {
            logger.error("the hub does not want this plugin", metadata: ["hub.error": "\(error)"])
        }
        giveUp()
        failDirect(GiveError(.stopping, "the dialogue with the hub is over"))
        loseCommands()
        stopQuestions()
        settleDeclarations(.failure(GiveError(.stopping, "the dialogue with the hub is over")))
        resume(&roomWaiters)
        resume(&queueWaiters)
        leave()
        signal.yield(.ended(end))
    }

    func resume(_ waiters: inout [CheckedContinuation<Void, Never>]) {
        for waiter in waiters { waiter.resume() }
        waiters = []
    }
}
