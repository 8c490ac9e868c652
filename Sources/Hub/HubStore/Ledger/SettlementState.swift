import GRDB

/// The hub's own decisions about a version.
enum HubDecision {
    case skip(SkipReason)
    /// The version waits in its own row, because an older version is in transit.
    case setAside
    /// The version is about to be handed out from its row.
    case offer
}

extension LedgerCache {
    /// Stores answers and moves the sink's cursor.
    mutating func settle(
        _ settlement: SinkSettlement, head: Int64, at recordedAt: Int64, waitTime: Int64, in db: Database
    ) throws {
        // The sink was forgotten while deliveries were in transit, so there is nothing to count.
        guard let index = index(of: settlement.sink) else { return }
        var settling = SettlementState(
            sinks[index], head: head, reached: settlement.reached, offered: marks.offered(settlement.sink),
            at: recordedAt, waitTime: waitTime, db)
        for answer in settlement.answers { try settling.take(answer) }
        let settled = try settling.finish()
        change(index) { $0 = settled }
    }

    /// Stores the hub's decisions made while it read a page.
    mutating func decide(
        _ decisions: [(number: Int64, sequence: Int64, decision: HubDecision)], for name: SinkID, head: Int64,
        at recordedAt: Int64, in db: Database
    ) throws {
        guard let index = index(of: name) else { return }
        var settling = SettlementState(
            sinks[index], head: head, reached: 0, offered: marks.offered(name), at: recordedAt, waitTime: recordedAt,
            db)
        for (number, sequence, decision) in decisions { try settling.take(number, sequence, decision) }
        let settled = try settling.finish()
        change(index) { $0 = settled }
    }
}

/// The state of one sink while its answers are stored.
struct SettlementState {
    private var sink: SinkRecord
    private let db: Database
    private let head: Int64
    /// Versions up to this sequence number may have been handed out.
    private let offered: Int64
    private let at: Int64
    /// The same instant by the clock of waits.
    private let waitTime: Int64
    /// The new cursor.
    ///
    /// Deliveries up to here need no row.
    private let cursor: Int64

    init(
        _ sink: SinkRecord, head: Int64, reached: Int64, offered: Int64, at: Int64, waitTime: Int64, _ db: Database
    ) {
        (self.sink, self.db, self.head, self.offered) = (sink, db, head, offered)
        (self.at, self.waitTime) = (at, waitTime)
        cursor = max(sink.cursor, min(reached, sink.isCounting ? sink.counted : head))
    }

    /// The state of a version before its answer.
    private enum Standing {
        /// Pending by the cursor, by a row, or in a retry.
        case open(DeliveryRow?)
        /// Replaced by a newer version before the answer arrived.
        case superseded(DeliveryRow?)
        /// Not counted as wanted, or not yet: the filter was changed while the version was in transit.
        case uncounted
        /// The result is already final; the answer is a repeat.
        case final
    }

    mutating func take(_ answer: SinkAnswer) throws {
        guard let current = try VersionLookup.current(answer.number, in: db), answer.sequence <= current.sequence else {
            return
        }
        let row = try DeliveryRow.find(sink.id, answer.number, in: db)
        switch (standing(answer.sequence, current, row), answer.result) {
        case (.final, _): return
        case (.open(let row), let result):
            try settle(answer, current, row, result)
        case (.superseded(let row), .delivered(let receipt)):
            guard let facts = try VersionLookup.superseded(answer.number, answer.sequence, in: db) else { return }
            // Uncount it as superseded. If a new filter excluded it in transit and nothing was counted, it is wanted again.
            if sink.account.superseded > 0 { sink.account.superseded -= 1 } else { sink.account.wanted += 1 }
            var after =
                row ?? DeliveryRow(sink: sink.id, number: answer.number, sequence: facts.sequence, state: .delivered)
            if after.sequence <= facts.sequence { (after.sequence, after.state) = (facts.sequence, .delivered) }
            // A version that does not match was the end of a record that had left, or was handed out under an older filter.
            let isMatch = sink.match.matches(facts)
            if !isMatch, !facts.isRetraction { after.mayHold = true }
            try deliver(facts, &after, isMatch && !facts.isRetraction, receipt, isCurrent: false)
        case (.uncounted, .delivered(let receipt)):
            sink.account.wanted += 1
            var after =
                row ?? DeliveryRow(sink: sink.id, number: answer.number, sequence: current.sequence, state: .delivered)
            after.sequence = current.sequence
            after.state = .delivered
            try deliver(current, &after, !current.isRetraction, receipt)
        case (.superseded, _), (.uncounted, _): return
        }
    }

    mutating func take(_ number: Int64, _ sequence: Int64, _ decision: HubDecision) throws {
        if case .offer = decision {
            guard var row = try DeliveryRow.find(sink.id, number, in: db) else { return }
            // If a newer version arrived while the page was read, the row's version is handed out anyway.
            if row.sequence != sequence || row.isOffered { row.mayHold = true }
            if row.sequence == sequence { row.isOffered = true }
            return try row.save(to: db)
        }
        guard let current = try VersionLookup.current(number, in: db), current.sequence == sequence,
            case .open(let row) = standing(sequence, current, try DeliveryRow.find(sink.id, number, in: db))
        else { return }
        switch decision {
        case .skip(let reason):
            var after = try opened(number, current, row)
            close(row, current)
            sink.countSkip(reason)
            after.state = .skipped
            after.reason = String(reason.rawValue)
            after.settled = sequence
            after.departed = nil
            after.at = at
            try after.save(to: db)
        case .setAside:
            guard row?.sequence != sequence else { return }
            var after = try opened(number, current, row)
            sink.marked += 1
            after.state = .pending
            after.due = DeliveryRow.atOnce
            try after.save(to: db)
        case .offer: break
        }
    }

    /// Moves the cursor, deletes rows that it makes unnecessary, and returns the sink.
    mutating func finish() throws -> SinkRecord {
        sink.cursor = cursor
        sink.advance(to: head)
        let compact = try RawStatement(
            cached:
                "DELETE FROM delivery WHERE sink = ?1 AND state = \(DeliveryRow.State.early.rawValue) AND seq BETWEEN ?2 AND ?3",
            in: db)
        compact.bind(1, sink.id)
        compact.bind(2, sink.eras[sink.eras.count - 1].head + 1)
        compact.bind(3, sink.cursor)
        try compact.run()
        return sink
    }

    private func standing(_ sequence: Int64, _ current: VersionProperties, _ row: DeliveryRow?) -> Standing {
        if let row, row.sequence == sequence, row.state != .superseded { return row.isOpen ? .open(row) : .final }
        if let row, sequence <= row.settled { return .final }
        if sequence < current.sequence {
            return row == nil && sink.hasPassed(current) ? .final : .superseded(row)
        }
        guard sequence > sink.cursor else { return .final }
        return sink.match.matches(current) && sink.isCounted(sequence) ? .open(row) : .uncounted
    }

    /// Settles an answer about the current version, which is open.
    private mutating func settle(
        _ answer: SinkAnswer, _ current: VersionProperties, _ row: DeliveryRow?, _ result: SinkResult
    ) throws {
        note(result)
        var after = try opened(answer.number, current, row)
        // The answer to the repeat does not show whether the first delivery arrived.
        if answer.isRepeat { after.mayHold = true }
        close(row, current)
        switch result {
        case .delivered(let receipt):
            after.state = .delivered
            try deliver(current, &after, !current.isRetraction && after.departed == nil, receipt)
            return
        case .retry(let due, let reason):
            sink.account.retrying += 1
            (after.state, after.due, after.reason) = (.retry, due, reason)
            after.wait = max(0, due - waitTime)
        case .unauthorized(let reason):
            sink.account.retrying += 1
            (after.state, after.due, after.reason) = (.unauthorized, DeliveryRow.atOnce, reason)
        case .refused(let reason):
            sink.account.refused += 1
            (after.state, after.reason, after.settled) = (.refused, reason, current.sequence)
            after.departed = nil
        }
        after.attempts += 1
        after.at = at
        try after.save(to: db)
    }

    /// Stores that a version was delivered, or deletes the row if the cursor shows it.
    private mutating func deliver(
        _ facts: VersionProperties, _ row: inout DeliveryRow, _ isPut: Bool, _ receipt: String?, isCurrent: Bool = true
    ) throws {
        sink.account.delivered += 1
        sink.lastDelivered = at
        row.settled = facts.sequence
        row.holds = isPut
        (row.delivered, row.deliveredAt, row.receipt) = (facts.sequence, at, receipt)
        if row.sequence == facts.sequence {
            row.isOffered = false
            if isCurrent { row.mayHold = false }
            (row.departed, row.reason, row.attempts) = (nil, nil, 0)
            row.at = at
            if isPut, isCurrent, receipt == nil, sink.era(of: facts.sequence)?.match.matches(facts) == true {
                if facts.sequence <= cursor { return try row.delete(from: db) }
                row.state = .early
            }
        }
        try row.save(to: db)
    }

    /// Returns the row of an open version, created or updated to that version, and no longer open.
    private func opened(_ number: Int64, _ current: VersionProperties, _ row: DeliveryRow?) throws -> DeliveryRow {
        var after = row ?? DeliveryRow(sink: sink.id, number: number, sequence: current.sequence, state: .pending)
        if row?.sequence != current.sequence {
            // The target may have an older version even if it does not have this one.
            after.mayHold = try VersionLookup.mayHold(number, row, sink, offered: offered, in: db)
            after.sequence = current.sequence
            (after.attempts, after.departed) = (0, nil)
        }
        (after.due, after.wait, after.reason, after.isOffered) = (nil, nil, nil, false)
        return after
    }

    private mutating func close(_ row: DeliveryRow?, _ current: VersionProperties) {
        guard let row, row.sequence == current.sequence else {
            sink.account.pending -= 1
            return
        }
        if row.state == .pending {
            sink.account.pending -= 1
            sink.marked -= 1
        } else {
            sink.account.retrying -= 1
        }
    }

    /// Records the parts of an answer that concern the whole sink.
    private mutating func note(_ result: SinkResult) {
        switch result {
        case .delivered: break
        case .retry(_, let reason), .refused(let reason):
            sink.lastFailure = SinkOverview.Failure(at: at, reason: reason)
        case .unauthorized(let reason):
            sink.lastFailure = SinkOverview.Failure(at: at, reason: reason)
            sink.paused = reason
        }
    }
}
