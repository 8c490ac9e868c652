import CZeroMQ
import Glibc
import Synchronization

/// One thread that waits for sockets, file descriptors, deadlines and jobs at the same time, and runs the actors that own them.
///
/// ```swift
/// actor Relay {
///     private let loop: PollLoop
///     private let context: Context
///     private var door: Socket?
///
///     nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
///
///     init(loop: PollLoop, context: Context) { (self.loop, self.context) = (loop, context) }
///
///     /// Runs on the loop's thread, like everything in this actor except `init`, so the socket belongs to that thread.
///     func open(_ endpoint: String) throws {
///         let door = try Socket(.router, in: context)
///         try door.set(.routerMandatory, to: true)
///         try door.bind(endpoint)
///         loop.watch(door) { [weak self] _ in self?.assumeIsolated { $0.doorIsReady() } }
///         self.door = consume door
///     }
///
///     private func doorIsReady() {
///         for _ in 0..<PollLoop.messagesPerTurn { … receive and handle one message, or return … }
///     }
///
///     func close() { door = nil }  // Also ends the watch.
/// }
/// ```
///
/// **Turns.** Each turn runs the jobs queued before it, then the due timers, then each ready watcher once. The next turn follows immediately
/// while anything is ready. A flood of one of the three therefore cannot starve the others, *as long as a watcher stops after about
/// ``messagesPerTurn`` messages*; the remaining messages are reported again in the next turn.
///
/// **Order of life.** Call ``start()``, then ``stop()`` from another thread when the actors have closed their sockets. Jobs enqueued before the
/// start wait for it. Jobs enqueued after the stop (an `isolated deinit`, a task that still awaits) run one after the other on a separate
/// thread, so that no caller waits forever; nothing is watched then.
///
/// Actors on a loop must not block, because they would delay every other socket on it.
public final class PollLoop: SerialExecutor {
    /// The number of messages that a watcher may handle before it must return.
    ///
    /// About 0.1 ms of small messages.
    public static let messagesPerTurn = 256

    private enum Phase {
        case waiting, running, stopping, ended
        /// Ended, and a thread is busy with jobs that came later.
        case late
    }
    private struct Inbox {
        var jobs: [UnownedJob] = []
        var phase = Phase.waiting
    }

    private let name: String
    private let inbox = Mutex(Inbox())
    /// Wakes the thread out of `zmq_poll`.
    private let bell: CInt
    /// The thread that runs jobs now, or 0.
    ///
    /// Written by that thread only.
    private let thread = Atomic<UInt>(0)
    /// The thread to be joined by the first `stop()`; the lock is held while joining, so that a second caller waits, too.
    private let joinable = Mutex<pthread_t?>(nil)

    // Touched on the loop's thread only.
    nonisolated(unsafe) let polled: PollSet
    nonisolated(unsafe) var timers = TimerQueue()

    /// The running loops by thread, from which a socket learns the loop it belongs to.
    private static let running = Mutex<[UInt: PollLoop]>([:])

    /// Creates a loop that is not running yet.
    /// - Parameter name: names the thread in debuggers and `top`; cut to 15 bytes.
    /// - Throws: ``ZeroMQError/Code/systemCall`` if no file descriptor is left.
    public init(name: String = "poll-loop") throws(ZeroMQError) {
        bell = eventfd(0, CInt(EFD_CLOEXEC | EFD_NONBLOCK))
        guard bell >= 0 else { throw .systemCall("eventfd", errno) }
        self.name = String(decoding: name.utf8.prefix(15), as: UTF8.self)
        polled = PollSet(bell: bell)
    }

    deinit {
        Glibc.close(bell)
    }

    // MARK: - Life

    /// Starts the thread.
    ///
    /// Call it only once.
    /// - Throws: ``ZeroMQError/Code/systemCall`` if the system has no thread left; the loop can be started later then.
    public func start() throws(ZeroMQError) {
        let mayStart = inbox.withLock { inbox in
            defer { if inbox.phase == .waiting { inbox.phase = .running } }
            return inbox.phase == .waiting
        }
        precondition(mayStart, "a PollLoop is started once")
        do {
            let thread = try spawn { $0.run() }
            joinable.withLock { $0 = thread }
        } catch {
            inbox.withLock { $0.phase = .waiting }
            throw error
        }
    }

    /// Stops watches and timers, runs the queued jobs and those they enqueue, and returns when the thread has ended.
    ///
    /// It blocks the calling thread until then; do not call it on the loop. Further calls only wait for the first one.
    public func stop() {
        precondition(!isOnLoopThread, "a PollLoop cannot wait for its own end")
        let leftOver = inbox.withLock { inbox in
            switch inbox.phase {
            case .waiting:
                inbox.phase = inbox.jobs.isEmpty ? .ended : .late
                return inbox.phase == .late
            case .running: inbox.phase = .stopping
            case .stopping, .ended, .late: break
            }
            return false
        }
        if leftOver { runLate() }
        ring()
        joinable.withLock { thread in
            if let ended = thread { pthread_join(ended, nil) }
            thread = nil
        }
    }

    /// Whether the thread has ended, or will never be started.
    var hasEnded: Bool {
        inbox.withLock { $0.phase == .ended || $0.phase == .late }
    }

    /// The loop that runs on the calling thread.
    static var current: PollLoop? {
        running.withLock { $0[UInt(pthread_self())] }
    }

    // MARK: - SerialExecutor

    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let (phase, isFirst) = inbox.withLock { inbox in
            inbox.jobs.append(job)
            defer { if inbox.phase == .ended { inbox.phase = .late } }
            return (inbox.phase, inbox.jobs.count == 1)
        }
        switch phase {
        // The loop's own thread checks the queue before it sleeps; otherwise the thread that found the queue empty rings for all.
        case .running, .stopping: if isFirst, !isOnLoopThread { ring() }
        case .ended: runLate()
        case .waiting, .late: break
        }
    }

    /// Lets `assumeIsolated` work in a readiness callback, outside any task.
    public func isIsolatingCurrentContext() -> Bool? { isOnLoopThread }

    public func checkIsolated() {
        preconditionOnLoop("PollLoop.checkIsolated")
    }

    var isOnLoopThread: Bool { thread.load(ordering: .relaxed) == UInt(pthread_self()) }

    func preconditionOnLoop(_ operation: String) {
        precondition(isOnLoopThread, "\(operation): only on the thread of the PollLoop \(name)")
    }

    // MARK: - Turns

    private func run() {
        enter()
        var due: [UnownedJob] = []
        while true {
            let isStopping = inbox.withLock { inbox in
                swap(&inbox.jobs, &due)
                return inbox.phase == .stopping
            }
            runJobs(&due)
            if isStopping {
                releaseHandlers()
                if end() { return }
                continue
            }
            fireTimers()
            polled.poll(milliseconds: timeout())
            if polled.isBellRung { drainWakeups() }
            polled.dispatch()
        }
    }

    private func runJobs(_ due: inout [UnownedJob]) {
        for job in due { job.runSynchronously(on: asUnownedSerialExecutor()) }
        due.removeAll(keepingCapacity: true)
    }

    /// Releases the objects that watches and timers hold, including those set by the last jobs.
    private func releaseHandlers() {
        polled.removeAll()
        for timer in timers.removeAll() { timer.forget() }
    }

    private func fireTimers() {
        guard !timers.isEmpty else { return }
        let (now, newest) = (ContinuousClock.now, timers.newest)
        while let timer = timers.popDue(at: now, upTo: newest) { timer.fire() }
    }

    /// How long the thread may sleep: not at all if jobs are queued, else until the next deadline, else indefinitely.
    private func timeout() -> Int {
        guard inbox.withLock({ $0.jobs.isEmpty && $0.phase == .running }) else { return 0 }
        guard let next = timers.next else { return -1 }
        return max(ContinuousClock.now.duration(to: next), .zero).millisecondsRoundedUp
    }

    /// Runs jobs that arrived after the end.
    ///
    /// They run on a separate thread, because the enqueuer may hold locks that the jobs need.
    private func runLate() {
        do {
            pthread_detach(
                try spawn { loop in
                    loop.enter()
                    var due: [UnownedJob] = []
                    repeat {
                        loop.inbox.withLock { swap(&$0.jobs, &due) }
                        loop.runJobs(&due)
                        loop.releaseHandlers()
                    } while !loop.end()
                })
        } catch {
            preconditionFailure("\(error): a task would wait for ever")
        }
    }

    private func enter() {
        let this = UInt(pthread_self())
        thread.store(this, ordering: .relaxed)
        Self.running.withLock { $0[this] = self }
        _ = name.withCString { pthread_setname_np(pthread_self(), $0) }
    }

    /// Ends the thread's service if no job came meanwhile.
    private func end() -> Bool {
        inbox.withLock { inbox in
            guard inbox.jobs.isEmpty else { return false }
            Self.running.withLock { $0[UInt(pthread_self())] = nil }
            thread.store(0, ordering: .relaxed)
            inbox.phase = .ended
            return true
        }
    }

    private func ring() {
        eventfd_write(bell, 1)
    }

    private func drainWakeups() {
        var rings: eventfd_t = 0
        eventfd_read(bell, &rings)
    }

    private func spawn(_ body: @escaping @Sendable (PollLoop) -> Void) throws(ZeroMQError) -> pthread_t {
        let start = Unmanaged.passRetained(ThreadStart(loop: self, body: body))
        var thread = pthread_t()
        let result = pthread_create(
            &thread, nil,
            { argument in
                guard let argument else { return nil }
                let start = Unmanaged<ThreadStart>.fromOpaque(argument).takeRetainedValue()
                start.body(start.loop)
                return nil
            }, start.toOpaque())
        guard result == 0 else {
            start.release()
            throw .systemCall("pthread_create", result)
        }
        return thread
    }
}

/// The loop and the body for a new thread, in the single pointer that it receives.
private final class ThreadStart: Sendable {
    let loop: PollLoop
    let body: @Sendable (PollLoop) -> Void

    init(loop: PollLoop, body: @escaping @Sendable (PollLoop) -> Void) {
        (self.loop, self.body) = (loop, body)
    }
}

extension ZeroMQError {
    static func systemCall(_ operation: String, _ number: CInt) -> ZeroMQError {
        ZeroMQError(operation, number: number, code: .systemCall)
    }
}
