import HubStore
import HubWire
import Logging
import Samples
import ZeroMQ

/// The subscriptions of sinks: their deliveries, and the answers to these (Protocol §10).
///
/// A part of the door.
@DoorActor
final class Deliveries {
    let loop: PollLoop

    let store: Store
    let door: Door
    let logger: Logger

    /// Maximum number of pages that are read at a time: the store must have time for questions.
    private static let readers = 2
    /// Maximum bytes in flight to one session, all its subscriptions together; less than the limit that ends a slow reader (R4.20).
    private static let bytesOfSession = 2 * ReadingProof.pingEvery

    /// Answers of one subscription that are not in the store.
    struct Answers {
        var answers: [SinkAnswer] = []
        /// Set when the turn is over, because its pump is gone.
        var reached: Int64?
    }

    /// The open subscriptions.
    var pumps: [SinkID: SinkPump] = [:]
    private var lastTurn: UInt64 = 0
    /// Subscriptions that wait for a page, in order.
    private var line: [SinkID] = []
    private var reading = 0

    /// Answers that were not handed to the store yet.
    var unsettled: [SinkID: Answers] = [:]
    /// Answers that the store is writing.
    var settling: [SinkID: Answers] = [:]
    var isSettling = false
    /// Why the last answers could not be stored.
    var settlingFault: StoreError?
    /// Tasks that wait until the answers of a subscription are in the store.
    var settleWaiters: [CheckedContinuation<Void, Never>] = []
    var timers: [SinkID: PollLoop.Timer] = [:]
    /// The turn of the latest WANT of each subscription that is not open yet.
    var opening: [SinkID: UInt64] = [:]
    var openTasks: [UInt64: Task<Void, Never>] = [:]
    /// Why the last WANT of a subscription was refused, for `hub status`.
    var faults: [SinkID: String] = [:]
    /// Maximum number of ``faults``, because a peer may invent names.
    static let faultBound = 256
    /// When the cursors of sinks were last saved, by the loop's `now`.
    private var tidiedAt: Int64 = 0

    init(of door: Door) {
        (self.door, store, loop, logger) = (door, door.store, door.loop, door.logger)
    }

    /// Called once a second.
    func beat() {
        guard door.now - tidiedAt >= 10_000 else { return }
        tidiedAt = door.now
        tidy()
    }

    /// Ends the turns of a session that is over; its unanswered records go to the next session (R10.3).
    func end(of session: SessionReference) {
        for (id, pump) in pumps where pump.session == session { end(id) }
        settle()
    }

    func nextTurn() -> UInt64 {
        lastTurn += 1
        return lastTurn
    }

    /// Ends a turn; records without an answer will be delivered again.
    func end(_ id: SinkID) {
        guard let pump = pumps.removeValue(forKey: id) else { return }
        timers.removeValue(forKey: id)?.cancel()
        line.removeAll { $0 == id }
        if unsettled[id] != nil { unsettled[id]?.reached = pump.reached }
    }

    // MARK: - The line for pages

    /// Puts a subscription in line for a page, unless it is there already.
    func queue(_ id: SinkID) {
        if !line.contains(id) { line.append(id) }
    }

    /// Takes the next subscription from the line, if one may read.
    func nextReader() -> SinkID? {
        guard reading < Self.readers, !line.isEmpty else { return nil }
        return line.removeFirst()
    }

    func readingBegan() { reading += 1 }
    func readingEnded() { reading -= 1 }

    // MARK: - In flight

    /// The number of answers of `id` that the store has not confirmed.
    func unsettledCount(of id: SinkID) -> Int {
        (unsettled[id]?.answers.count ?? 0) + (settling[id]?.answers.count ?? 0)
    }

    func isSettled(_ id: SinkID) -> Bool { unsettled[id] == nil && settling[id] == nil }

    /// Whether a session's subscriptions must wait until it has answered some deliveries.
    func isFull(_ session: SessionReference) -> Bool {
        pumps.values.reduce(0) { $1.session == session ? $0 + $1.openBytes : $0 } >= Self.bytesOfSession
    }
}
