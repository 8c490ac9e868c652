import HubWire
import Synchronization
import ZeroMQ

/// A bell that rings when the hub may have something new, driven by the feed.
///
/// A listener then queries the door, which has everything once and in order (Protocol §7.1). Messages of the feed are therefore not read,
/// except those available nowhere else, such as LIVE. It is a separate actor on the loop of the link, because it has a socket, and
/// neither calls the other.
package actor FeedNotifier {
    private let loop: PollLoop
    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
    private let address: HubAddress
    private let context: Context
    private var socket: Socket?
    private var watch: PollLoop.Registration?
    private var incoming = Multipart()
    /// The topic prefixes of messages to pass on, and their receiver.
    private var passing: (prefixes: [String], heard: @Sendable (FeedMessage) -> Void)?
    /// An `AsyncStream` would end for good with the first cancelled wait.
    private nonisolated let rings = EventCounter()
    /// The number of rings when ``next(within:)`` last returned.
    private nonisolated let answered = Mutex(0)

    /// - Parameter link: the link whose log-in the feed also uses.
    package init(beside link: HubLink) {
        (loop, address, context) = (link.loop, link.address, link.context)
    }

    /// Subscribes to the topics and to the pulse, which follows any news within a second.
    ///
    /// - Parameters:
    ///   - prefixes: topic prefixes whose messages ring.
    ///   - passing: topic prefixes whose messages do not ring, but go to `heard`.
    ///   - heard: called on the loop, in the order of the messages; it must not block.
    package func listen(
        at feed: String, _ prefixes: [String], passing: [String] = [],
        heard: @escaping @Sendable (FeedMessage) -> Void = { _ in }
    ) throws {
        self.passing = passing.isEmpty ? nil : (passing, heard)
        let socket = try Socket(.sub, in: context)
        try socket.set(.linger, to: .zero)
        try address.applyLogIn(to: socket)
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

    /// Rings for another reason, such as a new session.
    package nonisolated func ring() { rings.note() }

    /// Returns at the next ring, immediately if there was one since the last call, or after `limit`.
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
