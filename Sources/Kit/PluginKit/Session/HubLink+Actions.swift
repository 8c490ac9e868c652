import HubWire
import Logging
import Synchronization
import ZeroMQ

/// Runs steps of the machine and performs its actions.
extension HubLink {
    /// Runs a step of the machine and performs the resulting actions.
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

    /// Performs actions one after the other, in the machine's order.
    ///
    /// An action may cause another step of the machine, such as one more batch; its actions come last. A batch that overtook an older one could
    /// leave an older version of a record as its newest (R5.6).
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
        case .stored(let ticket, let results):
            if let batch = spool.remove(ticket) {
                answered(batch, results)
            } else {
                storeCalls.settle(ticket, .success(results))
            }
            machineHasRoom()
        case .refused(let ticket, let error):
            if let batch = spool.remove(ticket) {
                refused(batch, error)
            } else {
                let failure =
                    error.code == .store || error.code == .internal
                    ? GiveError(.storage, error.reason) : GiveError(.refused, "the hub refused the batch: \(error)")
                storeCalls.settle(ticket, .failure(failure))
            }
            machineHasRoom()
        case .deliver(let message): received(message)
        case .stop(let stop):
            logger.info("the hub asks to stop", metadata: ["hub.reason": "\(stop.reason)"])
            signal.yield(.stop(stop))
        case .ended(let end): ended(end)
        }
    }

    private func machineHasRoom() {
        storeCalls.machineHasRoom()
        pumpSpool()
    }

    private func opened(_ welcome: Welcome) {
        let clock: HubClock
        do throws(WireError) {
            clock = try welcome.hubClock()
        } catch {
            return fail(error)
        }
        terms.withLock {
            $0 = Terms(
                identity: HubIdentity(id: welcome.hub, epoch: welcome.epoch, head: welcome.head),
                persons: welcome.persons,
                sharing: welcome.grants.write, rights: welcome.grants.owner, clock: clock)
        }
        logger.info("the hub is there", metadata: ["hub.session": "\(welcome.session)"])
        isAway = false
        for waiter in welcomeWaiters { waiter.resume(returning: welcome) }
        welcomeWaiters = []
        signal.yield(.opened)
        openings.note()
        settleDeclarations(.success(()))
        sendQuestions()
        sendCommands()
        openWants()
        reportFullness()
        pumpSpool()
    }

    /// Logs an outage once and notifies the parts; `opened` logs its end.
    func lost(_ reason: String) {
        if !isAway { logger.warning("the hub is away", metadata: ["hub.reason": "\(reason)"]) }
        isAway = true
        spool.sessionLost()
        commands.sessionLost()
        questions.sessionLost()
        ownersCommands.sessionLost()
        sink.sessionLost()
    }

    private func received(_ message: HubMessage) {
        if receiveForSink(message) { return }
        switch message {
        case .command(let command): receive(command)
        // An answer without a question belongs to a question that was cancelled here.
        case .result(let result): _ = answer(result.id, message)
        case .token(let token): _ = answer(token.id, message)
        case .progress(let progress): receive(progress)
        case .outcome(let outcome): receive(outcome)
        case .error(let error) where answer(error.ref, message): break
        case .error(let error) where refuseCommand(error): break
        case .error(let error):
            logger.error("the hub reports an error", metadata: ["hub.error": "\(error)"])
        default:
            logger.debug("an unexpected message", metadata: ["hub.verb": "\(message.verb.rawValue)"])
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
        commands.sessionLost()
        stopParts("the dialogue with the hub is over")
        leave()
        signal.yield(.ended(end))
    }

    /// Fails the callers that wait for the hub in any part.
    func stopParts(_ reason: String) {
        let error = GiveError(.stopping, reason)
        storeCalls.stop(error)
        questions.stop()
        ownersCommands.stop()
        settleDeclarations(.failure(error))
        wakeRoomWaiters()
    }
}
