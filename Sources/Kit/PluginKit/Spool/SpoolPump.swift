import HubWire
import Logging
import Synchronization
import ZeroMQ

/// The records of the spool on their way to the hub, and the answers on their way to the spool.
///
/// A record that was just spooled is sent from memory. The spool is read only after a start, or if more was given than can be on its way. At
/// most ``batchBound`` batches are in memory.
struct SpoolPump: Sendable {
    /// Maximum number of batches on their way at the same time.
    private static let batchBound = 4

    /// Whether the spool is full, and whether the hub has been notified.
    fileprivate struct Fullness {
        var isFull = false
        var isTold = false
        var message = ""
        /// ``HubLink/spoolRemovals`` before the spool was found full.
        var removals = 0
    }

    /// `nil` for `--check`, which has no spool.
    fileprivate let state: PluginState?
    fileprivate let report: SpoolReport?

    /// The id of the last record that was read or sent from memory.
    fileprivate var cursor: Int64 = 0
    /// Whether there may be records after the cursor.
    fileprivate var mayHaveMore: Bool
    /// Counts calls that spooled records, so that records spooled during a read are not missed.
    fileprivate var generation = 0
    /// Whether reading is paused, because the plugin is leaving.
    var isPaused = false
    fileprivate var reading: Task<Void, Never>?
    /// Batches that were read but not accepted by the machine, because its queue was full or the batch had to be split; the oldest is last.
    fileprivate var unsent: [[SpooledRecord]] = []
    fileprivate var batches: [BatchTicket: [SpooledRecord]] = [:]
    /// Answers of the hub that are not written to the spool yet: one result per record, and when they came in microseconds since 1970.
    fileprivate var answers: [(records: [SpooledRecord], results: [RecordResult], time: Int64)] = []
    /// The task that writes the answers.
    fileprivate var settling: Task<Void, Never>?
    /// Whether a disk failure has been logged; each outage is logged once.
    fileprivate var hasFailed = false

    fileprivate var fullness = Fullness()
    fileprivate var roomWaiters: [CheckedContinuation<Void, Never>] = []

    init(of state: PluginState?, report: SpoolReport?) {
        (self.state, self.report) = (state, report)
        mayHaveMore = state != nil
    }

    /// Whether the hub has all given records.
    var isEmpty: Bool { !mayHaveMore && reading == nil && unsent.isEmpty && batches.isEmpty && answers.isEmpty }

    /// Whether one more batch may be on its way.
    fileprivate var hasPlace: Bool { batches.count + answers.count < Self.batchBound }

    /// Whether records that were just spooled may be sent from memory, because all others are on their way.
    fileprivate func mayPass(_ ids: Range<Int64>) -> Bool {
        !isPaused && !mayHaveMore && reading == nil && unsent.isEmpty && hasPlace && !ids.isEmpty
            && ids.lowerBound == cursor + 1
    }

    /// Adds batches in the order of the spool.
    fileprivate mutating func wait(_ batches: [[SpooledRecord]]) {
        unsent += batches
        unsent.sort { $0[0].id > $1[0].id }
    }

    /// Removes a batch that the hub has answered; `nil` if the batch did not come from the spool.
    mutating func remove(_ ticket: BatchTicket) -> [SpooledRecord]? { batches.removeValue(forKey: ticket) }

    /// A full spool is reported again in the next session.
    mutating func sessionLost() { fullness.isTold = false }
}

/// Sends the records of the spool to the hub.
extension HubLink {
    /// Sends records that were just spooled from memory; if others have to go before them, all are read from the spool in their turn.
    ///
    /// - Parameter ids: the numbers of the records in the spool.
    func spoolHasGrown(by groups: [[[UInt8]]], as ids: Range<Int64>) {
        guard let session = machine.session, spool.mayPass(ids), BatchBounds(session).fit(groups) else {
            return spoolHasGrown()
        }
        spoolHasRoomAgain()
        var batch: [SpooledRecord] = []
        for group in groups {
            let first = ids.lowerBound + Int64(batch.count)
            for bytes in group {
                batch.append(SpooledRecord(id: ids.lowerBound + Int64(batch.count), group: first, bytes: bytes))
            }
        }
        spool.cursor = ids.upperBound - 1
        _ = submitSpooled(batch)
    }

    /// Continues after records were spooled.
    func spoolHasGrown() {
        spool.mayHaveMore = true
        spool.generation += 1
        spoolHasRoomAgain()
        pumpSpool()
    }

    /// Returns when no read is in progress and the answers received are in the spool, if the disk accepts them.
    func untilSpoolIsQuiet() async {
        await spool.reading?.value
        await spool.settling?.value
    }

    /// Sends the batches that were read, and reads the next batch of the spool if a session is open.
    func pumpSpool() {
        guard let state = spool.state, !spool.isPaused, let session = machine.session else { return }
        while spool.hasPlace, let batch = spool.unsent.popLast() {
            guard submitSpooled(batch) else { break }
        }
        guard spool.unsent.isEmpty, spool.reading == nil, spool.mayHaveMore, spool.hasPlace else { return }
        let bounds = BatchBounds(session)
        spool.reading = Task { await self.readSpool(state, bounds) }
    }

    private func readSpool(_ state: PluginState, _ bounds: BatchBounds) async {
        let known = spool.generation
        do throws(PluginStateError) {
            let batch = try await state.nextBatch(
                maximumRecords: bounds.records, maximumBytes: bounds.bytes, after: spool.cursor)
            spool.reading = nil
            spool.hasFailed = false
            if let last = batch.last {
                spool.cursor = last.id
                spool.wait([batch])
            } else {
                spool.mayHaveMore = known != spool.generation
            }
            pumpSpool()
            finishIfDrained()
        } catch {
            spool.reading = nil
            spoolHasFailed(error) { $0.pumpSpool() }
        }
    }

    /// Submits a batch to the machine; keeps it and returns false if the machine's queue is full.
    private func submitSpooled(_ batch: [SpooledRecord]) -> Bool {
        var records = RawRecords()
        for record in batch { records.append(record.bytes) }
        do throws(SubmitError) {
            let (ticket, actions) = try machine.submit(OutgoingBatch(records: records), at: now)
            // Note the ticket first, because the answer may arrive during the step.
            spool.batches[ticket] = batch
            step { _, _ in actions }
            return true
        } catch {
            spool.wait([batch])
            return false
        }
    }

    /// Logs a disk failure once, and tries again in a second.
    private func spoolHasFailed(_ error: any Error, _ again: @escaping @Sendable (isolated HubLink) -> Void) {
        if !spool.hasFailed { logger.error("the spool cannot be used", metadata: ["spool.error": "\(error)"]) }
        spool.hasFailed = true
        loop.schedule(after: .seconds(1)) { [weak self] in self?.assumeIsolated { again($0) } }
    }
}

/// Writes the hub's answers to the spool.
extension HubLink {
    /// Handles the refusal of a whole batch: splits it into halves, and puts aside a single group that is refused.
    func refused(_ batch: [SpooledRecord], _ error: WireError) {
        let middle = batch[batch.count / 2].group
        // Cut at the start of the group in the middle or, if that is the first group, at its end.
        let cut =
            batch.firstIndex { $0.group == middle }.flatMap { $0 > 0 ? $0 : nil }
            ?? batch.firstIndex { $0.group != middle }
        if let cut {
            spool.wait([Array(batch[..<cut]), Array(batch[cut...])])
        } else {
            let result = RecordResult.rejected(.init(received: error.code.rawValue), reason: error.reason)
            answered(batch, Array(repeating: result, count: batch.count))
        }
    }

    /// - Parameter results: one per record, in their order.
    func answered(_ records: [SpooledRecord], _ results: [RecordResult]) {
        for (record, result) in zip(records, results) {
            spool.report?(record, result)
            guard case .rejected(let code, let reason) = result else { continue }
            logger.error(
                "the hub rejected a record",
                metadata: ["record.spooled": "\(record.id)", "hub.code": "\(code)", "hub.reason": "\(reason)"])
        }
        spool.answers.append((records, results, clock.now()))
        writeAnswers()
    }

    private func writeAnswers() {
        guard let state = spool.state, spool.settling == nil, !spool.answers.isEmpty else { return }
        spool.settling = Task { await self.writeAnswers(in: state) }
    }

    private func writeAnswers(in state: PluginState) async {
        while !spool.answers.isEmpty {
            let due = spool.answers
            do {
                try await state.transaction { transaction in
                    for answer in due { try transaction.settle(answer.records, answer.results, at: answer.time) }
                }
            } catch {
                spool.settling = nil
                return spoolHasFailed(error) { $0.writeAnswers() }
            }
            spool.hasFailed = false
            spool.answers.removeFirst(due.count)
            spoolRemovals.wrappingAdd(1, ordering: .relaxed)
            wakeRoomWaiters()
            pumpSpool()
        }
        spool.settling = nil
        finishIfDrained()
    }
}

/// Handles a full spool.
extension HubLink {
    /// Notes that a source could not give records because the spool is full, and reports it to the hub, at the next WELCOME if the hub is away.
    ///
    /// - Parameter removals: the value of ``spoolRemovals`` before the attempt.
    func spoolIsFull(_ message: String, after removals: Int) {
        if !spool.fullness.isFull { logger.error("the spool is full", metadata: ["spool.error": "\(message)"]) }
        spool.fullness.isFull = true
        spool.fullness.message = message
        spool.fullness.removals = removals
        reportFullness()
    }

    func reportFullness() {
        guard spool.fullness.isFull, !spool.fullness.isTold, machine.isOpen else { return }
        spool.fullness.isTold = true
        guard let event = try? DeviceEvent("spool-full", severity: .error, text: spool.fullness.message) else { return }
        sendIfReady(.event(event))
    }

    /// Clears the fullness, because records could be spooled.
    private func spoolHasRoomAgain() {
        guard spool.fullness.isFull else { return }
        spool.fullness = SpoolPump.Fullness()
        if let event = try? DeviceEvent("error", isResolved: true) { sendIfReady(.event(event)) }
    }

    /// Returns when a record has left the spool since it was found full, or when the program has to stop.
    package func waitForRoom() async {
        guard !rejectsRequests else { return }
        // A record has left since then, and it may have been the last one to leave.
        if spool.fullness.isFull, spool.fullness.removals != spoolRemovals.load(ordering: .relaxed) { return }
        await withCheckedContinuation { spool.roomWaiters.append($0) }
    }

    func wakeRoomWaiters() {
        let waiters = spool.roomWaiters
        spool.roomWaiters = []
        for waiter in waiters { waiter.resume() }
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
