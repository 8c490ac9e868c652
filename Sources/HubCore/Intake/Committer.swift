import HubStore
import HubWire
import Synchronization

/// Takes batches of all peers from the door, stores as many as wait in one transaction, and says what became of them.
///
/// While one transaction is written, the next collects: under load commits grow, alone a batch goes at once. The queue is bounded
/// by the credit of the sessions that are open: whoever ends a session drops what waits of it.
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
        case committed([(work: Work, results: [HubStore.RecordResult])])
        /// Records were taken back by hand.
        case retracted([HubStore.RecordResult])
        /// Nothing of these was stored.
        case failed([Work], StoreError)

        fileprivate var ofRetraction: Result<[HubStore.RecordResult], StoreError>? {
            switch self {
            case .retracted(let results): .success(results)
            case .failed(_, let error): .failure(error)
            case .committed: nil
            }
        }
    }

    /// A person's retraction, which stands in the same line as the batches: what is published must be in the order of the sequence.
    private struct Retraction: Sendable {
        let numbers: [Int64]
        let reason: String?
        let answer: CheckedContinuation<Result<[HubStore.RecordResult], StoreError>?, Never>
    }

    private enum Waiting: Sendable {
        case batch(Work)
        case retraction(Retraction)
    }

    private enum Next: Sendable {
        case batches([Work])
        case retraction(Retraction)

        func failed(_ error: StoreError) -> Outcome {
            if case .batches(let works) = self { .failed(works, error) } else { .failed([], error) }
        }
    }

    private struct State {
        var waiting: [Waiting] = []
        var isFinished = false
        var wake: CheckedContinuation<Void, Never>?
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

    /// Retracts records by hand; the outcome is reported before this returns.
    ///
    /// - Returns: a result per number, in order; `nil` when no more commits come.
    func retract(numbers: [Int64], reason: String?) async throws(StoreError) -> [HubStore.RecordResult]? {
        let result = await withCheckedContinuation { answer in
            let retraction = Retraction(numbers: numbers, reason: reason, answer: answer)
            if !add(.retraction(retraction)) { answer.resume(returning: nil) }
        }
        return try result?.get()
    }

    /// Drops what waits of some sessions: nobody was told that it is stored, and nobody is going to be.
    func drop(where isDropped: (SessionReference) -> Bool) {
        state.withLock { state in
            state.waiting.removeAll { if case .batch(let work) = $0 { isDropped(work.session) } else { false } }
        }
    }

    /// No more batches come; `run` ends when the queued ones are stored.
    func finish() {
        let wake = state.withLock { state in
            state.isFinished = true
            return state.wake.take()
        }
        wake?.resume()
    }

    /// Commits until `finish`, one transaction after the other, and hands on what became of each, in order.
    ///
    /// While an outcome is handed on, the next transaction is under way: answering costs nearly as much as storing. Of a failure and of a
    /// retraction everybody is told before anything else is stored.
    func run(_ report: @escaping @Sendable (Outcome) async -> Void) async {
        await withTaskGroup(of: Void.self) { reports in
            while let next = await next() {
                let outcome: Outcome
                do throws(StoreError) { outcome = try await store(next) } catch { outcome = next.failed(error) }
                await reports.next()  // The outcome before this one has been handed on.
                if case (.batches, .committed) = (next, outcome) {
                    reports.addTask { await report(outcome) }
                    continue
                }
                await report(outcome)
                if case .retraction(let asked) = next { asked.answer.resume(returning: outcome.ofRetraction) }
            }
        }
    }

    private func store(_ next: Next) async throws(StoreError) -> Outcome {
        switch next {
        case .batches(let works):
            let results = try await store.commit(works.map(\.intake), recordedAt: clock.now())
            return .committed(zip(works, results).map { (work: $0, results: $1.results) })
        case .retraction(let asked):
            return .retracted(
                try await store.retract(numbers: asked.numbers, reason: asked.reason, recordedAt: clock.now()))
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

    /// All batches that wait, up to the size of a commit, or the retraction whose turn it is; waits itself while there is nothing; `nil`
    /// at the end.
    private func next() async -> Next? {
        while true {
            let (taken, isOver) = state.withLock { state in (Self.take(from: &state.waiting), state.isFinished) }
            if let taken { return taken }
            if isOver { return nil }
            await withCheckedContinuation { continuation in
                let mustWait = state.withLock { state in
                    guard state.waiting.isEmpty, !state.isFinished else { return false }
                    state.wake = continuation
                    return true
                }
                if !mustWait { continuation.resume() }
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
            case .retraction(let retraction) where works.isEmpty:
                waiting.removeFirst()
                return .retraction(retraction)
            case .retraction: break
            }
            break
        }
        guard !works.isEmpty else { return nil }
        waiting.removeFirst(works.count)
        return .batches(works)
    }
}
