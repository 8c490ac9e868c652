import HubWire
import ZeroMQ

/// Calls of `store`; their callers keep the records and wait for the hub's answers.
///
/// It runs on the link's poll loop.
actor StoreCalls {
    private struct Batch {
        var answer: Result<[RecordResult], GiveError>?
        var waiter: CheckedContinuation<Result<[RecordResult], GiveError>, Never>?
    }

    private let loop: PollLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
    private let outlet: HubSender
    private var batches: [BatchTicket: Batch] = [:]
    private var roomWaiters: [CheckedContinuation<Void, Never>] = []

    init(on loop: PollLoop, outlet: HubSender) { (self.loop, self.outlet) = (loop, outlet) }

    /// Sends groups of records and returns one result per record, in their order.
    ///
    /// - Parameter storePatience: see ``OutgoingBatch/storePatience``.
    func store(
        _ groups: GroupedRecords, isBackfill: Bool, storePatience: Int64? = nil
    ) async throws(GiveError) -> [RecordResult] {
        guard let session = await outlet.firstSession(), !outlet.isStopping else { throw Self.stopped }
        let bounds = BatchBounds(session)
        var tickets: [BatchTicket] = []
        defer { for ticket in tickets { batches[ticket] = nil } }
        var first = 0
        while first < groups.count {
            let end = groups.end(from: first, fitting: bounds.records, bytes: bounds.bytes)
            let batch = OutgoingBatch(
                records: groups.records(of: first..<end), isBackfill: isBackfill, storePatience: storePatience)
            tickets.append(try await submit(batch))
            first = end
        }
        var results: [RecordResult] = []
        for ticket in tickets { results += try await answer(to: ticket).get() }
        return results
    }

    private static let stopped = GiveError(.stopping, "the plugin is being stopped before the hub has answered")

    /// Submits a batch to the machine as soon as its queue has room.
    private func submit(_ batch: OutgoingBatch) async throws(GiveError) -> BatchTicket {
        while !outlet.isStopping {
            do throws(SubmitError) {
                let submission = try outlet.submit(batch)
                batches[submission.ticket] = Batch()
                outlet.begin(submission)
                return submission.ticket
            } catch {
                guard error == .full else { break }
                await withCheckedContinuation { roomWaiters.append($0) }
            }
        }
        throw Self.stopped
    }

    private func answer(to ticket: BatchTicket) async -> Result<[RecordResult], GiveError> {
        if let answer = batches[ticket]?.answer { return answer }
        guard !outlet.isStopping, batches[ticket] != nil else { return .failure(Self.stopped) }
        return await withCheckedContinuation { batches[ticket]?.waiter = $0 }
    }

    /// Passes the answer to the caller, or keeps it until the caller asks for it.
    func settle(_ ticket: BatchTicket, _ answer: Result<[RecordResult], GiveError>) {
        guard let waiter = batches[ticket]?.waiter else {
            batches[ticket]?.answer = answer
            return
        }
        batches[ticket]?.waiter = nil
        waiter.resume(returning: answer)
    }

    /// Wakes the callers that wait for room, because a batch has left the machine's queue.
    func machineHasRoom() {
        let waiters = roomWaiters
        roomWaiters = []
        for waiter in waiters { waiter.resume() }
    }

    func stop(_ error: GiveError) {
        for (ticket, batch) in batches where batch.answer == nil { settle(ticket, .failure(error)) }
        machineHasRoom()
    }
}
