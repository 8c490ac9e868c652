import HubStore
import HubWire
import Synchronization

/// Takes batches of all peers from the door, stores as many as wait in one transaction, and says what became of them.
///
/// While one transaction is flushed to disk, the next collects: under load commits grow, alone a batch goes at once. The queue is bounded
/// by the credit that the hub has granted.
final class Committer: Sendable {
    /// One batch on its way, with what its answer needs.
    struct Work: Sendable {
        let session: SessionReference
        /// The batch's number within its session.
        let batch: Int64
        let isBackfill: Bool
        let intake: IntakeBatch
    }

    /// What became of one transaction's batches, in order.
    enum Outcome: Sendable {
        case committed([(work: Work, results: [HubStore.RecordResult])])
        /// Nothing of these was stored.
        case failed([Work], StoreError)
    }

    private struct State {
        var waiting: [Work] = []
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
        let wake = state.withLock { state in
            state.waiting.append(work)
            return state.wake.take()
        }
        wake?.resume()
    }

    /// No more batches come; `run` ends when the queued ones are stored.
    func finish() {
        let wake = state.withLock { state in
            state.isFinished = true
            return state.wake.take()
        }
        wake?.resume()
    }

    /// Commits until `finish`, one transaction after the other, and hands each outcome on before it begins the next.
    ///
    /// - Parameter stillAwaited: those of some batches whose sessions still wait for them. After a failure a session gives up what it had
    ///   sent behind the failed batch, and its source sends it all again in order; storing it now would put an older version last.
    func run(
        _ report: @Sendable (Outcome) async -> Void, stillAwaited: @Sendable ([Work]) async -> [Work]
    ) async {
        var hasFailed = false
        while var works = await next() {
            if hasFailed { works = await stillAwaited(works) }
            do throws(StoreError) {
                let results = try await store.commit(works.map(\.intake), recordedAt: clock.now())
                hasFailed = false
                await report(.committed(zip(works, results).map { (work: $0, results: $1.results) }))
            } catch {
                hasFailed = true
                await report(.failed(works, error))
            }
        }
    }

    /// All that waits, up to the size of a commit; waits itself while there is nothing; `nil` at the end.
    private func next() async -> [Work]? {
        while true {
            let taken = state.withLock { state -> [Work]? in
                guard !state.waiting.isEmpty else { return state.isFinished ? [] : nil }
                var records = 0
                let count = state.waiting.prefix { work in
                    defer { records += work.intake.items.count }
                    return records < Committer.recordsPerCommit
                }.count
                defer { state.waiting.removeFirst(count) }
                return Array(state.waiting.prefix(count))
            }
            if let taken { return taken.isEmpty ? nil : taken }
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
}
