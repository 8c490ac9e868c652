import HubSessions
import HubStore
import HubWire
import Synchronization

/// Takes batches of all peers from the door, stores what waits in one transaction after the other, and says what became of them.
///
/// While one transaction is written, the next collects: under load commits grow, alone a batch goes at once; whose turn it is says the
/// ``BatchQueue``, and what comes while a transaction is open can still be in it. The queue is bounded by the credit of the sessions that
/// are open: the end of a session drops what waits of it.
final class Committer: Sendable {
    /// One batch on its way, with what its answer needs.
    struct Work: Sendable {
        let session: SessionReference
        /// The batch's number within its session.
        let batch: Int64
        let isBackfill: Bool
        let intake: IntakeBatch
    }

    /// A batch that is stored.
    struct Settled: Sendable {
        let work: Work
        let results: [StoreResult]
    }

    /// What became of one transaction, in parts that do not hold up the loop for long.
    enum Outcome: Sendable {
        /// For sessions of which little was stored: only to be answered yet.
        case answers([Settled])
        /// To be answered unless that was done, and published; in the order of the sequence.
        case committed([Settled], areAnswered: Set<SessionReference>)
        /// A person did something by hand.
        case hand([ManualResult])
        /// Nothing of these was stored.
        case failed([Work], StoreError)
    }

    /// What a person does by hand, which waits in the same line as the batches: what is published must be in the order of the sequence.
    private struct ManualWork: Sendable {
        let action: ManualChange
        let answer: CheckedContinuation<Result<[ManualResult], StoreError>?, Never>
    }

    private enum Next: Sendable {
        case batches
        case hand(ManualWork)
    }

    private struct State {
        var queue = BatchQueue()
        /// Of the transaction that is open.
        var share = BatchQueue.Share()
        var byHand = FIFO<ManualWork>()
        var wasByHand = false
        /// Whether the outcome of the transaction before is being told.
        var isReporting = false
        var isFinished = false
        /// Since when the transaction that is under way has been so.
        var began: ContinuousClock.Instant?
        var wake: CheckedContinuation<Void, Never>?
        /// Who waits for the end of the transaction that is under way.
        var watchers: [CheckedContinuation<Void, Never>] = []

        var isIdle: Bool { queue.isEmpty && byHand.isEmpty }

        /// What a person does goes before the batches, and after it they have their turn.
        mutating func next() -> Next? {
            if !wasByHand || queue.isEmpty, let work = byHand.popFirst() {
                wasByHand = true
                return .hand(work)
            }
            wasByHand = false
            return queue.isEmpty ? nil : .batches
        }
    }
    private let state = Mutex(State())
    private let store: Store
    private let clock: HubClock

    /// The records of one part of an outcome.
    private static let recordsPerPart = 1_000

    init(store: Store, clock: HubClock) {
        self.store = store
        self.clock = clock
    }

    /// Queues a batch; from any thread, never blocks.
    func submit(_ work: Work) {
        add { $0.queue.append(work) }
    }

    /// Does what a person asked for; the outcome is reported before this returns.
    ///
    /// - Returns: a result per record; `nil` when no more commits come.
    func carryOut(_ action: ManualChange) async throws(StoreError) -> [ManualResult]? {
        let result = await withCheckedContinuation { answer in
            if !add({ $0.byHand.append(ManualWork(action: action, answer: answer)) }) { answer.resume(returning: nil) }
        }
        return try result?.get()
    }

    /// Whether nothing waits and no transaction is under way.
    var isIdle: Bool { state.withLock { $0.isIdle && $0.began == nil } }

    /// Records that wait for a transaction.
    var waitingRecords: Int { state.withLock(\.queue.records) }

    /// Drops what waits of some sessions: its sources were not told that it is stored.
    func drop(where isDropped: @Sendable (SessionReference) -> Bool) {
        state.withLock { $0.queue.drop(where: isDropped) }
    }

    /// Returns when the transaction that is under way has ended; at once when there is none.
    ///
    /// Proves that the line moves: while a commit does not return, neither does this.
    func turn() async {
        await withCheckedContinuation { continuation in
            let isIdle = state.withLock { state in
                let isIdle = state.wake != nil || state.isFinished
                if !isIdle { state.watchers.append(continuation) }
                return isIdle
            }
            if isIdle { continuation.resume() }
        }
    }

    /// For how long the transaction that is under way has not returned; `nil` when there is none.
    var age: Duration? { state.withLock { $0.began }.map { $0.duration(to: .now) } }

    /// No more batches come; `run` ends when the queued ones are stored.
    func finish() {
        let waiting = state.withLock { state in
            state.isFinished = true
            defer { state.watchers = [] }
            return state.watchers + (state.wake.take().map { [$0] } ?? [])
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Commits until `finish`, one transaction after the other, and reports what became of each, in order.
    ///
    /// While an outcome is reported, the next transaction is under way: answering costs nearly as much as storing. Of a failure and of what
    /// a person did all are told before anything else is stored.
    func run(_ report: @escaping @Sendable (Outcome) async -> Void) async {
        await withTaskGroup(of: Void.self) { reports in
            // Sessions that wait for an answer to an earlier batch: theirs come in order (R5.6).
            var unanswered: Set<SessionReference> = []
            while let next = await next() {
                state.withLock { $0.began = .now }
                let outcome = await carryOut(next)
                state.withLock { $0.began = nil }
                var answered: Set<SessionReference> = []
                if case .committed(let settled, _) = outcome, hasLongReport(before: settled) {
                    answered = Self.withLittle(settled).subtracting(unanswered)
                    if !answered.isEmpty {
                        await report(.answers(settled.filter { answered.contains($0.work.session) }))
                    }
                }
                await reports.next()  // The outcome before this one has been reported.
                switch outcome {
                case .committed(let settled, _):
                    unanswered = Set(settled.lazy.map(\.work.session)).subtracting(answered)
                    let parts = Self.parts(of: settled)
                    state.withLock { $0.isReporting = true }
                    reports.addTask { [answered] in
                        for part in parts { await report(.committed(part, areAnswered: answered)) }
                        self.state.withLock { $0.isReporting = false }
                    }
                case .answers: break
                case .hand, .failed:
                    unanswered = []
                    await report(outcome)
                }
                if case .hand(let asked) = next { asked.answer.resume(returning: Self.ofHand(outcome)) }
            }
        }
    }

    /// Whether what was stored last for a session has to wait while others are answered, and all is published.
    private func hasLongReport(before settled: [Settled]) -> Bool {
        state.withLock(\.isReporting) || settled.reduce(0) { $0 + $1.results.count } > Self.recordsPerPart
    }

    /// The sessions of which no more was stored than they wait for as those with little.
    private static func withLittle(_ settled: [Settled]) -> Set<SessionReference> {
        var records: [SessionReference: Int] = [:]
        for batch in settled { records[batch.work.session, default: 0] += batch.results.count }
        return Set(records.lazy.filter { $0.value <= BatchQueue.little }.map(\.key))
    }

    private static func parts(of settled: [Settled]) -> [[Settled]] {
        var (parts, records): ([[Settled]], Int) = ([], recordsPerPart)
        for batch in settled {
            if records >= recordsPerPart {
                parts.append([])
                records = 0
            }
            parts[parts.count - 1].append(batch)
            records += batch.results.count
        }
        return parts
    }

    private static func ofHand(_ outcome: Outcome) -> Result<[ManualResult], StoreError>? {
        switch outcome {
        case .hand(let results): .success(results)
        case .failed(_, let error): .failure(error)
        case .answers, .committed: nil
        }
    }

    private func carryOut(_ next: Next) async -> Outcome {
        switch next {
        case .batches:
            defer { state.withLock { $0.share = BatchQueue.Share() } }
            do throws(StoreError) {
                let results = try await store.commit(recordedAt: clock.now()) { [self] in
                    state.withLock { $0.queue.next(for: &$0.share)?.intake }
                }
                let works = state.withLock(\.share.works)
                return .committed(zip(works, results).map { Settled(work: $0, results: $1.results) }, areAnswered: [])
            } catch {
                return .failed(refusedWorks(), error)
            }
        case .hand(let asked):
            do throws(StoreError) {
                return .hand(try await store.carryOut(asked.action, recordedAt: clock.now()))
            } catch {
                return .failed([], error)
            }
        }
    }

    /// Those who are told that a transaction has failed: also where it failed before it asked for any, which then would wait for ever.
    private func refusedWorks() -> [Work] {
        state.withLock { state in
            if state.share.works.isEmpty { while state.queue.next(for: &state.share) != nil {} }
            return state.share.works
        }
    }

    /// - Returns: whether it will be looked at; batches always are, for the door refuses them before `finish`.
    @discardableResult
    private func add(_ append: @Sendable (inout State) -> Void) -> Bool {
        let (isTaken, wake) = state.withLock { state in
            guard !state.isFinished else { return (false, nil as CheckedContinuation<Void, Never>?) }
            append(&state)
            return (true, state.wake.take())
        }
        wake?.resume()
        return isTaken
    }

    /// What is to be done next; waits while there is nothing; `nil` at the end.
    private func next() async -> Next? {
        while true {
            let (taken, isOver, watchers) = state.withLock { state in
                defer { state.watchers = [] }
                return (state.next(), state.isFinished, state.watchers)
            }
            for watcher in watchers { watcher.resume() }
            if let taken { return taken }
            if isOver { return nil }
            await withCheckedContinuation { continuation in
                let resumed = state.withLock { state -> [CheckedContinuation<Void, Never>] in
                    guard state.isIdle, !state.isFinished else { return [continuation] }
                    state.wake = continuation
                    // Those who came since the look above.
                    defer { state.watchers = [] }
                    return state.watchers
                }
                for continuation in resumed { continuation.resume() }
            }
        }
    }
}
