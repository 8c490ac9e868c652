import CPostgreSQL
import Glibc
import Synchronization

/// One call of a connection: until when it may take, and whether its caller has left.
final class Ticket: Sendable {
    let deadline: ContinuousClock.Instant
    private let hasLeft = Atomic(false)

    init(until deadline: ContinuousClock.Instant) { self.deadline = deadline }

    var isCancelled: Bool { hasLeft.load(ordering: .acquiring) }
    func cancel() { hasLeft.store(true, ordering: .releasing) }
}

/// The thread of one connection, which waits for its socket, so that no thread of Swift's pool does.
final class ConnectionThread: Sendable {
    typealias Job = @Sendable (inout Link?) -> Void

    private struct Inbox {
        var jobs: [Job] = []
        var isEnded = false
    }

    private let inbox = Mutex(Inbox())
    /// Rung for a new job, a caller that has left, and the end.
    let bell: CInt

    /// - Throws: ``PostgreSQLError`` when the system has no thread or descriptor left.
    init(for host: ConnectionOptions.Host) throws(PostgreSQLError) {
        bell = eventfd(0, CInt(EFD_CLOEXEC | EFD_NONBLOCK))
        guard bell >= 0 else { throw Self.failure("eventfd", errno, host) }
        // The thread's own reference, until it ends.
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

    /// Runs `body` on the thread after all that was asked for before.
    ///
    /// - Throws: what `body` throws.
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

    /// Closes the connection when all that was asked for has been done.
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
