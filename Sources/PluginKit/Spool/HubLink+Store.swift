import HubWire

/// A batch that a caller of `store` waits for.
struct DirectBatch {
    var answer: Result<[RecordResult], GiveError>?
    var waiter: CheckedContinuation<Result<[RecordResult], GiveError>, Never>?
}

extension HubLink {
    /// Sends groups of records and returns a result per record, in their order.
    func store(_ groups: [[[UInt8]]], isBackfill: Bool) async throws(GiveError) -> [RecordResult] {
        guard let welcome = await welcome(), !isStopping else { throw Self.stopped }
        let bounds = BatchBounds(welcome)
        var tickets: [BatchTicket] = []
        defer { for ticket in tickets { direct[ticket] = nil } }
        var rest = groups[...]
        while !rest.isEmpty {
            let batch = OutgoingBatch(records: Self.take(&rest, bounds), isBackfill: isBackfill)
            tickets.append(try await submit(batch))
        }
        var results: [RecordResult] = []
        for ticket in tickets { results += try await answer(to: ticket).get() }
        return results
    }

    private static let stopped = GiveError(.stopping, "the plugin is being stopped before the hub has answered")

    /// As many groups as fit one batch, and at least one.
    private static func take(_ groups: inout ArraySlice<[[UInt8]]>, _ bounds: BatchBounds) -> RawRecords {
        var records = RawRecords()
        var bytes = 0
        while let group = groups.first {
            let size = group.reduce(0) { $0 + $1.count }
            let fits = records.count + group.count <= bounds.records && bytes + size <= bounds.bytes
            guard records.isEmpty || fits else { break }
            for record in group { records.append(record) }
            bytes += size
            groups.removeFirst()
        }
        return records
    }

    /// Hands a batch to the machine as soon as its queue has room.
    private func submit(_ batch: OutgoingBatch) async throws(GiveError) -> BatchTicket {
        while !isStopping {
            do throws(SubmitError) {
                let submitted = try machine.submit(batch, at: now)
                direct[submitted.ticket] = DirectBatch()
                step { _, _ in submitted.actions }
                return submitted.ticket
            } catch {
                guard error == .full else { break }
                await withCheckedContinuation { queueWaiters.append($0) }
            }
        }
        throw Self.stopped
    }

    private func answer(to ticket: BatchTicket) async -> Result<[RecordResult], GiveError> {
        if let answer = direct[ticket]?.answer { return answer }
        guard !isStopping, direct[ticket] != nil else { return .failure(Self.stopped) }
        return await withCheckedContinuation { direct[ticket]?.waiter = $0 }
    }

    private func answer(_ ticket: BatchTicket, _ answer: Result<[RecordResult], GiveError>) {
        guard let waiter = direct[ticket]?.waiter else {
            direct[ticket]?.answer = answer
            return
        }
        direct[ticket]?.waiter = nil
        waiter.resume(returning: answer)
    }

    /// Nobody waits for the hub any longer.
    func failDirect(_ error: GiveError) {
        for (ticket, batch) in direct where batch.answer == nil { answer(ticket, .failure(error)) }
    }

    // MARK: - Answers of the hub, for the spool and for callers

    func stored(_ ticket: BatchTicket, _ results: [RecordResult]) {
        if let batch = spool.batches.removeValue(forKey: ticket) {
            settle(batch, results)
        } else {
            answer(ticket, .success(results))
        }
        resume(&queueWaiters)
        readSpool()
    }

    func refused(_ ticket: BatchTicket, _ error: WireError) {
        if let batch = spool.batches.removeValue(forKey: ticket) {
            refuse(batch, error)
        } else {
            answer(ticket, .failure(GiveError(.refused, "the hub refused the batch: \(error)")))
        }
        resume(&queueWaiters)
        readSpool()
    }
}
