import Synchronization

/// Which sockets are open, and what each wants to hear.
final class SocketRegistry: Sendable {
    private struct Entry {
        var filter: LiveFilter?
        /// Registered on a device socket.
        var devices: Set<String> = []
        let continuation: AsyncStream<String>.Continuation
    }

    private struct State {
        var entries: [Int: Entry] = [:]
        var last = 0
    }

    private let state = Mutex(State())
    /// Frames that a socket may have waiting; a client that reads slower is cut, as a real service would.
    private static let bound = 10_000

    /// - Parameter filter: what a live socket hears; nil for a device socket.
    /// - Returns: frames to send; when they end, the socket is to be closed.
    func open(_ filter: LiveFilter?) -> (number: Int, frames: AsyncStream<String>) {
        let (frames, continuation) = AsyncStream<String>.makeStream(bufferingPolicy: .bufferingOldest(Self.bound))
        let number = state.withLock { state in
            state.last += 1
            state.entries[state.last] = Entry(filter: filter, continuation: continuation)
            return state.last
        }
        return (number, frames)
    }

    func close(_ number: Int) {
        let entry = state.withLock { $0.entries.removeValue(forKey: number) }
        entry?.continuation.finish()
    }

    /// Cuts every socket.
    func cutAll() {
        let entries = state.withLock { state in
            defer { state.entries = [:] }
            return state.entries.values
        }
        for entry in entries { entry.continuation.finish() }
    }

    var count: Int { state.withLock { $0.entries.count } }

    /// - Returns: false when it is registered on this socket already.
    func register(_ device: String, on number: Int) -> Bool {
        state.withLock { $0.entries[number]?.devices.insert(device).inserted ?? false }
    }

    func unregister(_ device: String, on number: Int) {
        state.withLock { _ = $0.entries[number]?.devices.remove(device) }
    }

    func devices(on number: Int) -> Set<String> { state.withLock { $0.entries[number]?.devices ?? [] } }

    func isConnected(_ device: String) -> Bool {
        state.withLock { $0.entries.values.contains { $0.devices.contains(device) } }
    }

    func pass(_ message: MessageRow) {
        pass(message.text) { $0.filter?.takes(message) ?? false }
    }

    /// To the sockets on which its destination is registered.
    func pass(_ action: ActionRow) {
        pass(action.frame) { $0.devices.contains(action.ddid) }
    }

    private func pass(_ frame: String, where wants: (Entry) -> Bool) {
        let full = state.withLock { state in
            state.entries.filter { _, entry in
                guard wants(entry) else { return false }
                if case .enqueued = entry.continuation.yield(frame) { return false }
                return true
            }.map(\.key)
        }
        for number in full { close(number) }
    }
}

/// What a live socket has asked for.
struct LiveFilter: Sendable {
    let caller: Caller
    let uid: String?
    let devices: Set<String>
    let types: Set<String>

    func takes(_ message: MessageRow) -> Bool {
        if case .device(let own, _) = caller.kind, own != message.sdid { return false }
        guard uid == nil || uid == message.uid, caller.may(.read, message.sdtid) else { return false }
        guard !devices.isEmpty || !types.isEmpty else { return true }
        return devices.contains(message.sdid) || types.contains(message.sdtid)
    }
}
