import HubWire
import Logging
import Samples
import ZeroMQ

/// What became of a delivery.
struct DeliveryOutcome: Sendable {
    var results: [DeliveryResult]
    /// For so many milliseconds the subscription shall rest.
    var pause: Int64?
}

/// Subscriptions, and the deliveries that are being worked on.
///
/// A part of the link's poll loop.
actor SinkDeliveries {
    /// Works on one delivery.
    typealias Handler = @Sendable (_ want: String, [DeliveredRecord]) async -> DeliveryOutcome
    /// Says what the sink wants.
    typealias Requests = @Sendable () async throws -> [WantRequest]

    private let loop: PollLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
    private let outlet: HubOutlet
    private let logger: Logger

    private var wants = ClientWants()
    /// Deliveries of one subscription that are worked on at a time.
    private var width = 1
    private var handler: Handler?
    private var requests: Requests?
    /// Whether the sink was asked to say again what it wants before it had said it.
    private var isRenewalDue = false
    private let renewals = AsyncLock()
    /// Of mode `once`: subscriptions that have something left to deliver.
    private var unfinished: Set<String>?
    /// Records that were left when nothing more could be delivered, by subscription.
    private var left: [String: Int64] = [:]
    /// Not begun yet: at most what the credit allows.
    private var waiting: [(ticket: ClientWants.Ticket, records: RawRecords)] = []
    private var running: [ClientWants.Ticket: Task<Void, Never>] = [:]
    private var failure: PluginFailure?
    private var isFinishing = false
    /// Waits for the end of the sink's work.
    private var waiter: CheckedContinuation<Void, Never>?

    init(on loop: PollLoop, outlet: HubOutlet, logger: Logger) {
        (self.loop, self.outlet, self.logger) = (loop, outlet, logger)
    }

    /// Whether nothing more is to be done.
    private var isOver: Bool {
        running.isEmpty && (isFinishing || failure != nil || unfinished?.isEmpty == true && waiting.isEmpty)
    }

    /// Whether there were records for this sink that could not be delivered when its pass was over.
    var hasUndelivered: Bool { left.values.contains { $0 > 0 } }

    /// Asks for what `requests` says in this and every later session, and has `handler` work on what is delivered.
    ///
    /// Returns after ``finish(within:)``, when everything that had begun is answered; with `untilCaughtUp` also when nothing
    /// is left that could be delivered now.
    /// - Throws: ``PluginFailure`` when the hub refuses a subscription; what `requests` throws.
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

    /// Has the sink say again what it wants: asks for what is new or another, and takes nothing more of what is not among it.
    ///
    /// - Throws: what the sink throws; then everything stays as it was.
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

    /// Asks for a subscription that is new or another now.
    private func change(to request: WantRequest) {
        wants.add(request)
        unfinished?.insert(request.want)
        wantAgain(request.want)
    }

    /// Begins nothing more, and lets what has begun come to its end; what takes longer than `limit` is cancelled.
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

    /// A session is open.
    func sessionOpened() {
        guard outlet.session != nil else { return }
        for message in wants.opened() { outlet.send(message) }
    }

    /// The deliveries of a lost session are void: their work goes on, but the hub ignores what comes of it, and delivers again.
    func sessionLost() {
        wants.lost()
        waiting = []
    }

    /// Asks for a subscription once more, which ends a pause for a failed log-in.
    func wantAgain(_ want: String) {
        guard outlet.session != nil, let message = wants.again(want) else { return }
        waiting.removeAll { $0.ticket.want == want }
        outlet.send(message)
    }

    /// Asks for every subscription once more: after a log-in what has failed for want of one can be delivered.
    func wantAllAgain() {
        for want in wants.names { wantAgain(want) }
    }

    /// - Returns: whether the message was the sink's.
    func receive(_ message: HubMessage) -> Bool {
        guard let event = wants.receive(message) else {
            switch message {
            case .want, .deliver: return true  // Of a subscription that has ended: the hub delivers again.
            case .error(let error) where error.want != nil:
                // Its `ref` names no question of ours. The hub delivers again what this DONE was about.
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
            // Then a newer session does the work; this one may still be a source.
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
        // What waits is of the session that is open: another's end empties it.
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

    /// The records of a delivery, and a result for each that a newer hub wrote in a way that this program cannot read.
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
