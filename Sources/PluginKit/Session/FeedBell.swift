import HubWire
import ZeroMQ

/// Says that the hub may have something new: the feed as a bell, whose messages are not read.
///
/// Who follows asks the door, which has everything once and in order (Protocol §7.1).
package actor FeedBell {
    private let loop: PollLoop
    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
    private let address: HubAddress
    private let context: Context
    private var socket: Socket?
    private var watch: PollLoop.Registration?
    private var incoming = Multipart()
    private nonisolated let rings: AsyncStream<Void>
    private nonisolated let tell: AsyncStream<Void>.Continuation

    /// - Parameter link: whose log-in the feed takes, too.
    package init(beside link: HubLink) {
        (loop, address, context) = (link.loop, link.address, link.context)
        (rings, tell) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Subscribes, and to the pulse, which comes within a second of anything new.
    package func listen(at feed: String, _ prefixes: [String]) throws {
        let socket = try Socket(.sub, in: context)
        try socket.set(.linger, to: .zero)
        switch address.logIn {
        case .token(let instance, let token):
            try socket.set(.plainUsername, to: instance)
            try socket.set(.plainPassword, to: token)
        case .key(let key): try key.apply(to: socket)
        case nil: break
        }
        for prefix in prefixes + [Topic.pulse.text] { try socket.subscribe(prefix) }
        try socket.connect(feed)
        watch = loop.watch(socket) { [weak self] _ in self?.assumeIsolated { $0.drain() } }
        self.socket = consume socket
    }

    private func drain() {
        for _ in 0..<PollLoop.messagesPerTurn {
            guard case .complete? = try? socket?.receiveMultipart(into: &incoming) else { break }
        }
        ring()
    }

    /// There may be something new for another reason, such as another session.
    package nonisolated func ring() { tell.yield() }

    /// Returns at the next ring, at once if there was one since the last; or after `limit`.
    package nonisolated func next(within limit: Duration) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { for await _ in self.rings { return } }
            group.addTask { try? await Task.sleep(for: limit) }
            await group.next()
            group.cancelAll()
        }
    }

    package func close() {
        watch = nil
        socket = nil
    }
}
