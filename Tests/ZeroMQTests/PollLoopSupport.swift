import Glibc
import Synchronization

@testable import ZeroMQ

/// A thread that sends to a socket as fast as it is read, until it is stopped or its context ends.
final class Flood: Sendable {
    private let isOver = Atomic<Bool>(false)
    private let thread = Mutex<TestThread?>(nil)

    init(context: Context, endpoint: String) {
        let thread = TestThread { [self] in
            guard let push = try? Socket(.push, in: context), (try? push.connect(endpoint)) != nil else { return }
            while !isOver.load(ordering: .relaxed) {
                guard let outcome = try? push.send(Message("flood")) else { return }
                if outcome == .wouldBlock, (try? push.wait(for: .writable, upTo: .milliseconds(10))) == nil { return }
            }
        }
        self.thread.withLock { $0 = thread }
    }

    func stop() {
        isOver.store(true, ordering: .relaxed)
        join()
    }

    func join() {
        thread.withLock { thread in
            thread?.join()
            thread = nil
        }
    }
}

/// Calls an actor without a pause, from eight tasks.
final class Storm: Sendable {
    private let isOver = Atomic<Bool>(false)
    private let receiver: Receiver

    init(_ receiver: Receiver) { self.receiver = receiver }

    func stop() { isOver.store(true, ordering: .relaxed) }

    /// Returns the number of calls.
    func run() async -> Int {
        await withTaskGroup(of: Int.self) { group in
            for _ in 0..<8 {
                group.addTask { [self] in
                    var calls = 0
                    while !isOver.load(ordering: .relaxed), await receiver.ping() { calls += 1 }
                    return calls
                }
            }
            return await group.reduce(0, +)
        }
    }
}

/// An actor that only counts.
actor Counter {
    private let loop: PollLoop
    private(set) var count = 0
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
    init(loop: PollLoop) { self.loop = loop }
    func increment() { count += 1 }
}

/// An actor whose socket is created in `init`, before the actor runs on its loop.
actor Adopter {
    private let loop: PollLoop
    private var socket: Socket?
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    init(loop: PollLoop, context: Context) throws {
        self.loop = loop
        socket = try Socket(.pull, in: context)
    }

    func readiness() throws -> Readiness? {
        socket?.adopt()
        return try socket?.readiness
    }

    func close() { socket = nil }
}

/// An actor that reads a pipe.
actor PipeReader {
    private let loop: PollLoop
    private var descriptor: CInt = -1
    private var watch: PollLoop.Registration?
    private var bytes: [UInt8] = []
    private var waiting: CheckedContinuation<Void, Never>?
    private var isAtEnd = false
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    init(loop: PollLoop) { self.loop = loop }

    /// Returns the end to write to.
    func open() throws -> CInt {
        var ends: [CInt] = [-1, -1]
        guard pipe(&ends) == 0 else { throw ZeroMQError("pipe", number: errno) }
        descriptor = ends[0]
        watch = loop.watch(fileDescriptor: descriptor) { [weak self] _ in self?.assumeIsolated { $0.ready() } }
        return ends[1]
    }

    private func ready() {
        var buffer = [UInt8](repeating: 0, count: 100)
        let count = read(descriptor, &buffer, buffer.count)
        if count <= 0 {
            isAtEnd = true
            watch?.cancel()
            Glibc.close(descriptor)
        } else {
            bytes += buffer.prefix(count)
        }
        waiting?.resume()
        waiting = nil
    }

    func next(_ count: Int) async -> [UInt8] {
        while bytes.count < count, !isAtEnd { await withCheckedContinuation { waiting = $0 } }
        return bytes
    }

    func waitForEnd() async { while !isAtEnd { await withCheckedContinuation { waiting = $0 } } }
}

extension Receiver {
    func setDistantTimer() {
        loop.schedule(after: .seconds(3600)) { [self] in _ = ping() }
    }
}
