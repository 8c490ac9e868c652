import HubSessions
import HubStore
import HubWire
import Logging
import Samples
import ZeroMQ

/// What open subscriptions are sent (Protocol §10.2).
///
/// Each reads a page when it may send one, two subscriptions at a time and in turn; a page is in memory until it is written to the
/// socket. What a sink may have on its way is bounded by its credit, so that a slow one waits alone.
extension Bus {
    /// There may be something to deliver: commits, answers, retries that are due.
    func wake(_ id: SinkID) {
        sinks.pumps[id]?.mayHaveMore = true
        pump(id)
    }

    /// The head has moved.
    func wakeSinks() {
        for id in sinks.pumps.keys { wake(id) }
    }

    /// Stands in line for a page if one may be sent now; else sees to it that somebody comes back.
    func pump(_ id: SinkID) {
        guard let pump = sinks.pumps[id] else { return }
        if limits(of: pump) != nil {
            sinks.queue(id)
            readPages()
        } else {
            tellCaughtUp(id)
            schedule(id)
        }
    }

    /// There is room in a session again, which any of its subscriptions may have waited for.
    func pumpAll(of session: SessionReference) {
        for (id, pump) in sinks.pumps where pump.session == session { self.pump(id) }
    }

    private func limits(of pump: SinkPump) -> DeliveryLimits? {
        guard mayDeliver(to: pump.session), !sinks.isFull(pump.session) else { return nil }
        return pump.limits(at: now, waitTime: facts.waits.now(), unsettled: sinks.unsettledCount(of: pump.id))
    }

    /// Not after STOP (R10.22).
    private func mayDeliver(to session: SessionReference) -> Bool {
        sessions[session].map { !$0.isStopping } ?? false
    }

    private func readPages() {
        while let id = sinks.next() {
            guard let pump = sinks.pumps[id], let limits = limits(of: pump) else { continue }
            sinks.began()
            sinks.pumps[id]?.isReading = true
            // What is stored while the page is read is looked at after it.
            sinks.pumps[id]?.mayHaveMore = false
            let turn = pump.turn
            Task {
                do throws(StoreError) {
                    let page = try await store.deliveries(
                        of: id, after: pump.position, limits: limits, inFlight: pump.inFlight, at: facts.clock.now(),
                        waitTime: facts.waits.now())
                    read(page, for: id, turn)
                } catch {
                    failed(error, for: id, turn)
                }
            }
        }
    }

    private func read(_ page: DeliveryPage, for id: SinkID, _ turn: UInt64) {
        sinks.ended()
        defer { readPages() }
        guard var pump = sinks.pumps[id], pump.turn == turn else { return }
        let isWoken = pump.mayHaveMore
        pump.isReading = false
        pump.isUnauthorized = page.paused != nil
        var records = RawRecords()
        // Those that fit the credit and one frame.
        let room = min(pump.credit.bytes, facts.policy.limits.frameBytes) - SinkPump.envelope
        var count = 0
        if mayDeliver(to: pump.session) {
            for record in page.records {
                encoded.removeAll(keepingCapacity: true)
                RecordEncoder.append(record, to: &encoded)
                guard records.joined.count + encoded.count + 1 <= room else { break }
                records.append(encoded)
                count += 1
            }
        }
        if count > 0 {
            let delivery = Delivery(want: id.want, delivery: pump.nextDelivery, records: records)
            _ = pump.sent(page, count: count, cost: delivery.cost, at: now)
            if isWoken { pump.mayHaveMore = true }
            sinks.pumps[id] = pump
            // It may end the session, and with it the pump.
            send(.deliver(delivery), to: pump.session.peer)
        } else {
            pump.looked(at: page, sent: 0)
            if isWoken { pump.mayHaveMore = true }
            sinks.pumps[id] = pump
        }
        self.pump(id)
    }

    private func failed(_ error: StoreError, for id: SinkID, _ turn: UInt64) {
        sinks.ended()
        defer { readPages() }
        guard sinks.pumps[id]?.turn == turn else { return }
        sinks.pumps[id]?.isReading = false
        logger.error("deliveries cannot be read", metadata: ["sink": "\(id)", "error": "\(error)"])
        // A subscription that somebody had forgotten begins anew when its sink asks again.
        if error.code == .query { return drop(id, WireError(.store, error.message, after: Self.sinkRetry)) }
        wakeLater(id)
    }

    private func wakeLater(_ id: SinkID) {
        loop.schedule(after: .milliseconds(Self.sinkRetry)) { [weak self] in self?.assumeIsolated { $0.wake(id) } }
    }

    /// Ends a turn from the hub's side, and tells the sink why.
    func drop(_ id: SinkID, _ error: WireError) {
        guard let session = sinks.pumps[id]?.session else { return }
        sinks.end(id)
        var error = error
        (error.want, error.closed) = (id.want, false)
        if guests[session.peer]?.reference == session { send(.error(error), to: session.peer) }
        pumpAll(of: session)
    }

    // MARK: - Later

    /// Comes back when a retry is due, a rest is over or the next delivery of the hour may leave.
    private func schedule(_ id: SinkID) {
        sinks.timers.removeValue(forKey: id)?.cancel()
        guard let pump = sinks.pumps[id] else { return }
        let time = facts.waits.now()
        var delay: Duration?
        if let due = pump.wakeTime(waitTime: time) {
            delay = facts.clock.realDuration(forVirtual: .microseconds(due - time))
        }
        if pump.mayHaveMore, pump.notBefore > now {
            delay = max(delay ?? .zero, .milliseconds(pump.notBefore - now))
        }
        guard let delay else { return }
        // A machine that sleeps, and very long waits: it is looked at again at least once an hour.
        let wait = min(max(delay, .milliseconds(1)), .seconds(3_600))
        sinks.timers[id] = loop.schedule(after: wait) { [weak self] in self?.assumeIsolated { $0.pump(id) } }
    }

    /// A pass of mode `once` ends when nothing is left (R10.21).
    private func tellCaughtUp(_ id: SinkID) {
        guard let pump = sinks.pumps[id], pump.tellsWhenCaughtUp, !pump.hasToldCaughtUp, sinks.isSettled(id),
            pump.isCaughtUp(waitTime: facts.waits.now())
        else { return }
        sinks.pumps[id]?.toldCaughtUp()
        let turn = pump.turn
        Task {
            let state: SinkState?
            do throws(StoreError) {
                state = try await store.sink(id)
            } catch {
                logger.error("a sink cannot be read", metadata: ["sink": "\(id)", "error": "\(error)"])
                state = nil
            }
            guard let pump = sinks.pumps[id], pump.turn == turn else { return }
            guard let state else {
                sinks.pumps[id]?.notToldCaughtUp()
                return wakeLater(id)
            }
            guard pump.isCaughtUp(waitTime: facts.waits.now()) else {
                sinks.pumps[id]?.notToldCaughtUp()
                return self.pump(id)
            }
            send(
                .want(
                    WantAnswer(
                        want: id.want, isNew: false, cursor: state.cursor,
                        pending: state.account.pending + state.account.retrying, isCaughtUp: true)),
                to: pump.session.peer)
        }
    }
}
