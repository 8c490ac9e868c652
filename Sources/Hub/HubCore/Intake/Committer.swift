import HubStore
import HubWire
import Synchronization

/// Takes batches of all peers from the door, stores them in one transaction after the other, and reports the results.
///
/// While one transaction is written, the next batches collect: under load commits grow, and a single batch is stored at once. The
/// ``BatchQueue`` decides the order, and a batch that comes while a transaction is open can still join it. The credit of open sessions
/// bounds the queue: the end of a session drops its waiting batches.
final class Committer: Sendable {
    /// One batch on its way to the store, with the data for its answer.
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

    /// The result of one transaction, in parts that do not block the loop for long.
    enum Outcome: Sendable {
        /// For sessions with few stored records: to be answered, but not published yet.
        case answers([Settled])
        /// To be answered unless that was done, and published in the order of the sequence.
        case committed([Settled], areAnswered: Set<SessionReference>)
        /// The result of a manual change.
        case hand([ManualResult])
        /// None of these batches was stored.
        case failed([Work], StoreError)
    }

    /// A manual change; it waits in the same line as the batches, because publishing must follow the order of the sequence.
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
        /// The batches of the open transaction.
        var share = BatchQueue.Share()
        var byHand = FIFO<ManualWork>()
        var wasManual = false
        /// Whether the outcome of the previous transaction is still being reported.
        var isReporting = false
        var isFinished = false
        /// When the transaction in progress began.
        var began: ContinuousClock.Instant?
        var wake: CheckedContinuation<Void, Never>?
        /// Tasks that wait for the end of the transaction in progress.
        var watchers: [CheckedContinuation<Void, Never>] = []

        var isIdle: Bool { queue.isEmpty && byHand.isEmpty }

        /// A manual change goes before the batches; after it the batches have their turn.
        mutating func next() -> Next? {
            if !wasManual || queue.isEmpty, let work = byHand.popFirst() {
                wasManual = true
                return .hand(work)
            }
            wasManual = false
            return queue.isEmpty ? nil : .batches
        }
    }
    private let state = Mutex(State())
    private let store: Store
    private let clock: HubClock

    /// Records in one part of an outcome.
    private static let recordsPerPart = 1_000

    init(store: Store, clock: HubClock) {
        self.store = store
        self.clock = clock
    }

    /// Queues a batch; may be called from any thread and never blocks.
    func submit(_ work: Work) {
        add { $0.queue.append(work) }
    }

    /// Carries out a manual change; the outcome is reported before this returns.
    ///
    /// - Returns: a result per record; `nil` if no more commits are made.
    func carryOut(_ action: ManualChange) async throws(StoreError) -> [ManualResult]? {
        let result = await withCheckedContinuation { answer in
            if !add({ $0.byHand.append(ManualWork(action: action, answer: answer)) }) { answer.resume(returning: nil) }
        }
        return try result?.get()
    }

    /// Whether no batch waits and no transaction is in progress.
    var isIdle: Bool { state.withLock { $0.isIdle && $0.began == nil } }

    /// The number of records that wait for a transaction.
    var waitingRecords: Int { state.withLock(\.queue.records) }

    /// Drops the waiting batches of some sessions; their sources have no STORED for them.
    func drop(where isDropped: @Sendable (SessionReference) -> Bool) {
        state.withLock { $0.queue.drop(where: isDropped) }
    }

    /// Returns when the transaction in progress has ended; at once if there is none.
    ///
    /// It proves that the line moves: it does not return while a commit hangs.
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

    /// How long the transaction in progress has taken so far; `nil` if there is none.
    var age: Duration? { state.withLock { $0.began }.map { $0.duration(to: .now) } }

    /// Notes that no more batches come; `run` ends when the queued ones are stored.
    func finish() {
        let waiting = state.withLock { state in
            state.isFinished = true
            defer { state.watchers = [] }
            return state.watchers + (state.wake.take().map { [$0] } ?? [])
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Commits until `finish`, one transaction after the other, and reports each outcome, in order.
    ///
    /// While an outcome is reported, the next transaction is in progress: answering costs nearly as much as storing. A failure and the outcome
    /// of a manual change are reported completely before the next transaction.
    func run(_ report: @escaping @Sendable (Outcome) async -> Void) async {
        await withTaskGroup(of: Void.self) { reports in
            // Sessions that wait for an answer to an earlier batch; their answers must stay in order (R5.6).
            var unanswered: Set<SessionReference> = []
            while let next = await next() {
                state.withLock { $0.began = .now }
                let outcome = await carryOut(next)
                state.withLock { $0.began = nil }
                var answered: Set<SessionReference> = []
                if case .committed(let settled, _) = outcome, hasLongReport(before: settled) {
                    answered = Self.sessionsWithFewRecords(settled).subtracting(unanswered)
                    if !answered.isEmpty {
                        await report(.answers(settled.filter { answered.contains($0.work.session) }))
                    }
                }
                await reports.next()  // Waits until the previous outcome has been reported.
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

    /// Whether the last sessions of an outcome would wait while all others are answered and published.
    private func hasLongReport(before settled: [Settled]) -> Bool {
        state.withLock(\.isReporting) || settled.reduce(0) { $0 + $1.results.count } > Self.recordsPerPart
    }

    /// The sessions with so few stored records that they count as small in the queue.
    private static func sessionsWithFewRecords(_ settled: [Settled]) -> Set<SessionReference> {
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
                return .committed(zip(works, results).map { Settled(work: $0, results: $1) }, areAnswered: [])
            } catch {
                return .failed(worksToRefuse(), error)
            }
        case .hand(let asked):
            do throws(StoreError) {
                return .hand(try await store.carryOut(asked.action, recordedAt: clock.now()))
            } catch {
                return .failed([], error)
            }
        }
    }

    /// The batches of a failed transaction; if it failed before it took any, some are taken now, because they would wait for ever.
    private func worksToRefuse() -> [Work] {
        state.withLock { state in
            if state.share.works.isEmpty { while state.queue.next(for: &state.share) != nil {} }
            return state.share.works
        }
    }

    /// - Returns: whether it was accepted; batches always are, because the door refuses them before `finish`.
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

    /// The next work; waits while there is none; `nil` at the end.
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
                    // Watchers that came since the check above.
                    defer { state.watchers = [] }
                    return state.watchers
                }
                for continuation in resumed { continuation.resume() }
            }
        }
    }
}
