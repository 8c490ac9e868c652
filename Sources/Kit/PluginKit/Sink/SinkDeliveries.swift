import HubWire
import Logging
import Samples
import ZeroMQ

/// The result of a delivery.
struct DeliveryOutcome: Sendable {
    var results: [DeliveryResult]
    /// How many milliseconds the subscription pauses.
    var pause: Int64?
}

/// The subscriptions of a sink, and the deliveries in progress.
struct SinkDeliveries: Sendable {
    /// Handles one delivery.
    typealias Handler = @Sendable (_ want: String, [DeliveredRecord]) async -> DeliveryOutcome
    /// Returns the sink's subscriptions.
    typealias Requests = @Sendable () async throws -> [WantRequest]

    fileprivate var wants = ClientWants()
    /// Maximum number of deliveries in progress for a subscription.
    fileprivate var width = 1
    fileprivate var handler: Handler?
    fileprivate var requests: Requests?
    /// Whether a renewal was requested before the first subscriptions were known.
    fileprivate var isRenewalDue = false
    fileprivate let renewals = AsyncLock()
    /// In mode `once`: the subscriptions that still have records to deliver.
    fileprivate var unfinished: Set<String>?
    /// The number of undelivered records when nothing more could be delivered, by subscription.
    fileprivate var left: [String: Int64] = [:]
    /// Deliveries that have not started; the credit limits their number.
    fileprivate var waiting: [(ticket: ClientWants.Ticket, records: RawRecords)] = []
    fileprivate var running: [ClientWants.Ticket: Task<Void, Never>] = [:]
    fileprivate var failure: PluginFailure?
    fileprivate var isFinishing = false
    /// Resumes `serve` at the end of the sink's work.
    fileprivate var waiter: CheckedContinuation<Void, Never>?

    /// Whether no work is left.
    fileprivate var isOver: Bool {
        running.isEmpty && (isFinishing || failure != nil || unfinished?.isEmpty == true && waiting.isEmpty)
    }

    /// Whether records for this sink could not be delivered by the end of its pass.
    var hasUndelivered: Bool { left.values.contains { $0 > 0 } }

    fileprivate mutating func endIfOver() {
        if isOver { waiter.take()?.resume() }
    }

    /// Drops the deliveries of a lost session: work in progress continues, but the hub ignores its result and delivers again.
    mutating func sessionLost() {
        wants.lost()
        waiting = []
    }

    /// The records of a delivery, and a retry result for each record that this version cannot decode because a newer hub wrote it.
    fileprivate static func read(_ raw: RawRecords, _ epoch: String) -> ([DeliveredRecord], [Int: DeliveryResult]) {
        var decoder = StoredRecordDecoder()
        var records: [DeliveredRecord] = []
        var unreadable: [Int: DeliveryResult] = [:]
        for index in raw.indices {
            let decoded: Result<StoredRecord, RecordRejection> = raw[index].withUnsafeBytes { bytes in
                do throws(RecordRejection) { return .success(try decoder.record(bytes)) } catch {
                    return .failure(error)
                }
            }
            switch decoded {
            case .success(let stored): records.append(DeliveredRecord(stored, epoch: epoch, json: raw.text(index)))
            case .failure(let rejection):
                unreadable[index] = .retry(
                    after: 3_600_000, reason: "this version of the plugin cannot read the record: \(rejection.reason)")
            }
        }
        return (records, unreadable)
    }
}

extension HubLink {
    /// Requests the subscriptions of `requests` in this and every later session, and passes deliveries to `handler`.
    ///
    /// It returns after ``finishDeliveries(within:)`` when all started deliveries are answered; with `untilCaughtUp` also when no deliverable
    /// record is left.
    /// - Throws: ``PluginFailure`` if the hub refuses a subscription; the errors of `requests`.
    func serve(
        _ requests: @escaping SinkDeliveries.Requests, width: Int, untilCaughtUp: Bool,
        _ handler: @escaping SinkDeliveries.Handler
    ) async throws {
        sink.width = width
        sink.handler = handler
        if untilCaughtUp { sink.unfinished = [] }
        repeat {
            sink.isRenewalDue = false
            for request in try await requests() where !sink.wants.has(request) { addWant(request) }
        } while sink.isRenewalDue
        sink.requests = requests
        if !sink.isOver { await withCheckedContinuation { sink.waiter = $0 } }
        sink.wants.finish()
        if let failure = sink.failure { throw failure }
    }

    /// Reads the sink's subscriptions again: requests those that are new or changed, and drops those that are missing.
    ///
    /// - Throws: the errors of the sink; everything stays unchanged then.
    func renewWants() async throws {
        try await sink.renewals.withLock {
            guard let requests = sink.requests else { return sink.isRenewalDue = true }
            let renewed = try await requests()
            for name in sink.wants.names where !renewed.contains(where: { $0.want == name }) {
                sink.wants.remove(name)
                sink.waiting.removeAll { $0.ticket.want == name }
                sink.unfinished?.remove(name)
            }
            for request in renewed where !sink.wants.has(request) { addWant(request) }
            sink.endIfOver()
        }
    }

    /// Requests a subscription that is new or changed.
    private func addWant(_ request: WantRequest) {
        sink.wants.add(request)
        sink.unfinished?.insert(request.want)
        wantAgain(request.want)
    }

    /// Starts no more deliveries and lets those in progress finish; cancels those that take longer than `limit`.
    package func finishDeliveries(within limit: Duration) {
        sink.isFinishing = true
        sink.wants.finish()
        sink.waiting = []
        for task in sink.running.values {
            loop.schedule(after: limit) { task.cancel() }
        }
        sink.endIfOver()
    }

    // MARK: - Messages

    /// Requests all subscriptions in a new session.
    func openWants() {
        guard machine.isOpen else { return }
        for message in sink.wants.opened() { send(message) }
    }

    /// Requests a subscription again, which ends a pause after a failed log-in.
    func wantAgain(_ want: String) {
        guard machine.isOpen, let message = sink.wants.again(want) else { return }
        sink.waiting.removeAll { $0.ticket.want == want }
        send(message)
    }

    /// Requests all subscriptions again: after a log-in, deliveries that failed without one may succeed.
    func wantAllAgain() {
        for want in sink.wants.names { wantAgain(want) }
    }

    /// - Returns: whether the message was for the sink.
    func receiveForSink(_ message: HubMessage) -> Bool {
        guard let event = sink.wants.receive(message) else {
            switch message {
            case .want, .deliver: return true  // From an ended subscription: the hub delivers again.
            case .error(let error) where error.want != nil:
                // Its `ref` is not the number of one of our questions. The hub repeats the delivery of this DONE.
                logger.warning("the hub could not take an answer to a delivery", metadata: ["hub.error": "\(error)"])
                return true
            default: return false
            }
        }
        switch event {
        case .opened(let answer): wantIsOpen(answer)
        case .deliver(let ticket, let records):
            sink.waiting.append((ticket, records))
            beginDeliveries()
        case .wait(let want, let delay):
            loop.schedule(after: .milliseconds(delay)) { [weak self] in self?.assumeIsolated { $0.wantAgain(want) } }
        case .refused(let want, let error):
            logger.error("the hub refuses a subscription", metadata: ["want": "\(want)", "hub.error": "\(error)"])
            // A newer session takes over the subscription; this one may still be a source.
            guard error.code != .replaced else {
                sink.unfinished?.remove(want)
                break
            }
            sink.failure = PluginFailure(.refused, "the hub refuses the subscription \(want): \(error.reason)")
        }
        sink.endIfOver()
        return true
    }

    private func wantIsOpen(_ answer: WantAnswer) {
        logger.info(
            answer.isNew ? "a new subscription is open" : "a subscription is open",
            metadata: ["want": "\(answer.want)", "records.pending": "\(answer.pending)"])
        guard answer.isCaughtUp else { return }
        sink.left[answer.want] = answer.pending
        sink.unfinished?.remove(answer.want)
    }

    // MARK: - Work

    private func beginDeliveries() {
        guard let handler = sink.handler, !sink.isFinishing, !rejectsRequests else { return }
        // Waiting deliveries belong to the open session, because the end of a session empties the list.
        let epoch = machine.session?.epoch ?? ""
        var index = 0
        while index < sink.waiting.count {
            let (ticket, records) = sink.waiting[index]
            guard sink.running.keys.count(where: { $0.want == ticket.want }) < sink.width else {
                index += 1
                continue
            }
            sink.waiting.remove(at: index)
            sink.running[ticket] = Task { await self.deliver(ticket, records, epoch, handler) }
        }
    }

    private func deliver(
        _ ticket: ClientWants.Ticket, _ raw: RawRecords, _ epoch: String, _ handler: SinkDeliveries.Handler
    ) async {
        let (records, unreadable) = SinkDeliveries.read(raw, epoch)
        var outcome = DeliveryOutcome(results: [])
        if !records.isEmpty { outcome = await handler(ticket.want, records) }
        var results = outcome.results.makeIterator()
        let all = raw.indices.map { index in unreadable[index] ?? results.next() ?? .retry(after: 0, reason: nil) }
        if let message = sink.wants.done(ticket, results: all, pause: outcome.pause) { send(message) }
        sink.running[ticket] = nil
        beginDeliveries()
        sink.endIfOver()
    }
}
