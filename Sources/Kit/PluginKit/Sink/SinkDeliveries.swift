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
///
/// It runs on the link's poll loop.
actor SinkDeliveries {
    /// Handles one delivery.
    typealias Handler = @Sendable (_ want: String, [DeliveredRecord]) async -> DeliveryOutcome
    /// Returns the sink's subscriptions.
    typealias Requests = @Sendable () async throws -> [WantRequest]

    private let loop: PollLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
    private let outlet: HubSender
    private let logger: Logger

    private var wants = ClientWants()
    /// Maximum number of deliveries in progress for a subscription.
    private var width = 1
    private var handler: Handler?
    private var requests: Requests?
    /// Whether a renewal was requested before the first subscriptions were known.
    private var isRenewalDue = false
    private let renewals = AsyncLock()
    /// In mode `once`: the subscriptions that still have records to deliver.
    private var unfinished: Set<String>?
    /// The number of undelivered records when nothing more could be delivered, by subscription.
    private var left: [String: Int64] = [:]
    /// Deliveries that have not started; the credit limits their number.
    private var waiting: [(ticket: ClientWants.Ticket, records: RawRecords)] = []
    private var running: [ClientWants.Ticket: Task<Void, Never>] = [:]
    private var failure: PluginFailure?
    private var isFinishing = false
    /// Resumes `serve` at the end of the sink's work.
    private var waiter: CheckedContinuation<Void, Never>?

    init(on loop: PollLoop, outlet: HubSender, logger: Logger) {
        (self.loop, self.outlet, self.logger) = (loop, outlet, logger)
    }

    /// Whether no work is left.
    private var isOver: Bool {
        running.isEmpty && (isFinishing || failure != nil || unfinished?.isEmpty == true && waiting.isEmpty)
    }

    /// Whether records for this sink could not be delivered by the end of its pass.
    var hasUndelivered: Bool { left.values.contains { $0 > 0 } }

    /// Requests the subscriptions of `requests` in this and every later session, and passes deliveries to `handler`.
    ///
    /// It returns after ``finish(within:)`` when all started deliveries are answered; with `untilCaughtUp` also when no deliverable record is
    /// left.
    /// - Throws: ``PluginFailure`` if the hub refuses a subscription; the errors of `requests`.
    func serve(
        _ requests: @escaping Requests, width: Int, untilCaughtUp: Bool, _ handler: @escaping Handler
    ) async throws {
        (self.width, self.handler) = (width, handler)
        if untilCaughtUp { unfinished = [] }
        repeat {
            isRenewalDue = false
            for request in try await requests() where !wants.has(request) { change(to: request) }
        } while isRenewalDue
        self.requests = requests
        if !isOver { await withCheckedContinuation { waiter = $0 } }
        wants.finish()
        if let failure { throw failure }
    }

    /// Reads the sink's subscriptions again: requests those that are new or changed, and drops those that are missing.
    ///
    /// - Throws: the errors of the sink; everything stays unchanged then.
    func renew() async throws {
        try await renewals.withLock {
            guard let requests else { return isRenewalDue = true }
            let renewed = try await requests()
            for name in wants.names where !renewed.contains(where: { $0.want == name }) {
                wants.remove(name)
                waiting.removeAll { $0.ticket.want == name }
                unfinished?.remove(name)
            }
            for request in renewed where !wants.has(request) { change(to: request) }
            endIfOver()
        }
    }

    /// Requests a subscription that is new or changed.
    private func change(to request: WantRequest) {
        wants.add(request)
        unfinished?.insert(request.want)
        wantAgain(request.want)
    }

    /// Starts no more deliveries and lets those in progress finish; cancels those that take longer than `limit`.
    func finish(within limit: Duration) {
        isFinishing = true
        wants.finish()
        waiting = []
        for task in running.values {
            loop.schedule(after: limit) { task.cancel() }
        }
        endIfOver()
    }

    private func endIfOver() {
        guard isOver else { return }
        waiter.take()?.resume()
    }

    // MARK: - Messages

    /// Requests all subscriptions in a new session.
    func sessionOpened() {
        guard outlet.session != nil else { return }
        for message in wants.opened() { outlet.send(message) }
    }

    /// Drops the deliveries of a lost session: work in progress continues, but the hub ignores its result and delivers again.
    func sessionLost() {
        wants.lost()
        waiting = []
    }

    /// Requests a subscription again, which ends a pause after a failed log-in.
    func wantAgain(_ want: String) {
        guard outlet.session != nil, let message = wants.again(want) else { return }
        waiting.removeAll { $0.ticket.want == want }
        outlet.send(message)
    }

    /// Requests all subscriptions again: after a log-in, deliveries that failed without one may succeed.
    func wantAllAgain() {
        for want in wants.names { wantAgain(want) }
    }

    /// - Returns: whether the message was for the sink.
    func receive(_ message: HubMessage) -> Bool {
        guard let event = wants.receive(message) else {
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
        case .opened(let answer): opened(answer)
        case .deliver(let ticket, let records):
            waiting.append((ticket, records))
            beginDeliveries()
        case .wait(let want, let delay):
            loop.schedule(after: .milliseconds(delay)) { [weak self] in self?.assumeIsolated { $0.wantAgain(want) } }
        case .refused(let want, let error):
            logger.error("the hub refuses a subscription", metadata: ["want": "\(want)", "hub.error": "\(error)"])
            // A newer session takes over the subscription; this one may still be a source.
            guard error.code != .replaced else {
                unfinished?.remove(want)
                break
            }
            failure = PluginFailure(.refused, "the hub refuses the subscription \(want): \(error.reason)")
        }
        endIfOver()
        return true
    }

    private func opened(_ answer: WantAnswer) {
        logger.info(
            answer.isNew ? "a new subscription is open" : "a subscription is open",
            metadata: ["want": "\(answer.want)", "records.pending": "\(answer.pending)"])
        guard answer.isCaughtUp else { return }
        left[answer.want] = answer.pending
        unfinished?.remove(answer.want)
    }

    // MARK: - Work

    private func beginDeliveries() {
        guard let handler, !isFinishing, !outlet.isStopping else { return }
        // Waiting deliveries belong to the open session, because the end of a session empties the list.
        let epoch = outlet.session?.epoch ?? ""
        var index = 0
        while index < waiting.count {
            let (ticket, records) = waiting[index]
            guard running.keys.count(where: { $0.want == ticket.want }) < width else {
                index += 1
                continue
            }
            waiting.remove(at: index)
            running[ticket] = Task { await self.work(on: ticket, records, epoch, handler) }
        }
    }

    private func work(
        on ticket: ClientWants.Ticket, _ raw: RawRecords, _ epoch: String, _ handler: Handler
    ) async {
        let (records, unreadable) = Self.read(raw, epoch)
        var outcome = DeliveryOutcome(results: [])
        if !records.isEmpty { outcome = await handler(ticket.want, records) }
        var results = outcome.results.makeIterator()
        let all = raw.indices.map { index in unreadable[index] ?? results.next() ?? .retry(after: 0, reason: nil) }
        if let message = wants.done(ticket, results: all, pause: outcome.pause) { outlet.send(message) }
        running[ticket] = nil
        beginDeliveries()
        endIfOver()
    }

    /// The records of a delivery, and a retry result for each record that this version cannot decode because a newer hub wrote it.
    private static func read(_ raw: RawRecords, _ epoch: String) -> ([DeliveredRecord], [Int: DeliveryResult]) {
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
