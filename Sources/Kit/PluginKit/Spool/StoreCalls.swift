package import HubWire

/// Calls of `store`; their callers keep the records and wait for the hub's answers.
struct StoreCalls {
    fileprivate struct Batch {
        var answer: Result<[RecordResult], GiveError>?
        var waiter: CheckedContinuation<Result<[RecordResult], GiveError>, Never>?
    }

    fileprivate static let stopped = GiveError(
        .stopping, "the plugin is being stopped before the hub has answered")

    fileprivate var batches: [BatchTicket: Batch] = [:]
    fileprivate var roomWaiters: [CheckedContinuation<Void, Never>] = []

    /// Passes the answer to the caller, or keeps it until the caller asks for it.
    mutating func settle(_ ticket: BatchTicket, _ answer: Result<[RecordResult], GiveError>) {
        guard let waiter = batches[ticket]?.waiter else {
            batches[ticket]?.answer = answer
            return
        }
        batches[ticket]?.waiter = nil
        waiter.resume(returning: answer)
    }

    /// Wakes the callers that wait for room, because a batch has left the machine's queue.
    mutating func machineHasRoom() {
        let waiters = roomWaiters
        roomWaiters = []
        for waiter in waiters { waiter.resume() }
    }

    mutating func stop(_ error: GiveError) {
        for (ticket, batch) in batches where batch.answer == nil { settle(ticket, .failure(error)) }
        machineHasRoom()
    }
}

extension HubLink {
    /// Gives groups without the spool and waits for the hub's answer to each record, like ``PluginContext/store(_:isBackfill:)-([Record],_)``.
    ///
    /// - Parameter storePatience: see ``OutgoingBatch/storePatience``.
    /// - Returns: one result per record, in their order.
    package func store(
        _ groups: GroupedRecords, isBackfill: Bool = false, storePatience: Int64? = nil
    ) async throws(GiveError) -> [RecordResult] {
        guard let session = await welcome(), !rejectsRequests else { throw StoreCalls.stopped }
        let bounds = BatchBounds(session)
        var tickets: [BatchTicket] = []
        defer { for ticket in tickets { storeCalls.batches[ticket] = nil } }
        var first = 0
        while first < groups.count {
            let end = groups.end(from: first, fitting: bounds.records, bytes: bounds.bytes)
            let batch = OutgoingBatch(
                records: groups.records(of: first..<end), isBackfill: isBackfill, storePatience: storePatience)
            tickets.append(try await submitWhenThereIsRoom(batch))
            first = end
        }
        var results: [RecordResult] = []
        for ticket in tickets { results += try await answer(to: ticket).get() }
        return results
    }

    /// Submits a batch to the machine as soon as its queue has room.
    private func submitWhenThereIsRoom(_ batch: OutgoingBatch) async throws(GiveError) -> BatchTicket {
        while !rejectsRequests {
            do throws(SubmitError) {
                let (ticket, actions) = try machine.submit(batch, at: now)
                // Note the ticket first, because the answer may arrive during the step.
                storeCalls.batches[ticket] = StoreCalls.Batch()
                step { _, _ in actions }
                return ticket
            } catch {
                guard error == .full else { break }
                await withCheckedContinuation { storeCalls.roomWaiters.append($0) }
            }
        }
        throw StoreCalls.stopped
    }

    private func answer(to ticket: BatchTicket) async -> Result<[RecordResult], GiveError> {
        if let answer = storeCalls.batches[ticket]?.answer { return answer }
        guard !rejectsRequests, storeCalls.batches[ticket] != nil else { return .failure(StoreCalls.stopped) }
        return await withCheckedContinuation { storeCalls.batches[ticket]?.waiter = $0 }
    }
}
