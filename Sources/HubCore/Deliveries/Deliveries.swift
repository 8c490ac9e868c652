import HubSessions
import HubStore
import HubWire
import Logging
import Samples
import ZeroMQ

/// The subscriptions of sinks: who is sent what, and what became of it (Protocol §10).
///
/// A part of the poll loop, an actor on its thread: the door calls it without waiting, and it speaks to sessions through its ``Outlet``.
actor Deliveries {
    let loop: PollLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    let store: Store
    let outlet: Outlet
    let logger: Logger

    /// Pages that are read at a time: the store must have time for questions.
    private static let readers = 2
    /// Bytes on their way to one session, all its subscriptions together: less than what ends a session that reads slowly (R4.20).
    private static let bytesOfSession = 2 * ReadingProof.pingEvery
    /// How long a sink waits before it asks again when the store does not work, in milliseconds.
    static let retryAfter: Int64 = 2_000

    /// Answers of one subscription that are not in the store.
    struct Answers {
        var answers: [SinkAnswer] = []
        /// Set when the turn is over: its pump cannot say it any more.
        var reached: Int64?
    }

    /// Those that are open.
    var pumps: [SinkID: SinkPump] = [:]
    private var lastTurn: UInt64 = 0
    /// Subscriptions that ask for a page, in their order.
    private var line: [SinkID] = []
    private var reading = 0

    /// Not yet handed to the store.
    var unsettled: [SinkID: Answers] = [:]
    /// What the store is writing.
    var settling: [SinkID: Answers] = [:]
    var isSettling = false
    /// Why the last answers could not be stored.
    var settlingFault: StoreError?
    /// Who waits until the answers of a subscription are in the store.
    var settleWaiters: [CheckedContinuation<Void, Never>] = []
    var timers: [SinkID: PollLoop.Timer] = [:]
    /// The latest WANT of each subscription that is not open yet.
    var opening: [SinkID: UInt64] = [:]
    var openTasks: [UInt64: Task<Void, Never>] = [:]
    /// Why the last WANT of a subscription was refused, for `hub status`.
    var faults: [SinkID: String] = [:]
    /// So many are kept: a peer may invent names.
    static let faultBound = 256
    /// By the loop's `now`: when the places of sinks were last written down.
    private var tidiedAt: Int64 = 0
    /// A record that is being written; memory used again.
    var encoded: [UInt8] = []

    init(of store: Store, on loop: PollLoop, outlet: Outlet, logger: Logger) {
        (self.store, self.loop, self.outlet, self.logger) = (store, loop, outlet, logger)
    }

    /// Once a second.
    func beat() {
        guard outlet.now - tidiedAt >= 10_000 else { return }
        tidiedAt = outlet.now
        tidy()
    }

    /// A session is over: what it has not answered goes to the next (R10.3).
    func end(of session: SessionReference) {
        for (id, pump) in pumps where pump.session == session { end(id) }
        settle()
    }

    func nextTurn() -> UInt64 {
        lastTurn += 1
        return lastTurn
    }

    /// Ends a turn: what has no answer will be delivered again.
    func end(_ id: SinkID) {
        guard let pump = pumps.removeValue(forKey: id) else { return }
        timers.removeValue(forKey: id)?.cancel()
        line.removeAll { $0 == id }
        if unsettled[id] != nil { unsettled[id]?.reached = pump.reached }
    }

    // MARK: - Whose turn it is to read

    /// Puts a subscription in line for a page; once is enough.
    func queue(_ id: SinkID) {
        if !line.contains(id) { line.append(id) }
    }

    /// Whose turn it is to read, if one may.
    func nextReader() -> SinkID? {
        guard reading < Self.readers, !line.isEmpty else { return nil }
        return line.removeFirst()
    }

    func readingBegan() { reading += 1 }
    func readingEnded() { reading -= 1 }

    // MARK: - What is on its way

    /// Answers of `id` that the store has not confirmed.
    func unsettledCount(of id: SinkID) -> Int {
        (unsettled[id]?.answers.count ?? 0) + (settling[id]?.answers.count ?? 0)
    }

    func isSettled(_ id: SinkID) -> Bool { unsettled[id] == nil && settling[id] == nil }

    /// Whether a session's other subscriptions wait until something on its way is answered.
    func isFull(_ session: SessionReference) -> Bool {
        pumps.values.reduce(0) { $1.session == session ? $0 + $1.openBytes : $0 } >= Self.bytesOfSession
    }
}
