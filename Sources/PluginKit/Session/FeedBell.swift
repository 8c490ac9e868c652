import HubWire
import Synchronization
import ZeroMQ

/// Says that the hub may have something new: the feed as a bell.
///
/// Who follows asks the door, which has everything once and in order (Protocol §7.1), so that messages are not read; but for
/// those that are nowhere else, such as LIVE.
package actor FeedBell {
    private let loop: PollLoop
    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
    private let address: HubAddress
    private let context: Context
    private var socket: Socket?
    private var watch: PollLoop.Registration?
    private var incoming = Multipart()
    /// Beginnings of the topics whose messages are handed on, and to whom.
    private var passing: (prefixes: [String], heard: @Sendable (FeedMessage) -> Void)?
    /// No `AsyncStream`, which would be over for good with the first wait that is cancelled.
    private nonisolated let rings = EventCounter()
    /// How many rings there had been when ``next(within:)`` returned last.
    private nonisolated let answered = Mutex(0)

    /// - Parameter link: whose log-in the feed takes, too.
    package init(beside link: HubLink) {
        (loop, address, context) = (link.loop, link.address, link.context)
    }

    /// Subscribes, and to the pulse, which comes within a second of anything new.
    ///
    /// - Parameters:
    ///   - prefixes: beginnings of topics whose messages ring.
    ///   - passing: beginnings of topics whose messages do not ring, but are handed to `heard`.
    ///   - heard: called on the loop, in the order of the messages: it must not wait.
    package func listen(
        at feed: String, _ prefixes: [String], passing: [String] = [],
        heard: @escaping @Sendable (FeedMessage) -> Void = { _ in }
    ) throws {
        self.passing = passing.isEmpty ? nil : (passing, heard)
        let socket = try Socket(.sub, in: context)
        try socket.set(.linger, to: .zero)
        switch address.logIn {
        case .token(let instance, let token):
            try socket.set(.plainUsername, to: instance)
            try socket.set(.plainPassword, to: token)
        case .key(let key): try key.apply(to: socket)
        case nil: break
        }
        for prefix in prefixes + passing + [Topic.pulse.text] { try socket.subscribe(prefix) }
        try socket.connect(feed)
        watch = loop.watch(socket) { [weak self] _ in self?.assumeIsolated { $0.drain() } }
        self.socket = consume socket
    }

    private func drain() {
        for _ in 0..<PollLoop.messagesPerTurn {
            guard case .complete? = try? socket?.receiveMultipart(into: &incoming) else { break }
            hear()
        }
    }

    private func hear() {
        guard let (prefixes, heard) = passing, incoming.count == 3,
            prefixes.contains(where: { incoming.unsafeBytes(of: 0).starts(with: $0.utf8) })
        else { return ring() }
        if let message = FeedMessage(frames: (0..<3).map { incoming.bytes(of: $0) }) { heard(message) }
    }

    /// There may be something new for another reason, such as another session.
    package nonisolated func ring() { rings.note() }

    /// Returns at the next ring, at once if there was one since the last; or after `limit`.
    package nonisolated func next(within limit: Duration) async {
        let known = answered.withLock { $0 }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { try? await self.rings.wait(beyond: known) }
            group.addTask { try? await Task.sleep(for: limit) }
            await group.next()
            group.cancelAll()
        }
        answered.withLock { $0 = rings.count }
    }

    package func close() {
        watch = nil
        socket = nil
    }
}
