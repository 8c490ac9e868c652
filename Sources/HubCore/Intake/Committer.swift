import HubSessions
import HubStore
import HubWire
import Synchronization

/// Takes batches of all peers from the door, stores as many as wait in one transaction, and says what became of them.
///
/// While one transaction is written, the next collects: under load commits grow, alone a batch goes at once. The queue is bounded
/// by the credit of the sessions that are open: the end of a session drops what waits of it.
final class Committer: Sendable {
    /// One batch on its way, with what its answer needs.
    struct Work: Sendable {
        let session: SessionReference
        /// The batch's number within its session.
        let batch: Int64
        let isBackfill: Bool
        let intake: IntakeBatch
    }

    /// What became of one transaction, in the order of the sequence.
    enum Outcome: Sendable {
        case committed([(work: Work, results: [StoreResult])])
        /// A person did something by hand.
        case hand([ManualResult])
        /// Nothing of these was stored.
        case failed([Work], StoreError)

        fileprivate var ofHand: Result<[ManualResult], StoreError>? {
            switch self {
            case .hand(let results): .success(results)
            case .failed(_, let error): .failure(error)
            case .committed: nil
            }
        }
    }

    /// What a person does by hand, which waits in the same line as the batches: what is published must be in the order of the sequence.
    private struct ManualWork: Sendable {
        let action: ManualChange
        let answer: CheckedContinuation<Result<[ManualResult], StoreError>?, Never>
    }

    private enum Waiting: Sendable {
        case batch(Work)
        case hand(ManualWork)
    }

    private enum Next: Sendable {
        case batches([Work])
        case hand(ManualWork)

        func failed(_ error: StoreError) -> Outcome {
            if case .batches(let works) = self { .failed(works, error) } else { .failed([], error) }
        }
    }

    private struct State {
        var waiting: [Waiting] = []
        var isFinished = false
        /// Since when the transaction that is under way has been so.
        var began: ContinuousClock.Instant?
        var wake: CheckedContinuation<Void, Never>?
        /// Who waits for the end of the transaction that is under way.
        var watchers: [CheckedContinuation<Void, Never>] = []
    }
    private let state = Mutex(State())
    private let store: Store
    private let clock: HubClock

    /// The most records of one transaction.
    ///
    /// Larger ones gain nothing and make others wait.
    private static let recordsPerCommit = 20_000

    init(store: Store, clock: HubClock) {
        self.store = store
        self.clock = clock
    }

    /// Queues a batch; from any thread, never blocks.
    func submit(_ work: Work) {
        add(.batch(work))
    }

    /// Does what a person asked for; the outcome is reported before this returns.
    ///
    /// - Returns: a result per record; `nil` when no more commits come.
    func carryOut(_ action: ManualChange) async throws(StoreError) -> [ManualResult]? {
        let result = await withCheckedContinuation { answer in
            if !add(.hand(ManualWork(action: action, answer: answer))) { answer.resume(returning: nil) }
        }
        return try result?.get()
    }

    /// Drops what waits of some sessions: its sources were not told that it is stored.
    func drop(where isDropped: (SessionReference) -> Bool) {
        state.withLock { state in
            state.waiting.removeAll { if case .batch(let work) = $0 { isDropped(work.session) } else { false } }
        }
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
            while let next = await next() {
                let outcome: Outcome
                state.withLock { $0.began = .now }
                do throws(StoreError) { outcome = try await store(next) } catch { outcome = next.failed(error) }
                state.withLock { $0.began = nil }
                await reports.next()  // The outcome before this one has been reported.
                if case (.batches, .committed) = (next, outcome) {
                    reports.addTask { await report(outcome) }
                    continue
                }
                await report(outcome)
                if case .hand(let asked) = next { asked.answer.resume(returning: outcome.ofHand) }
            }
        }
    }

    private func store(_ next: Next) async throws(StoreError) -> Outcome {
        switch next {
        case .batches(let works):
            let results = try await store.commit(works.map(\.intake), recordedAt: clock.now())
            return .committed(zip(works, results).map { (work: $0, results: $1.results) })
        case .hand(let asked):
            return .hand(try await store.carryOut(asked.action, recordedAt: clock.now()))
        }
    }

    /// - Returns: whether it will be looked at; batches always are, for the door refuses them before `finish`.
    @discardableResult
    private func add(_ waiting: Waiting) -> Bool {
        let (isTaken, wake) = state.withLock { state in
            guard !state.isFinished else { return (false, nil as CheckedContinuation<Void, Never>?) }
            state.waiting.append(waiting)
            return (true, state.wake.take())
        }
        wake?.resume()
        return isTaken
    }

    /// All batches that wait, up to the size of a commit, or the handwork whose turn it is; waits itself while there is nothing; `nil`
    /// at the end.
    private func next() async -> Next? {
        while true {
            let (taken, isOver, watchers) = state.withLock { state in
                defer { state.watchers = [] }
                return (Self.take(from: &state.waiting), state.isFinished, state.watchers)
            }
            for watcher in watchers { watcher.resume() }
            if let taken { return taken }
            if isOver { return nil }
            await withCheckedContinuation { continuation in
                let resumed = state.withLock { state -> [CheckedContinuation<Void, Never>] in
                    guard state.waiting.isEmpty, !state.isFinished else { return [continuation] }
                    state.wake = continuation
                    // Those who came since the look above.
                    defer { state.watchers = [] }
                    return state.watchers
                }
                for continuation in resumed { continuation.resume() }
            }
        }
    }

    private static func take(from waiting: inout [Waiting]) -> Next? {
        var (works, records): ([Work], Int) = ([], 0)
        for entry in waiting {
            switch entry {
            case .batch(let work) where records < recordsPerCommit:
                works.append(work)
                records += work.intake.items.count
                continue
            case .batch: break
            case .hand(let handwork) where works.isEmpty:
                waiting.removeFirst()
                return .hand(handwork)
            case .hand: break
            }
            break
        }
        guard !works.isEmpty else { return nil }
        waiting.removeFirst(works.count)
        return .batches(works)
    }
}
