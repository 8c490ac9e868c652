import HubSessions
import HubStore
import HubWire
import ZeroMQ

/// All open subscriptions, whose turn it is to read a page, and the answers on their way to the store.
struct SinkBoard {
    /// Pages that are read at a time: the store must have time for questions.
    static let readers = 2
    /// Bytes on their way to one session, all its subscriptions together: less than what ends a session that reads slowly (R4.20).
    static let bytesOfSession = 2 * ReadingProof.pingEvery

    /// Answers of one subscription that are not in the store.
    struct Answers {
        var answers: [SinkAnswer] = []
        /// Set when the turn is over: its pump cannot say it any more.
        var reached: Int64?
    }

    var pumps: [SinkID: SinkPump] = [:]
    private(set) var lastTurn: UInt64 = 0
    /// Subscriptions that ask for a page, in their order.
    private var line: [SinkID] = []
    private(set) var reading = 0

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
    /// So many are kept: anybody may invent names.
    static let faultBound = 256

    mutating func nextTurn() -> UInt64 {
        lastTurn += 1
        return lastTurn
    }

    /// Stands in line for a page; once is enough.
    mutating func queue(_ id: SinkID) {
        if !line.contains(id) { line.append(id) }
    }

    /// Whose turn it is to read, if one may.
    mutating func next() -> SinkID? {
        guard reading < Self.readers, !line.isEmpty else { return nil }
        return line.removeFirst()
    }

    mutating func began() { reading += 1 }
    mutating func ended() { reading -= 1 }

    /// Answers of `id` that the store has not confirmed.
    func unsettledCount(of id: SinkID) -> Int {
        (unsettled[id]?.answers.count ?? 0) + (settling[id]?.answers.count ?? 0)
    }

    func isSettled(_ id: SinkID) -> Bool { unsettled[id] == nil && settling[id] == nil }

    /// Bytes on their way to a session.
    func openBytes(of session: SessionReference) -> Int {
        pumps.values.reduce(0) { $1.session == session ? $0 + $1.openBytes : $0 }
    }

    /// Whether a session's other subscriptions wait until something on its way is answered.
    func isFull(_ session: SessionReference) -> Bool { openBytes(of: session) >= Self.bytesOfSession }

    /// Ends a turn: what has no answer will be delivered again.
    mutating func end(_ id: SinkID) {
        guard let pump = pumps.removeValue(forKey: id) else { return }
        timers.removeValue(forKey: id)?.cancel()
        line.removeAll { $0 == id }
        if unsettled[id] != nil { unsettled[id]?.reached = pump.reached }
    }
}
