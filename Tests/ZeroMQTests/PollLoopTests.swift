import Glibc
import Platform
import Synchronization
import Testing

@testable import ZeroMQ

/// An actor like those of the hub and the plugins: it runs on a loop and owns a socket.
actor Receiver {
    let loop: PollLoop
    private let context: Context
    private var socket: Socket?
    private var watch: PollLoop.Registration?
    private(set) var received: [String] = []
    private(set) var errors: Set<ZeroMQError.Code> = []
    private(set) var endings = 0
    private(set) var turns = 0
    private(set) var pings = 0
    private var waiting: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    /// Resumed when the context has ended.
    private var ended: [CheckedContinuation<Void, Never>] = []

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    init(loop: PollLoop, context: Context) { (self.loop, self.context) = (loop, context) }

    func open(_ endpoint: String, kind: Socket.Kind = .pull) throws {
        let socket = try Socket(kind, in: context)
        try socket.bind(endpoint)
        watch = loop.watch(socket) { [weak self] ready in self?.assumeIsolated { $0.handle(ready) } }
        self.socket = consume socket
    }

    private func handle(_ ready: Readiness) {
        turns += 1
        if ready.contains(.terminated) {
            endings += 1
            for waiter in ended { waiter.resume() }
            ended = []
        }
        do {
            for _ in 0..<PollLoop.messagesPerTurn {
                guard let message = try socket?.receive() else { break }
                received.append(message.text ?? "")
            }
        } catch {
            errors.insert(error.code)
        }
        let count = received.count
        for waiter in waiting where waiter.count <= count { waiter.continuation.resume() }
        waiting.removeAll { $0.count <= count }
    }

    func wait(for count: Int) async {
        if received.count >= count { return }
        await withCheckedContinuation { waiting.append((count, $0)) }
    }

    func waitForEnding() async {
        if endings > 0 { return }
        await withCheckedContinuation { ended.append($0) }
    }

    func pause() { watch?.interest = [] }
    func resume() { watch?.interest = .readable }
    func ping() -> Bool {
        pings += 1
        return loop.isOnLoopThread
    }
    func close() { socket = nil }
    var isWatching: Bool { watch?.isActive ?? false }

    /// Sets timers in milliseconds from now, cancels those in `cancelled`, and returns the order in which the others fire.
    func timers(_ delays: [Int], cancelled: Set<Int> = []) async -> [Int] {
        let start = ContinuousClock.now
        var timers: [PollLoop.Timer] = []
        let fired = FiredTimers()
        for (index, delay) in delays.enumerated() {
            let deadline = start + .milliseconds(delay)
            timers.append(
                loop.schedule(at: deadline) {
                    fired.order.append(index)
                    fired.early = fired.early || ContinuousClock.now < deadline
                })
        }
        for index in cancelled { timers[index].cancel() }
        await withCheckedContinuation { continuation in
            loop.schedule(at: start + .milliseconds((delays.max() ?? 0) + 1)) { continuation.resume() }
        }
        return fired.early ? [] : fired.order
    }
}

private final class FiredTimers {
    var order: [Int] = []
    var early = false
}

@Suite(.timeLimit(.minutes(1))) struct PollLoopTests {
    @Test func `an actor on a loop runs on the loop's thread and receives its socket's messages`() async throws {
        let (context, loop) = (try Context(), try PollLoop())
        try loop.start()
        let receiver = Receiver(loop: loop, context: context)
        #expect(await receiver.ping())
        try await receiver.open("inproc://work")
        let sender = TestThread {
            guard let push = try? Socket(.push, in: context), (try? push.connect("inproc://work")) != nil else {
                return
            }
            for number in 0..<2000 {
                _ = try? push.wait(for: .writable, upTo: patience)
                _ = try? push.send(Message("\(number)"))
            }
        }
        await receiver.wait(for: 2000)
        sender.join()
        #expect(await receiver.received == (0..<2000).map { "\($0)" })
        await receiver.close()
        #expect(await !receiver.isWatching)
        loop.stop()
    }

    @Test func `a flood on one socket starves neither jobs nor timers`() async throws {
        let (context, loop) = (try Context(), try PollLoop())
        try loop.start()
        let receiver = Receiver(loop: loop, context: context)
        try await receiver.open("inproc://flood")
        // The flood goes on until jobs and timers have run.
        let flood = Flood(context: context, endpoint: "inproc://flood")
        await receiver.wait(for: 10_000)
        for _ in 0..<50 { #expect(await receiver.ping()) }
        #expect(await receiver.timers([3, 1, 2]) == [1, 2, 0])
        flood.stop()
        await receiver.close()
        loop.stop()
    }

    @Test func `a storm of jobs starves no socket`() async throws {
        let (context, loop) = (try Context(), try PollLoop())
        try loop.start()
        let receiver = Receiver(loop: loop, context: context)
        try await receiver.open("inproc://calm")
        let storm = Storm(receiver)
        async let jobs = storm.run()
        while await receiver.pings < 100 { await Task.yield() }
        let flood = Flood(context: context, endpoint: "inproc://calm")
        await receiver.wait(for: 1000)
        flood.stop()
        storm.stop()
        #expect(await jobs >= 100)
        await receiver.close()
        loop.stop()
    }

    @Test func `timers fire in order of their deadlines, never early, and cancelled ones do not fire`() async throws {
        let (context, loop) = (try Context(), try PollLoop())
        try loop.start()
        let receiver = Receiver(loop: loop, context: context)
        #expect(await receiver.timers([5, 0, 3, 3, -10, 4], cancelled: [2]) == [4, 1, 3, 5, 0])
        loop.stop()
    }

    @Test(arguments: [1, 2, 3]) func `any mix of setting and cancelling keeps timers in order`(seed: UInt64)
        async throws
    {
        let (context, loop) = (try Context(), try PollLoop())
        try loop.start()
        var random = SeededGenerator(seed: seed)
        let delays = (0..<300).map { _ in Int.random(in: 0...9, using: &random) }
        let cancelled = Set((0..<150).map { _ in Int.random(in: 0..<300, using: &random) })
        let expected = delays.indices.filter { !cancelled.contains($0) }.sorted { (delays[$0], $0) < (delays[$1], $1) }
        let fired = await Receiver(loop: loop, context: context).timers(delays, cancelled: cancelled)
        #expect(fired == expected, "seed \(seed)")
        loop.stop()
    }

    @Test func `a paused watch leaves messages in the queue until it is resumed`() async throws {
        let (context, loop) = (try Context(), try PollLoop())
        try loop.start()
        let receiver = Receiver(loop: loop, context: context)
        try await receiver.open("inproc://paused")
        await receiver.pause()
        TestThread {
            guard let push = try? Socket(.push, in: context), (try? push.connect("inproc://paused")) != nil else {
                return
            }
            _ = try? push.send(Message("x"))
        }.join()
        for _ in 0..<10 { _ = await receiver.ping() }
        #expect(await receiver.turns == 0)
        await receiver.resume()
        await receiver.wait(for: 1)
        #expect(await receiver.received == ["x"])
        await receiver.close()
        loop.stop()
    }

    @Test func `a watched file descriptor is reported until its watch is cancelled`() async throws {
        let loop = try PollLoop()
        try loop.start()
        let pipe = PipeReader(loop: loop)
        let writer = try await pipe.open()
        #expect(write(writer, "abc", 3) == 3)
        #expect(await pipe.next(3) == Array("abc".utf8))
        Glibc.close(writer)
        await pipe.waitForEnd()
        loop.stop()
    }

    @Test func `a context's shutdown is reported to each watch once, and the loop continues`() async throws {
        let (context, other, loop) = (try Context(), try Context(), try PollLoop())
        try loop.start()
        let lost = Receiver(loop: loop, context: context)
        let kept = Receiver(loop: loop, context: other)
        try await lost.open("inproc://a")
        try await kept.open("inproc://b")
        let flood = Flood(context: context, endpoint: "inproc://a")
        await lost.wait(for: 1000)
        context.shutdown()
        await lost.waitForEnding()
        flood.join()
        #expect(await lost.errors == [.contextTerminated])
        #expect(await !lost.isWatching)
        let alive = Flood(context: other, endpoint: "inproc://b")
        await kept.wait(for: 100)
        alive.stop()
        await lost.close()
        await kept.close()
        #expect(await lost.endings == 1)
        loop.stop()
    }

    @Test func `jobs enqueued before the start and after the stop still run, one at a time`() async throws {
        let (context, loop) = (try Context(), try PollLoop())
        let receiver = Receiver(loop: loop, context: context)
        async let early = receiver.ping()
        try loop.start()
        #expect(await early)
        loop.stop()
        loop.stop()
        for _ in 0..<100 { #expect(await receiver.ping()) }
    }

    @Test func `a stopped loop releases its watches, its timers and itself`() async throws {
        let context = try Context()
        weak var loop: PollLoop?
        weak var receiver: Receiver?
        do {
            let running = try PollLoop()
            try running.start()
            let actor = Receiver(loop: running, context: context)
            try await actor.open("inproc://kept")
            await actor.setDistantTimer()
            (loop, receiver) = (running, actor)
            running.stop()
        }
        #expect(receiver == nil)
        // The actor's socket, which refers to the loop as its owner, was closed with the actor.
        #expect(loop == nil)
    }

    @Test func `constant work on a loop does not prevent other threads from waking it`() async throws {
        let loop = try PollLoop()
        try loop.start()
        let counter = Counter(loop: loop)
        await withTaskGroup { group in
            for _ in 0..<8 { group.addTask { for _ in 0..<2000 { await counter.increment() } } }
        }
        #expect(await counter.count == 16_000)
        loop.stop()
    }

    @Test func `using a socket on a foreign thread traps in a debug build`() async {
        await #expect(processExitsWith: .failure) {
            let socket = try Socket(.pair, in: try Context())
            let box = Mutex(Optional(socket))
            TestThread { box.withLock { _ = try? $0?.send(Message("x")) } }.join()
        }
    }

    @Test func `a socket made in an init is adopted by the loop's thread`() async throws {
        let (context, loop) = (try Context(), try PollLoop())
        try loop.start()
        let owner = try Adopter(loop: loop, context: context)
        #expect(try await owner.readiness() == [])
        await owner.close()
        loop.stop()
    }
}
