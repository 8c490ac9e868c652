import Synchronization

/// The open sockets with their subscriptions.
final class SocketRegistry: Sendable {
    /// The frames for a socket in addition to the actions for its registered devices.
    enum Subscription: Sendable {
        case messages(LiveFilter)
        case events(EventFilter)
    }

    /// A frame for a socket, and the time it was queued.
    struct Frame: Sendable {
        let text: String
        let time: ContinuousClock.Instant
    }

    private struct Entry {
        var hearing: Subscription?
        /// The devices registered on a device socket, each with the caller that registered it.
        var devices: [String: Caller] = [:]
        let continuation: AsyncStream<Frame>.Continuation
        /// Ends the connection, even if it is busy; `nil` until its handshake is answered.
        var cut: (@Sendable () -> Void)?

        func end() {
            continuation.finish()
            cut?()
        }
    }

    private struct State {
        var entries: [Int: Entry] = [:]
        var last = 0
    }

    private let state = Mutex(State())
    /// Maximum number of waiting frames; a slower client is cut, as by a real service.
    private static let bound = 10_000

    /// - Parameter hearing: `nil` for a device socket.
    /// - Returns: the frames to send; when they end, the socket has to be closed.
    func open(_ hearing: Subscription?) -> (number: Int, frames: AsyncStream<Frame>) {
        let (frames, continuation) = AsyncStream<Frame>.makeStream(bufferingPolicy: .bufferingOldest(Self.bound))
        let number = state.withLock { state in
            state.last += 1
            state.entries[state.last] = Entry(hearing: hearing, continuation: continuation)
            return state.last
        }
        return (number, frames)
    }

    func opened(_ number: Int, cut: @escaping @Sendable () -> Void) {
        state.withLock { $0.entries[number]?.cut = cut }
    }

    /// Removes a socket that has ended.
    /// - Returns: the devices that were registered on it.
    func close(_ number: Int) -> [String: Caller] {
        let entry = state.withLock { $0.entries.removeValue(forKey: number) }
        entry?.continuation.finish()
        return entry?.devices ?? [:]
    }

    /// Cuts every socket.
    func cutAll() {
        for entry in state.withLock({ Array($0.entries.values) }) { entry.end() }
    }

    var count: Int { state.withLock { $0.entries.count } }

    /// - Returns: false if it is already registered on this socket.
    func register(_ device: String, by caller: Caller, on number: Int) -> Bool {
        state.withLock { state in
            guard state.entries[number]?.devices[device] == nil else { return false }
            state.entries[number]?.devices[device] = caller
            return true
        }
    }

    func unregister(_ device: String, on number: Int) {
        state.withLock { _ = $0.entries[number]?.devices.removeValue(forKey: device) }
    }

    func devices(on number: Int) -> Set<String> {
        state.withLock { Set(($0.entries[number]?.devices ?? [:]).keys) }
    }

    func isConnected(_ device: String) -> Bool {
        state.withLock { $0.entries.values.contains { $0.devices[device] != nil } }
    }

    func pass(_ message: MessageRow) {
        pass(message.text) { if case .messages(let filter) = $0.hearing { filter.takes(message) } else { false } }
    }

    /// Sends an action to the sockets on which its destination is registered.
    func pass(_ action: ActionRow) {
        pass(action.frame) { $0.devices[action.ddid] != nil }
    }

    func pass(_ event: ExchangeDeviceEvent) {
        pass(event.text) { if case .events(let filter) = $0.hearing { filter.takes(event) } else { false } }
    }

    private func pass(_ text: String, where wants: (Entry) -> Bool) {
        let frame = Frame(text: text, time: .now)
        let full = state.withLock { state in
            state.entries.values.filter { entry in
                guard wants(entry) else { return false }
                if case .enqueued = entry.continuation.yield(frame) { return false }
                return true
            }
        }
        for entry in full { entry.end() }
    }
}
