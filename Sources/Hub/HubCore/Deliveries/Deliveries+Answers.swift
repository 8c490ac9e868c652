import HubStore
import HubWire
import Logging
import Samples
import ZeroMQ

/// The answers of sinks (Protocol §10.2).
///
/// The waiting answers of all sinks are stored in one transaction; while it is flushed to disk, the next ones collect. The loop never
/// waits for it. The queue is bounded: a subscription with 10,000 answers that are not in the store gets no more deliveries.
extension Deliveries {
    /// Handles a DONE that its session has admitted.
    func take(_ report: DeliveryReport, from peer: ClientSession) {
        let id = SinkID(instance: peer.hello.instance, want: report.want)
        guard let pump = pumps[id], pump.session == peer.reference, let open = pump.open[report.delivery] else {
            return refuse(report, "DONE.delivery: it is not open in this session", peer)
        }
        guard open.versions.count == report.results.count else {
            return refuse(
                report,
                "DONE.results: expected \(open.versions.count), one for each record of the delivery, found \(report.results.count)",
                peer)
        }
        let time = door.facts.waits.now()
        let answers = zip(open.versions, report.results).map { version, result in
            SinkAnswer(
                number: version.number, sequence: version.sequence, result: SinkResult(result, at: time),
                isRepeat: version.isRepeat)
        }
        let wasFull = isFull(peer.reference)
        _ = pumps[id]?.close(report.delivery, credit: report.credit)
        if let pause = report.pause {
            pumps[id]?.pausedUntil = time + pause.within(DeliveryResult.retryBounds) * 1_000
        }
        if answers.contains(where: { if case .unauthorized = $0.result { true } else { false } }) {
            pumps[id]?.isUnauthorized = true
            door.logOfSessions(.warning, "a sink's log-in has failed", ["sink": "\(id)"])
        }
        unsettled[id, default: Answers()].answers += answers
        settle()
        // Its credit is back, and may be used before the answers are in the store.
        if wasFull { pumpAll(of: peer.reference) } else { self.pump(id) }
    }

    private func refuse(_ report: DeliveryReport, _ reason: String, _ peer: ClientSession) {
        door.send(.error(WireError(.field, reason, ref: report.delivery, want: report.want)), to: peer.reference)
    }

    // MARK: - To the store

    /// Stores the waiting answers, unless the store is writing some already.
    func settle() {
        guard !isSettling, !unsettled.isEmpty else { return }
        isSettling = true
        let due = unsettled
        (settling, unsettled) = (due, [:])
        let settlements = due.map { id, waiting in
            SinkSettlement(
                sink: id, answers: waiting.answers, reached: waiting.reached ?? pumps[id]?.reached ?? 0)
        }
        Task {
            do throws(StoreError) {
                try await store.settle(
                    settlements, recordedAt: door.facts.clock.now(), waitTime: door.facts.waits.now())
                settled(settlements)
            } catch {
                notSettled(due, error)
            }
        }
    }

    private func settled(_ settlements: [SinkSettlement]) {
        if settlingFault != nil { logger.notice("answers of sinks can be stored again") }
        settlingFault = nil
        (isSettling, settling) = (false, [:])
        for settlement in settlements {
            pumps[settlement.sink]?.settled(settlement.answers.lazy.map(\.number), reached: settlement.reached)
        }
        let waiters = settleWaiters
        settleWaiters = []
        for waiter in waiters { waiter.resume() }
        settle()
        // A newer version of a delivered record may have waited for its answer.
        for settlement in settlements { wake(settlement.sink) }
    }

    /// Keeps everything after a failure: the answers wait, and the records stay in flight.
    private func notSettled(_ due: [SinkID: Answers], _ error: StoreError) {
        if settlingFault == nil {
            logger.error("answers of sinks cannot be stored", metadata: ["error": "\(error)"])
        }
        settlingFault = error
        settling = [:]
        for (id, waiting) in due {
            let later = unsettled[id]
            unsettled[id] = Answers(
                answers: waiting.answers + (later?.answers ?? []), reached: later?.reached ?? waiting.reached)
        }
        let waiters = settleWaiters
        settleWaiters = []
        for waiter in waiters { waiter.resume() }
        loop.schedule(after: .milliseconds(StoreHealth.retryAfter)) { [weak self] in
            guard let self, door.isBound else { return }
            isSettling = false
            settle()
        }
    }

    /// Returns when the answers of a subscription are in the store, or could not be stored.
    func settled(_ id: SinkID) async {
        while !isSettled(id), settlingFault == nil {
            await withCheckedContinuation { settleWaiters.append($0) }
        }
    }

    /// Returns when all answers are in the store, or cannot be stored; records without a stored answer are delivered again.
    func settleAll() async {
        for session in Set(pumps.values.map(\.session)) { end(of: session) }
        while !unsettled.isEmpty || !settling.isEmpty, settlingFault == nil {
            settle()
            await withCheckedContinuation { settleWaiters.append($0) }
        }
    }

    /// Saves the cursors of sinks that want none of the new records, so that a restart need not check these records again.
    ///
    /// The answers move the cursor of all other sinks.
    func tidy() {
        for (id, pump) in pumps where pump.reached > pump.settledReached && isSettled(id) {
            unsettled[id] = Answers()
        }
        settle()
    }
}

extension SinkResult {
    /// - Parameter time: the time of the answer, by ``WaitClock``.
    fileprivate init(_ result: DeliveryResult, at time: Int64) {
        self =
            switch result {
            case .delivered(let receipt): .delivered(receipt: receipt.map(Self.cut))
            case .retry(let after, let reason):
                .retry(
                    at: time + after.within(DeliveryResult.retryBounds) * 1_000,
                    reason: Self.cut(reason ?? "the sink gave no reason"))
            case .refused(let reason): .refused(reason: Self.cut(reason))
            case .unauthorized(let reason): .unauthorized(reason: Self.cut(reason))
            }
    }

    /// Cuts a text to the maximum number of bytes, between whole characters (R10.15).
    private static func cut(_ text: String) -> String {
        guard text.utf8.count > DeliveryResult.textBytes else { return text }
        var bytes = 0
        return String(
            text.prefix { character in
                bytes += character.utf8.count
                return bytes <= DeliveryResult.textBytes
            })
    }
}

extension Int64 {
    fileprivate func within(_ range: ClosedRange<Int64>) -> Int64 {
        Swift.min(Swift.max(self, range.lowerBound), range.upperBound)
    }
}
