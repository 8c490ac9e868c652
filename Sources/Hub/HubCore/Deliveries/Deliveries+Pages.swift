import HubSettings
import HubStore
import HubWire
import Logging
import Samples
import ZeroMQ

/// The deliveries to open subscriptions (Protocol §10.2).
///
/// Each subscription reads a page when it may send one, two subscriptions at a time and in turn; a page is in memory until it is written
/// to the socket. The credit of a sink bounds its records in flight, so that a slow sink delays no other.
extension Deliveries {
    /// Notes that there may be something to deliver, after commits, answers or retries that are due.
    func wake(_ id: SinkID) {
        pumps[id]?.mayHaveMore = true
        pump(id)
    }

    /// Wakes all subscriptions, because the head has moved.
    func wakeAll() {
        for id in pumps.keys { wake(id) }
    }

    /// Puts the subscription in line for a page if it may send one now; otherwise schedules it for the time when it may.
    func pump(_ id: SinkID) {
        guard let pump = pumps[id] else { return }
        if limits(of: pump) != nil {
            queue(id)
            readPages()
        } else {
            reportCaughtUp(id)
            schedule(id)
        }
    }

    /// Tries all subscriptions of a session, because there is room in it again and any of them may have waited for it.
    func pumpAll(of session: SessionReference) {
        for (id, pump) in pumps where pump.session == session { self.pump(id) }
    }

    private func limits(of pump: SinkPump) -> DeliveryLimits? {
        // Not after STOP (R10.22).
        guard door.isContinuing(pump.session), !isFull(pump.session) else { return nil }
        var limits = pump.limits(
            at: door.now, waitTime: door.facts.waits.now(), unsettled: unsettledCount(of: pump.id))
        let facts = door.facts
        limits?.since = facts.reading(of: pump.id.instance).history?.earliest(now: facts.clock.now())
        return limits
    }

    private func readPages() {
        while let id = nextReader() {
            guard let pump = pumps[id], let limits = limits(of: pump) else { continue }
            readingBegan()
            pumps[id]?.isReading = true
            // Records that are stored while the page is read are read after it.
            pumps[id]?.mayHaveMore = false
            let turn = pump.turn
            Task {
                do throws(StoreError) {
                    let page = try await store.deliveries(
                        of: id, after: pump.position, limits: limits, inFlight: pump.inFlight,
                        at: door.facts.clock.now(),
                        waitTime: door.facts.waits.now())
                    read(page, for: id, turn)
                } catch {
                    failed(error, for: id, turn)
                }
            }
        }
    }

    private func read(_ page: DeliveryPage, for id: SinkID, _ turn: UInt64) {
        readingEnded()
        defer { readPages() }
        guard var pump = pumps[id], pump.turn == turn else { return }
        let isWoken = pump.mayHaveMore
        pump.isReading = false
        pump.read(page, head: store.head)
        // A page that was read before an answer was stored does not contain it, so it ends no pause.
        if page.paused != nil { pump.isUnauthorized = true }
        var records = RawRecords()
        // The records that fit both the credit and one frame.
        let room = min(pump.credit.bytes, door.facts.policy.limits.frameBytes) - SinkPump.envelope
        if door.isContinuing(pump.session) {
            for record in page.records {
                records.append(door.feeds.bodies.body(of: record, isNeededAgain: pumps.count > 1))
                guard records.joined.count > room else { continue }
                records.removeLast()
                break
            }
        }
        if !records.isEmpty {
            let delivery = Delivery(want: id.want, delivery: pump.nextDelivery, records: records)
            _ = pump.sent(page, count: records.count, cost: delivery.cost, at: door.now)
            if isWoken { pump.mayHaveMore = true }
            pumps[id] = pump
            // Sending may end the session, and with it the pump.
            door.send(.deliver(delivery), to: pump.session)
        } else {
            pump.looked(at: page, sent: 0)
            if isWoken { pump.mayHaveMore = true }
            pumps[id] = pump
        }
        self.pump(id)
    }

    private func failed(_ error: StoreError, for id: SinkID, _ turn: UInt64) {
        readingEnded()
        defer { readPages() }
        guard pumps[id]?.turn == turn else { return }
        pumps[id]?.isReading = false
        logger.error("deliveries cannot be read", metadata: ["sink": "\(id)", "error": "\(error)"])
        // A subscription that a person had the hub forget starts over when its sink asks for it.
        if error.code == .query { return drop(id, WireError(.store, error.message, after: StoreHealth.retryAfter)) }
        wakeLater(id)
    }

    private func wakeLater(_ id: SinkID) {
        loop.schedule(after: .milliseconds(StoreHealth.retryAfter)) { [weak self] in self?.wake(id) }
    }

    /// Ends a turn from the hub's side, and sends the sink the reason.
    func drop(_ id: SinkID, _ error: WireError) {
        guard let session = pumps[id]?.session else { return }
        end(id)
        var error = error
        (error.want, error.closed) = (id.want, false)
        door.send(.error(error), to: session)
        pumpAll(of: session)
    }

    // MARK: - Later

    /// Schedules the next attempt: when a retry is due, a rest is over or the hourly rate allows another delivery.
    private func schedule(_ id: SinkID) {
        timers.removeValue(forKey: id)?.cancel()
        guard let pump = pumps[id] else { return }
        let time = door.facts.waits.now()
        var delay: Duration?
        if let due = pump.wakeTime(waitTime: time) {
            delay = door.facts.clock.realDuration(forVirtual: .microseconds(due - time))
        }
        if pump.mayHaveMore, pump.notBefore > door.now {
            delay = max(delay ?? .zero, .milliseconds(pump.notBefore - door.now))
        }
        guard let delay else { return }
        // At least once an hour, because the machine may sleep and waits may be very long.
        let wait = min(max(delay, .milliseconds(1)), .seconds(3_600))
        timers[id] = loop.schedule(after: wait) { [weak self] in self?.pump(id) }
    }

    /// Reports the end of a pass of mode `once` when nothing is left (R10.21).
    private func reportCaughtUp(_ id: SinkID) {
        guard let pump = pumps[id], pump.reportsCaughtUp, !pump.hasReportedCaughtUp, isSettled(id),
            pump.isCaughtUp(waitTime: door.facts.waits.now())
        else { return }
        pumps[id]?.markReportedCaughtUp()
        let turn = pump.turn
        Task {
            let state: SinkState?
            do throws(StoreError) {
                state = try await store.sink(id)
            } catch {
                logger.error("a sink cannot be read", metadata: ["sink": "\(id)", "error": "\(error)"])
                state = nil
            }
            guard let pump = pumps[id], pump.turn == turn else { return }
            guard let state else {
                pumps[id]?.clearReportedCaughtUp()
                return wakeLater(id)
            }
            guard pump.isCaughtUp(waitTime: door.facts.waits.now()) else {
                pumps[id]?.clearReportedCaughtUp()
                return self.pump(id)
            }
            door.send(
                .want(
                    WantAnswer(
                        want: id.want, isNew: false, cursor: state.cursor,
                        pending: state.account.pending + state.account.retrying, isCaughtUp: true)),
                to: pump.session)
        }
    }
}
