import HubWire
import Logging
import Samples
import Synchronization
import ZeroMQ

/// Subscriptions, and the deliveries that are being worked on.
struct SinkLine {
    /// Works on one delivery.
    typealias Handler = @Sendable (_ want: String, [DeliveredRecord]) async -> DeliveryOutcome

    var wants = ClientWants()
    /// Deliveries of one subscription that are worked on at a time.
    var width = 1
    var handler: Handler?
    /// Of mode `once`: subscriptions that have something left to deliver.
    var unfinished: Set<String>?
    /// Records that were left when nothing more could be delivered, by subscription.
    var left: [String: Int64] = [:]
    /// Not begun yet: at most what the credit allows.
    var waiting: [(ticket: ClientWants.Ticket, records: RawRecords)] = []
    var running: [ClientWants.Ticket: Task<Void, Never>] = [:]
    var refusal: PluginFailure?
    var isFinishing = false
    /// Who waits for the end of the sink's work.
    var waiter: CheckedContinuation<Void, Never>?

    /// Whether nothing more is to be done.
    var isOver: Bool {
        running.isEmpty && (isFinishing || refusal != nil || unfinished?.isEmpty == true && waiting.isEmpty)
    }
}

/// What became of a delivery.
struct DeliveryOutcome: Sendable {
    var results: [DeliveryResult]
    /// For so many milliseconds the subscription shall rest.
    var pause: Int64?
}

extension HubLink {
    /// Asks for subscriptions in this and every later session, and has `handler` work on what is delivered.
    ///
    /// Returns after ``finishSink(within:)``, when everything that had begun is answered; with `untilCaughtUp` also when nothing
    /// is left that could be delivered now.
    /// - Throws: ``PluginFailure`` when the hub refuses a subscription.
    func serve(
        _ requests: [WantRequest], width: Int, untilCaughtUp: Bool, _ handler: @escaping SinkLine.Handler
    ) async throws(PluginFailure) {
        for request in requests { sink.wants.add(request) }
        (sink.width, sink.handler) = (width, handler)
        if untilCaughtUp { sink.unfinished = Set(requests.map(\.want)) }
        openWants()
        if !sink.isOver { await withCheckedContinuation { sink.waiter = $0 } }
        sink.wants.finish()
        if let refusal = sink.refusal { throw refusal }
    }

    /// Begins nothing more, and lets what has begun come to its end; what takes longer than `limit` is cancelled.
    func finishSink(within limit: Duration) {
        sink.isFinishing = true
        sink.wants.finish()
        sink.waiting = []
        for task in sink.running.values {
            loop.schedule(after: limit) { task.cancel() }
        }
        endSinkIfOver()
    }

    /// Whether there were records for this sink that could not be delivered when its pass was over.
    var hasUndelivered: Bool { sink.left.values.contains { $0 > 0 } }

    private func endSinkIfOver() {
        guard sink.isOver else { return }
        sink.waiter.take()?.resume()
    }

    // MARK: - Messages

    /// A session is open, or the subscriptions have just become known.
    func openWants() {
        guard machine.isOpen else { return }
        for message in sink.wants.opened() { post(message) }
    }

    /// Deliveries of a lost session are void: their work goes on, but nobody waits for it, and the hub delivers again.
    func loseWants() {
        sink.wants.lost()
        sink.waiting = []
    }

    /// Asks for a subscription once more, which ends a pause for a failed log-in.
    func wantAgain(_ want: String) {
        guard machine.isOpen, let message = sink.wants.again(want) else { return }
        sink.waiting.removeAll { $0.ticket.want == want }
        post(message)
    }

    /// Asks for every subscription once more: after a log-in what has failed for want of one can be delivered.
    func wantAllAgain() {
        for want in sink.wants.names { wantAgain(want) }
    }

    /// - Returns: whether the message was the sink's.
    func receiveForSink(_ message: HubMessage) -> Bool {
        guard let event = sink.wants.receive(message) else {
            switch message {
            case .want, .deliver: return true  // Of a subscription that has ended: the hub delivers again.
            case .error(let error) where error.want != nil:
                // Its `ref` is no question of ours. The hub delivers again what this DONE was about.
                logger.warning("the hub could not take an answer to a delivery", metadata: ["hub.error": "\(error)"])
                return true
            default: return false
            }
        }
        switch event {
        case .opened(let answer): opened(answer)
        case .deliver(let ticket, let records):
            sink.waiting.append((ticket, records))
            beginDeliveries()
        case .wait(let want, let delay):
            loop.schedule(after: .milliseconds(delay)) { [weak self] in self?.assumeIsolated { $0.wantAgain(want) } }
        case .refused(let want, let error):
            logger.error("the hub refuses a subscription", metadata: ["want": "\(want)", "hub.error": "\(error)"])
            // Then a newer session does the work; this one may still be a source.
            guard error.code != .replaced else {
                sink.unfinished?.remove(want)
                break
            }
            sink.refusal = PluginFailure(.refused, "the hub refuses the subscription \(want): \(error.reason)")
        }
        endSinkIfOver()
        return true
    }

    private func opened(_ answer: WantAnswer) {
        logger.info(
            answer.isNew ? "a new subscription is open" : "a subscription is open",
            metadata: ["want": "\(answer.want)", "records.pending": "\(answer.pending)"])
        guard answer.isCaughtUp else { return }
        sink.left[answer.want] = answer.pending
        sink.unfinished?.remove(answer.want)
    }

    /// Sends what must not be dropped; without a session it means nothing any more.
    private func post(_ message: ClientMessage) {
        if let action = machine.message(message) { perform([action]) }
    }

    // MARK: - Work

    private func beginDeliveries() {
        guard let handler = sink.handler, !sink.isFinishing, !hasStopRequest.withLock({ $0 }) else { return }
        // Nothing waits that another session has delivered.
        let epoch = machine.welcome?.epoch ?? ""
        var index = 0
        while index < sink.waiting.count {
            let (ticket, records) = sink.waiting[index]
            guard sink.running.keys.count(where: { $0.want == ticket.want }) < sink.width else {
                index += 1
                continue
            }
            sink.waiting.remove(at: index)
            sink.running[ticket] = Task { await self.work(on: ticket, records, epoch, handler) }
        }
    }

    private func work(
        on ticket: ClientWants.Ticket, _ raw: RawRecords, _ epoch: String, _ handler: SinkLine.Handler
    ) async {
        let (records, unreadable) = Self.read(raw, epoch)
        var outcome = DeliveryOutcome(results: [])
        if !records.isEmpty { outcome = await handler(ticket.want, records) }
        var results = outcome.results.makeIterator()
        let all = raw.indices.map { index in unreadable[index] ?? results.next() ?? .retry(after: 0, reason: nil) }
        if let message = sink.wants.done(ticket, results: all, pause: outcome.pause) { post(message) }
        sink.running[ticket] = nil
        beginDeliveries()
        endSinkIfOver()
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
