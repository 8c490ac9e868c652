import Synchronization

/// The exchange between a link's thread and its owner.
///
/// It is bounded: the thread reads no bytes while ``readLimit`` events wait, so a slow owner slows the other side down.
final class Mailbox: Sendable {
    /// The owner's orders for the thread.
    struct Orders {
        var mustStop: Bool
        var mustHangUp: Bool
        var outgoing: [Outgoing]
        /// The destination of datagrams.
        var peer: SocketAddress?
        var alarm: ContinuousClock.Instant?
        /// Whether the owner can accept more bytes.
        var hasRoom: Bool
        /// Whether the owner has taken all events.
        var isDrained: Bool
    }

    /// Bytes to write together.
    struct Outgoing {
        var bytes: [UInt8]
        /// Whether the bytes go to all possible scales.
        var isSearch = false
    }

    /// The address of the machine at the other end of a link, and its greeting if it has proved itself.
    typealias Caller = (address: String?, greeting: HSLGreeting?)

    /// An event and its origin: the sender of a datagram, or the caller that opened a link.
    private struct Entry {
        var event: LinkRunner.Event
        var sender: SocketAddress?
        var caller: Caller?
    }

    private struct State {
        var events: [Entry] = []
        var waiter: CheckedContinuation<LinkRunner.Event?, Never>?
        var outgoing: [Outgoing] = []
        var outgoingBytes = 0
        /// The sender of the last event that was handed out.
        var lastSender: SocketAddress?
        var peer: SocketAddress?
        /// The caller of the last link that was handed out.
        var caller: Caller?
        var mustHangUp = false
        var mustStop = false
        var alarm: ContinuousClock.Instant?
        var hasEnded = false

        mutating func handOut(_ entry: Entry) {
            lastSender = entry.sender ?? lastSender
            if entry.event == .opened { caller = entry.caller }
        }
    }

    private let state = Mutex(State())
    private let wakeup: Wakeup

    private static let readLimit = 16
    /// More unsent bytes than any dialogue with a scale has; a peer that accepts none is disconnected.
    static let sendLimit = 65_536

    init(_ wakeup: Wakeup) { self.wakeup = wakeup }

    // MARK: The owner's side

    func next() async -> LinkRunner.Event? {
        await withCheckedContinuation { continuation in
            let result: LinkRunner.Event?? = state.withLock { state in
                if !state.events.isEmpty {
                    let entry = state.events.removeFirst()
                    state.handOut(entry)
                    return .some(entry.event)
                }
                if state.hasEnded { return .some(nil) }
                state.waiter = continuation
                return nil
            }
            guard let result else { return }
            wakeup.wake()  // There may be room again, or the thread waits until all events are taken.
            continuation.resume(returning: result)
        }
    }

    func send(_ bytes: [UInt8], isSearch: Bool = false) {
        state.withLock { state in
            state.outgoing.append(Outgoing(bytes: bytes, isSearch: isSearch))
            state.outgoingBytes += bytes.count
            if state.outgoingBytes > Mailbox.sendLimit {
                (state.outgoing, state.outgoingBytes, state.mustHangUp) = ([], 0, true)
            }
        }
        wakeup.wake()
    }

    var caller: Caller? { state.withLock(\.caller) }

    func settle() { state.withLock { $0.peer = $0.lastSender } }

    func setAlarm(_ instant: ContinuousClock.Instant?) {
        let isEarlier = state.withLock { state in
            defer { state.alarm = instant }
            return instant.map { new in state.alarm.map { new < $0 } ?? true } ?? false
        }
        if isEarlier { wakeup.wake() }
    }

    func hangUp() {
        state.withLock { $0.mustHangUp = true }
        wakeup.wake()
    }

    func stop() {
        state.withLock { $0.mustStop = true }
        wakeup.wake()
    }

    // MARK: The thread's side

    func post(_ event: LinkRunner.Event, from sender: SocketAddress? = nil, caller: Caller? = nil) {
        let entry = Entry(event: event, sender: sender, caller: caller)
        let waiter = state.withLock { state in
            guard let waiter = state.waiter.take() else {
                state.events.append(entry)
                return nil as CheckedContinuation<LinkRunner.Event?, Never>?
            }
            state.handOut(entry)
            return waiter
        }
        waiter?.resume(returning: event)
    }

    func orders(at now: ContinuousClock.Instant) -> (orders: Orders, alarmIsDue: Bool) {
        state.withLock { state in
            let isDue = state.alarm.map { $0 <= now } ?? false
            if isDue { state.alarm = nil }
            defer { (state.outgoing, state.outgoingBytes, state.mustHangUp) = ([], 0, false) }
            let orders = Orders(
                mustStop: state.mustStop, mustHangUp: state.mustHangUp, outgoing: state.outgoing,
                peer: state.peer, alarm: state.alarm,
                hasRoom: state.events.count < Mailbox.readLimit, isDrained: state.events.isEmpty)
            return (orders, isDue)
        }
    }

    func end() {
        let waiter = state.withLock { state in
            state.hasEnded = true
            return state.waiter.take()
        }
        waiter?.resume(returning: nil)
    }
}
