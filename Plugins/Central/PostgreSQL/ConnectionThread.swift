import CPostgreSQL
import Glibc
import Synchronization

/// A single call of a connection: its deadline, and whether its caller has left.
final class Ticket: Sendable {
    let deadline: ContinuousClock.Instant
    private let hasLeft = Atomic(false)

    init(until deadline: ContinuousClock.Instant) { self.deadline = deadline }

    var isCancelled: Bool { hasLeft.load(ordering: .acquiring) }
    func cancel() { hasLeft.store(true, ordering: .releasing) }
}

/// The number of threads that are still in the resolver after their callers have left.
final class AbandonedThreads: Sendable {
    static let inProcess = AbandonedThreads()
    static let most = 8

    private let count = Atomic(0)

    var hasRoom: Bool { count.load(ordering: .relaxed) < Self.most }
    func add() { count.add(1, ordering: .relaxed) }
    func remove() { count.subtract(1, ordering: .relaxed) }
}

/// A result that several sources may give; the first one counts.
final class FirstResult: Sendable {
    private enum State {
        case open
        case waiting(CheckedContinuation<Void, any Error>)
        /// The result was given before the caller waited.
        case given(Result<Void, any Error>)
        case over
    }

    private let state = Mutex(State.open)

    func wait(_ continuation: CheckedContinuation<Void, any Error>) {
        let early: Result<Void, any Error>? = state.withLock { state in
            guard case .given(let result) = state else {
                state = .waiting(continuation)
                return nil
            }
            state = .over
            return result
        }
        if let early { continuation.resume(with: early) }
    }

    /// - Parameter onFirst: runs before the caller continues, if this is the first result.
    /// - Returns: whether this was the first result.
    @discardableResult
    func give(_ result: Result<Void, any Error>, onFirst: () -> Void = {}) -> Bool {
        let (isFirst, waiting): (Bool, CheckedContinuation<Void, any Error>?) = state.withLock { state in
            switch state {
            case .open:
                state = .given(result)
                onFirst()
                return (true, nil)
            case .waiting(let continuation):
                state = .over
                onFirst()
                return (true, continuation)
            case .given, .over: return (false, nil)
            }
        }
        waiting?.resume(with: result)
        return isFirst
    }
}

/// The thread of one connection.
///
/// It waits for the socket, so that no thread of Swift's pool blocks.
final class ConnectionThread: Sendable {
    typealias Job = @Sendable (inout Link?) -> Void

    private struct Inbox {
        var jobs: [Job] = []
        var isEnded = false
    }

    private let inbox = Mutex(Inbox())
    /// Wakes the thread for a new job, a caller that has left, and the end.
    let bell: CInt

    /// - Throws: ``PostgreSQLError`` if the system has no thread or descriptor left.
    init(for host: ConnectionOptions.Host) throws(PostgreSQLError) {
        bell = eventfd(0, CInt(EFD_CLOEXEC | EFD_NONBLOCK))
        guard bell >= 0 else { throw Self.failure("eventfd", errno, host) }
        // The thread holds a reference until it ends.
        let this = Unmanaged.passRetained(self)
        var thread = pthread_t()
        let result = pthread_create(
            &thread, nil,
            { argument in
                guard let argument else { return nil }
                Unmanaged<ConnectionThread>.fromOpaque(argument).takeRetainedValue().work()
                return nil
            }, this.toOpaque())
        guard result == 0 else {
            this.release()
            throw Self.failure("pthread_create", result, host)
        }
        pthread_detach(thread)
    }

    deinit { Glibc.close(bell) }

    private static func failure(_ call: String, _ number: CInt, _ host: ConnectionOptions.Host) -> PostgreSQLError {
        PostgreSQLError(
            .host, "starting the thread of a connection", at: host, "\(call): \(String(cString: strerror(number)))")
    }

    /// Runs `body` on the thread after all earlier jobs.
    ///
    /// - Throws: errors of `body`.
    func run<Value: Sendable>(
        until deadline: ContinuousClock.Instant, _ body: @escaping @Sendable (inout Link?, Ticket) throws -> Value
    ) async throws -> Value {
        let ticket = Ticket(until: deadline)
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                add { link in continuation.resume(with: Result { try body(&link, ticket) }) }
            }
        } onCancel: {
            ticket.cancel()
            ring()
        }
    }

    /// Makes the connection, as the first job.
    ///
    /// The system's resolver cannot be interrupted. If it exceeds the deadline or the task is cancelled, the caller leaves, and the thread
    /// ends when the resolver returns.
    /// - Throws: errors of `connect`; ``PostgreSQLError``; `CancellationError`.
    func open(
        _ host: ConnectionOptions.Host, until deadline: ContinuousClock.Instant,
        leaving left: AbandonedThreads = .inProcess, _ connect: @escaping @Sendable (Ticket) throws -> Link
    ) async throws {
        guard left.hasRoom else {
            throw PostgreSQLError(
                .host, "connecting", at: host,
                "not tried: this machine's resolver does not answer, and \(AbandonedThreads.most) questions wait for it"
            )
        }
        let (ticket, caller) = (Ticket(until: deadline), FirstResult())
        // The timer fires later than the deadline of everything outside the resolver.
        let timer = Task {
            try await Task.sleep(until: deadline + .milliseconds(200), clock: .continuous)
            caller.give(
                .failure(
                    PostgreSQLError(
                        .host, "looking its name up", at: host, "this machine's resolver has not answered in time")),
                onFirst: left.add)
        }
        defer { timer.cancel() }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                caller.wait(continuation)
                add { link in
                    let result = Result { try connect(ticket) }
                    if case .success(let made) = result { link = made }
                    if !caller.give(result.map { _ in }) { left.remove() }
                }
            }
        } onCancel: {
            ticket.cancel()
            ring()
            caller.give(.failure(CancellationError()), onFirst: left.add)
        }
    }

    /// Closes the connection after all earlier jobs.
    func end() {
        inbox.withLock { $0.isEnded = true }
        ring()
    }

    private func add(_ job: @escaping Job) {
        let isEnded = inbox.withLock { inbox in
            if !inbox.isEnded { inbox.jobs.append(job) }
            return inbox.isEnded
        }
        guard isEnded else { return ring() }
        var none: Link?
        job(&none)
    }

    private func ring() { eventfd_write(bell, 1) }

    private func work() {
        var link: Link?
        while true {
            let (job, isEnded) = inbox.withLock { inbox in
                (inbox.jobs.isEmpty ? nil : inbox.jobs.removeFirst(), inbox.isEnded)
            }
            if let job {
                job(&link)
                continue
            }
            if isEnded { break }
            var item = pollfd(fd: bell, events: Int16(POLLIN), revents: 0)
            poll(&item, 1, -1)
            var rings: eventfd_t = 0
            eventfd_read(bell, &rings)
        }
        link = nil
    }
}
