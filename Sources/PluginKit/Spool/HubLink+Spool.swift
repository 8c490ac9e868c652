import HubWire
import Logging
import PluginState
import Synchronization
import ZeroMQ

/// How the spool is read ahead and emptied behind.
struct SpoolPump {
    /// Records up to this id have been read.
    var cursor: Int64 = 0
    /// Whether there may be records behind the cursor.
    var mayHaveMore = true
    /// Counts what callers have spooled, so that nothing spooled during a read is overlooked.
    var generation = 0
    /// Nothing is read, because the plugin is leaving.
    var isPaused = false
    var reading: Task<Void, Never>?
    /// Read, and not taken by the machine yet: its queue was full, or the batch had to be split; the oldest last.
    private(set) var unsent: [[SpooledRecord]] = []
    var batches: [BatchTicket: [SpooledRecord]] = [:]
    /// Answers of the hub that are not in the spool yet.
    var settlements: [BatchAnswer] = []
    var settling: Task<Void, Never>?
    /// One log line for an outage of the disk.
    var hasFailed = false

    /// Puts batches where they belong by the order of the spool.
    mutating func wait(_ batches: [[SpooledRecord]]) {
        unsent += batches
        unsent.sort { $0[0].id > $1[0].id }
    }

    /// The oldest batch that was not sent.
    mutating func takeUnsent() -> [SpooledRecord]? { unsent.popLast() }

    var isEmpty: Bool { !mayHaveMore && reading == nil && unsent.isEmpty && batches.isEmpty && settlements.isEmpty }
}

/// What the hub said of the records of a batch.
struct BatchAnswer: Sendable {
    var stored: [Int64] = []
    var duplicate: [Int64] = []
    var refusals: [Refusal] = []
    /// Microseconds since 1970.
    var time: Int64
}

/// Whether the spool is full, and whether the hub knows.
struct Fullness {
    var isFull = false
    var isTold = false
    var message = ""
    /// ``HubLink/removals`` before the spool was found full.
    var removals = 0
}

extension HubLink {
    /// There is more in the spool.
    func spoolHasGrown() {
        spool.mayHaveMore = true
        spool.generation += 1
        if fullness.isFull {
            fullness = Fullness()
            if let event = try? DeviceEvent("error", isResolved: true) { pass(.event(event)) }
        }
        readSpool()
    }

    /// A source could not give because of the bound; the hub's people are told, at the next WELCOME if it is away.
    ///
    /// - Parameter removals: what ``removals`` was before.
    func spoolIsFull(_ message: String, after removals: Int) {
        if !fullness.isFull { logger.error("the spool is full", metadata: ["spool.error": "\(message)"]) }
        fullness.isFull = true
        fullness.message = message
        fullness.removals = removals
        tellFullness()
    }

    func tellFullness() {
        guard fullness.isFull, !fullness.isTold, machine.isOpen else { return }
        fullness.isTold = true
        if let event = try? DeviceEvent("spool-full", severity: .error, text: fullness.message) { pass(.event(event)) }
    }

    func waitForRoom() async {
        guard !isStopping else { return }
        if end != nil { return }
        // There has been room since: that was perhaps the last time that anything left.
        if fullness.isFull, fullness.removals != removals.load(ordering: .relaxed) { return }
        await withCheckedContinuation { roomWaiters.append($0) }
    }

    /// Sends what was read, and reads the next batch of the spool, if the hub can have it.
    func readSpool() {
        guard let state, !spool.isPaused, machine.isOpen, let welcome = machine.welcome else { return }
        while spool.batches.count + spool.settlements.count < Self.spoolBatches, let batch = spool.takeUnsent() {
            guard submit(batch) else { break }
        }
        guard spool.unsent.isEmpty, spool.reading == nil, spool.mayHaveMore,
            spool.batches.count + spool.settlements.count < Self.spoolBatches
        else { return }
        let bounds = BatchBounds(welcome)
        spool.reading = Task { await self.readBatch(of: state, bounds) }
    }

    private func readBatch(of state: PluginState, _ bounds: BatchBounds) async {
        let generation = spool.generation
        do throws(PluginStateError) {
            let batch = try await state.nextBatch(
                maximumRecords: bounds.records, maximumBytes: bounds.bytes, after: spool.cursor)
            spool.reading = nil
            spool.hasFailed = false
            if let last = batch.last {
                spool.cursor = last.id
                spool.wait([batch])
            } else {
                spool.mayHaveMore = generation != spool.generation
            }
            readSpool()
            finishIfDrained()
        } catch {
            spool.reading = nil
            spoolFailed(error) { $0.readSpool() }
        }
    }

    /// Hands a batch to the machine; keeps it and returns false when the queue there is full.
    private func submit(_ batch: [SpooledRecord]) -> Bool {
        var records = RawRecords()
        for record in batch { records.append(record.bytes) }
        do throws(SubmitError) {
            let submitted = try machine.submit(OutgoingBatch(records: records), at: now)
            spool.batches[submitted.ticket] = batch
            step { _, _ in submitted.actions }
            return true
        } catch {
            spool.wait([batch])
            return false
        }
    }

    /// The hub has answered a batch of the spool.
    func settle(_ batch: [SpooledRecord], _ results: [RecordResult]) {
        var settlement = BatchAnswer(time: terms.withLock { $0.clock }.now())
        for (record, result) in zip(batch, results) {
            switch result {
            case .stored: settlement.stored.append(record.id)
            case .duplicate: settlement.duplicate.append(record.id)
            case .rejected(let code, let reason):
                settlement.refusals.append(Refusal(id: record.id, code: code.rawValue, reason: reason))
                logger.error(
                    "the hub rejected a record",
                    metadata: ["record.spooled": "\(record.id)", "hub.code": "\(code)", "hub.reason": "\(reason)"])
            }
        }
        commit(settlement)
    }

    /// A batch as a whole was refused: its halves are tried, and a group that is refused alone is put aside.
    func refuse(_ batch: [SpooledRecord], _ error: WireError) {
        let middle = batch[batch.count / 2].group
        // Where the group in the middle begins, or, when that is the first, where it ends.
        let cut =
            batch.firstIndex { $0.group == middle }.flatMap { $0 > 0 ? $0 : nil }
            ?? batch.firstIndex { $0.group != middle }
        if let cut {
            spool.wait([Array(batch[..<cut]), Array(batch[cut...])])
            return readSpool()
        }
        let refusals = batch.map { Refusal(id: $0.id, code: error.code.rawValue, reason: error.reason) }
        logger.error(
            "the hub refused a group of records",
            metadata: ["record.spooled": "\(batch.first?.id ?? 0)", "hub.error": "\(error)"])
        commit(BatchAnswer(refusals: refusals, time: terms.withLock { $0.clock }.now()))
    }

    private func commit(_ settlement: BatchAnswer) {
        spool.settlements.append(settlement)
        commitSettlements()
    }

    private func commitSettlements() {
        guard let state, spool.settling == nil, !spool.settlements.isEmpty else { return }
        spool.settling = Task { await self.commitSettlements(in: state) }
    }

    private func commitSettlements(in state: PluginState) async {
        while !spool.settlements.isEmpty {
            let due = spool.settlements
            do {
                try await state.transaction { transaction in
                    for settlement in due {
                        try transaction.remove(settlement.stored, as: .stored)
                        try transaction.remove(settlement.duplicate, as: .duplicate)
                        try transaction.refuse(settlement.refusals, at: settlement.time)
                    }
                }
            } catch {
                spool.settling = nil
                return spoolFailed(error) { $0.commitSettlements() }
            }
            spool.hasFailed = false
            spool.settlements.removeFirst(due.count)
            removals.wrappingAdd(1, ordering: .relaxed)
            resume(&roomWaiters)
            readSpool()
        }
        spool.settling = nil
        finishIfDrained()
    }

    /// Waits until the answers that have come are in the spool, if the disk takes them.
    func settled() async { await spool.settling?.value }

    /// Logs an outage of the disk once, and tries again in a second.
    private func spoolFailed(_ error: any Error, _ again: @escaping @Sendable (isolated HubLink) -> Void) {
        if !spool.hasFailed { logger.error("the spool cannot be used", metadata: ["spool.error": "\(error)"]) }
        spool.hasFailed = true
        loop.schedule(after: .seconds(1)) { [weak self] in self?.assumeIsolated { again($0) } }
    }
}
