import HubWire
import Logging
import PluginState
import Synchronization
import ZeroMQ

/// The spool's way to the hub: reads it ahead, and empties it behind.
///
/// A part of the link's poll loop. Holds at most ``batchBound`` batches of the spool in memory.
actor SpoolPump {
    /// Batches that are on their way at a time.
    private static let batchBound = 4

    let loop: PollLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
    /// Nil for `--check`, which has no spool.
    let state: PluginState?
    let outlet: HubOutlet
    let logger: Logger
    private let report: SpoolReport?
    /// How often something has left the spool.
    nonisolated let removals = Atomic(0)

    /// Records up to this id have been read.
    private var cursor: Int64 = 0
    /// Whether there may be records behind the cursor.
    private var mayHaveMore: Bool
    /// Counts what callers have spooled, so that nothing spooled during a read is overlooked.
    private var generation = 0
    /// Nothing is read, because the plugin is leaving.
    private var isPaused = false
    private var reading: Task<Void, Never>?
    /// Read, and not taken by the machine yet: its queue was full, or the batch had to be split; the oldest last.
    private var unsent: [[SpooledRecord]] = []
    private var batches: [BatchTicket: [SpooledRecord]] = [:]
    /// Answers of the hub that are not in the spool yet.
    var answers: [BatchAnswer] = []
    /// Writes the answers.
    var settling: Task<Void, Never>?
    /// One log line for an outage of the disk.
    var hasFailed = false

    /// Whether the hub should know that the spool is full, and whether it does.
    var fullness = Fullness()
    var roomWaiters: [CheckedContinuation<Void, Never>] = []

    init(
        of state: PluginState?, on loop: PollLoop, outlet: HubOutlet, logger: Logger, report: SpoolReport? = nil
    ) {
        self.report = report
        (self.state, self.loop, self.outlet, self.logger) = (state, loop, outlet, logger)
        mayHaveMore = state != nil
    }

    /// Whether everything that was given is with the hub.
    var isEmpty: Bool { !mayHaveMore && reading == nil && unsent.isEmpty && batches.isEmpty && answers.isEmpty }

    func sessionOpened() {
        tellFullness()
        pump()
    }

    func sessionLost() { fullness.isTold = false }

    /// There is more in the spool.
    func hasGrown() {
        mayHaveMore = true
        generation += 1
        hasRoomAgain()
        pump()
    }

    func pause() { isPaused = true }

    /// Returns when nothing is being read, and the answers that have come are in the spool, if the disk takes them.
    func untilQuiet() async {
        await reading?.value
        await settling?.value
    }

    // MARK: - Reading

    /// Sends what was read, and reads the next batch of the spool, if the hub can have it.
    func pump() {
        guard let state, !isPaused, let session = outlet.session else { return }
        while batches.count + answers.count < Self.batchBound, let batch = unsent.popLast() {
            guard submit(batch) else { break }
        }
        guard unsent.isEmpty, reading == nil, mayHaveMore, batches.count + answers.count < Self.batchBound else {
            return
        }
        let bounds = BatchBounds(session)
        reading = Task { await self.read(state, bounds) }
    }

    private func read(_ state: PluginState, _ bounds: BatchBounds) async {
        let known = generation
        do throws(PluginStateError) {
            let batch = try await state.nextBatch(
                maximumRecords: bounds.records, maximumBytes: bounds.bytes, after: cursor)
            reading = nil
            hasFailed = false
            if let last = batch.last {
                cursor = last.id
                wait([batch])
            } else {
                mayHaveMore = known != generation
            }
            pump()
            outlet.spoolHasChanged()
        } catch {
            reading = nil
            failed(error) { $0.pump() }
        }
    }

    /// Puts batches where they belong by the order of the spool.
    private func wait(_ batches: [[SpooledRecord]]) {
        unsent += batches
        unsent.sort { $0[0].id > $1[0].id }
    }

    /// Hands a batch to the machine; keeps it and returns false when the queue there is full.
    private func submit(_ batch: [SpooledRecord]) -> Bool {
        var records = RawRecords()
        for record in batch { records.append(record.bytes) }
        do throws(SubmitError) {
            let submission = try outlet.submit(OutgoingBatch(records: records))
            batches[submission.ticket] = batch
            outlet.begin(submission)
            return true
        } catch {
            wait([batch])
            return false
        }
    }

    /// Logs an outage of the disk once, and tries again in a second.
    func failed(_ error: any Error, _ again: @escaping @Sendable (isolated SpoolPump) -> Void) {
        if !hasFailed { logger.error("the spool cannot be used", metadata: ["spool.error": "\(error)"]) }
        hasFailed = true
        loop.schedule(after: .seconds(1)) { [weak self] in self?.assumeIsolated { again($0) } }
    }

    // MARK: - Answers

    /// The hub has answered a batch.
    /// - Returns: whether the batch came from the spool.
    func stored(_ ticket: BatchTicket, _ results: [RecordResult]) -> Bool {
        guard let batch = batches.removeValue(forKey: ticket) else { return false }
        var answer = BatchAnswer(time: outlet.clock.now())
        for (record, result) in zip(batch, results) {
            report?(record, result)
            switch result {
            case .stored: answer.stored.append(record.id)
            case .duplicate: answer.duplicate.append(record.id)
            case .rejected(let code, let reason):
                answer.refusals.append(SpoolRefusal(id: record.id, code: code.rawValue, reason: reason))
                logger.error(
                    "the hub rejected a record",
                    metadata: ["record.spooled": "\(record.id)", "hub.code": "\(code)", "hub.reason": "\(reason)"])
            }
        }
        settle(answer)
        return true
    }

    /// A batch as a whole was refused: its halves are tried, and a group that is refused alone is put aside.
    /// - Returns: whether the batch came from the spool.
    func refused(_ ticket: BatchTicket, _ error: WireError) -> Bool {
        guard let batch = batches.removeValue(forKey: ticket) else { return false }
        let middle = batch[batch.count / 2].group
        // Where the group in the middle begins, or, when that is the first, where it ends.
        let cut =
            batch.firstIndex { $0.group == middle }.flatMap { $0 > 0 ? $0 : nil }
            ?? batch.firstIndex { $0.group != middle }
        if let cut {
            wait([Array(batch[..<cut]), Array(batch[cut...])])
            return true
        }
        let refusals = batch.map { SpoolRefusal(id: $0.id, code: error.code.rawValue, reason: error.reason) }
        logger.error(
            "the hub refused a group of records",
            metadata: ["record.spooled": "\(batch.first?.id ?? 0)", "hub.error": "\(error)"])
        for record in batch { report?(record, .rejected(.init(received: error.code.rawValue), reason: error.reason)) }
        settle(BatchAnswer(refusals: refusals, time: outlet.clock.now()))
        return true
    }
}
