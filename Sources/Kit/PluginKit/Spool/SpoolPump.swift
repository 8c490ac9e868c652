import HubWire
import Logging
import Synchronization
import ZeroMQ

/// Sends the records of the spool to the hub, and removes answered records.
///
/// A record that was just spooled is sent from memory. The spool is read only after a start, or if more was given than can be on its way. The
/// pump runs on the link's poll loop and holds at most ``batchBound`` batches in memory.
actor SpoolPump {
    /// Maximum number of batches on their way at the same time.
    private static let batchBound = 4

    let loop: PollLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
    /// `nil` for `--check`, which has no spool.
    let state: PluginState?
    let outlet: HubSender
    let logger: Logger
    let report: SpoolReport?
    /// Counts the removals from the spool.
    nonisolated let removals = Atomic(0)

    /// The id of the last record that was read or sent from memory.
    private var cursor: Int64 = 0
    /// Whether there may be records after the cursor.
    private var mayHaveMore: Bool
    /// Counts calls that spooled records, so that records spooled during a read are not missed.
    private var generation = 0
    /// Whether reading is paused, because the plugin is leaving.
    private var isPaused = false
    private var reading: Task<Void, Never>?
    /// Batches that were read but not accepted by the machine, because its queue was full or the batch had to be split; the oldest is last.
    private var unsent: [[SpooledRecord]] = []
    private var batches: [BatchTicket: [SpooledRecord]] = [:]
    /// Answers of the hub that are not written to the spool yet: one result per record, and when they came in microseconds since 1970.
    var answers: [(records: [SpooledRecord], results: [RecordResult], time: Int64)] = []
    /// The task that writes the answers.
    var settling: Task<Void, Never>?
    /// Whether a disk failure has been logged; each outage is logged once.
    var hasFailed = false

    /// Whether the spool is full, and whether the hub has been notified.
    var fullness = SpoolFillState()
    var roomWaiters: [CheckedContinuation<Void, Never>] = []

    init(
        of state: PluginState?, on loop: PollLoop, outlet: HubSender, logger: Logger, report: SpoolReport? = nil
    ) {
        self.report = report
        (self.state, self.loop, self.outlet, self.logger) = (state, loop, outlet, logger)
        mayHaveMore = state != nil
    }

    /// Whether the hub has all given records.
    var isEmpty: Bool { !mayHaveMore && reading == nil && unsent.isEmpty && batches.isEmpty && answers.isEmpty }

    func sessionOpened() {
        reportFullness()
        pump()
    }

    func sessionLost() { fullness.isTold = false }

    /// Sends records that were just spooled from memory; if others have to go before them, all are read from the spool in their turn.
    ///
    /// - Parameter ids: the numbers of the records in the spool.
    func hasGrown(by groups: [[[UInt8]]], as ids: Range<Int64>) {
        guard let session = outlet.session, !isPaused, !mayHaveMore, reading == nil, unsent.isEmpty, hasPlace,
            !ids.isEmpty,
            ids.lowerBound == cursor + 1, BatchBounds(session).fit(groups)
        else { return hasGrown() }
        hasRoomAgain()
        var batch: [SpooledRecord] = []
        for group in groups {
            let first = ids.lowerBound + Int64(batch.count)
            for bytes in group {
                batch.append(SpooledRecord(id: ids.lowerBound + Int64(batch.count), group: first, bytes: bytes))
            }
        }
        cursor = ids.upperBound - 1
        _ = submit(batch)
    }

    /// Continues after records were spooled.
    func hasGrown() {
        mayHaveMore = true
        generation += 1
        hasRoomAgain()
        pump()
    }

    func pause() { isPaused = true }

    /// Returns when no read is in progress and the answers received are in the spool, if the disk accepts them.
    func untilQuiet() async {
        await reading?.value
        await settling?.value
    }

    // MARK: - Reading

    /// Whether one more batch may be on its way.
    private var hasPlace: Bool { batches.count + answers.count < Self.batchBound }

    /// Sends the batches that were read, and reads the next batch of the spool if a session is open.
    func pump() {
        guard let state, !isPaused, let session = outlet.session else { return }
        while hasPlace, let batch = unsent.popLast() {
            guard submit(batch) else { break }
        }
        guard unsent.isEmpty, reading == nil, mayHaveMore, hasPlace else { return }
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

    /// Adds batches in the order of the spool.
    private func wait(_ batches: [[SpooledRecord]]) {
        unsent += batches
        unsent.sort { $0[0].id > $1[0].id }
    }

    /// Submits a batch to the machine; keeps it and returns false if the machine's queue is full.
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

    /// Logs a disk failure once, and tries again in a second.
    func failed(_ error: any Error, _ again: @escaping @Sendable (isolated SpoolPump) -> Void) {
        if !hasFailed { logger.error("the spool cannot be used", metadata: ["spool.error": "\(error)"]) }
        hasFailed = true
        loop.schedule(after: .seconds(1)) { [weak self] in self?.assumeIsolated { again($0) } }
    }

    // MARK: - Answers

    /// Handles the hub's answer to a batch.
    /// - Returns: whether the batch came from the spool.
    func stored(_ ticket: BatchTicket, _ results: [RecordResult]) -> Bool {
        guard let batch = batches.removeValue(forKey: ticket) else { return false }
        settle(batch, results)
        return true
    }

    /// Handles the refusal of a whole batch: splits it into halves, and puts aside a single group that is refused.
    /// - Returns: whether the batch came from the spool.
    func refused(_ ticket: BatchTicket, _ error: WireError) -> Bool {
        guard let batch = batches.removeValue(forKey: ticket) else { return false }
        let middle = batch[batch.count / 2].group
        // Cut at the start of the group in the middle or, if that is the first group, at its end.
        let cut =
            batch.firstIndex { $0.group == middle }.flatMap { $0 > 0 ? $0 : nil }
            ?? batch.firstIndex { $0.group != middle }
        if let cut {
            wait([Array(batch[..<cut]), Array(batch[cut...])])
        } else {
            let result = RecordResult.rejected(.init(received: error.code.rawValue), reason: error.reason)
            settle(batch, Array(repeating: result, count: batch.count))
        }
        return true
    }
}

/// Writes the hub's answers to the spool.
extension SpoolPump {
    /// - Parameter results: one per record, in their order.
    func settle(_ records: [SpooledRecord], _ results: [RecordResult]) {
        for (record, result) in zip(records, results) {
            report?(record, result)
            guard case .rejected(let code, let reason) = result else { continue }
            logger.error(
                "the hub rejected a record",
                metadata: ["record.spooled": "\(record.id)", "hub.code": "\(code)", "hub.reason": "\(reason)"])
        }
        answers.append((records, results, outlet.clock.now()))
        settleAll()
    }

    private func settleAll() {
        guard let state, settling == nil, !answers.isEmpty else { return }
        settling = Task { await self.settleAll(in: state) }
    }

    private func settleAll(in state: PluginState) async {
        while !answers.isEmpty {
            let due = answers
            do {
                try await state.transaction { transaction in
                    for answer in due { try transaction.settle(answer.records, answer.results, at: answer.time) }
                }
            } catch {
                settling = nil
                return failed(error) { $0.settleAll() }
            }
            hasFailed = false
            answers.removeFirst(due.count)
            removals.wrappingAdd(1, ordering: .relaxed)
            endWaits()
            pump()
        }
        settling = nil
        outlet.spoolHasChanged()
    }
}

extension PluginState.Transaction {
    /// Removes answered records from the spool; rejected ones are kept for a person.
    fileprivate func settle(_ records: [SpooledRecord], _ results: [RecordResult], at time: Int64) throws {
        var (stored, duplicate, refused): ([Int64], [Int64], [SpoolRefusal]) = ([], [], [])
        for (record, result) in zip(records, results) {
            switch result {
            case .stored: stored.append(record.id)
            case .duplicate: duplicate.append(record.id)
            case .rejected(let code, let reason):
                refused.append(SpoolRefusal(id: record.id, code: code.rawValue, reason: reason))
            }
        }
        try remove(stored, as: .stored)
        try remove(duplicate, as: .duplicate)
        if !refused.isEmpty { try refuse(refused, at: time) }
    }
}
