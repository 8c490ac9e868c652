import CZeroMQ
import Glibc

/// The set that a ``PollLoop`` polls.
///
/// The array for `zmq_poll` is kept from turn to turn and changed in place. Use it only on the loop's thread.
final class PollSet {
    /// The bell, then one entry per watch; an entry without watch is a gap to be closed before the next poll.
    private var items: [zmq_pollitem_t]
    private var watches: [PollLoop.Registration?] = [nil]
    private var hasGaps = false
    private(set) var isBellRung = false

    private static var gap: zmq_pollitem_t { zmq_pollitem_t(socket: nil, fd: -1, events: 0, revents: 0) }

    init(bell: CInt) {
        items = [zmq_pollitem_t(socket: nil, fd: bell, events: CShort(ZMQ_POLLIN), revents: 0)]
    }

    func add(_ watch: PollLoop.Registration) {
        watch.place = items.count
        items.append(watch.item)
        watches.append(watch)
    }

    func update(_ watch: PollLoop.Registration) {
        guard let place = watch.place else { return }
        items[place] = watch.item
    }

    func remove(_ watch: PollLoop.Registration) {
        guard let place = watch.place else { return }
        watch.place = nil
        items[place] = Self.gap
        watches[place] = nil
        hasGaps = true
    }

    func removeAll() {
        for case let watch? in watches { watch.end() }
    }

    /// Sleeps until something is ready, the bell rings or the time is over (−1: never).
    func poll(milliseconds: Int) {
        closeGaps()
        var result = zmq_poll(&items, CInt(items.count), milliseconds)
        if result == -1, zmq_errno() == ETERM {
            dropTerminated()
            result = -1
        }
        if result == -1 {
            // A signal, or a context that was shut down: `revents` still contains an earlier turn's values.
            for place in items.indices where !(watches[place]?.isTerminated ?? false) { items[place].revents = 0 }
        }
        isBellRung = items[0].revents != 0
    }

    /// Notifies each ready watch once.
    ///
    /// Watches may be added, removed and changed meanwhile.
    func dispatch() {
        for place in 1..<max(items.count, 1) where items[place].revents != 0 {
            let ready = Readiness(rawValue: items[place].revents)
            items[place].revents = 0
            watches[place]?.tell(ready)
        }
    }

    /// `zmq_poll` fails as a whole when one context is gone.
    ///
    /// Its sockets are notified and no longer polled.
    private func dropTerminated() {
        for place in items.indices {
            guard let socket = items[place].socket else { continue }
            var (events, size): (CInt, Int) = (0, MemoryLayout<CInt>.size)
            guard zmq_getsockopt(socket, ZMQ_EVENTS, &events, &size) == -1, zmq_errno() == ETERM else { continue }
            items[place] = Self.gap
            items[place].revents = Readiness.terminated.rawValue
            watches[place]?.isTerminated = true
        }
    }

    private func closeGaps() {
        guard hasGaps else { return }
        hasGaps = false
        var free = 1
        for place in 1..<items.count {
            guard let watch = watches[place] else { continue }
            items[free] = items[place]
            watches[free] = watch
            watch.place = free
            free += 1
        }
        items.removeSubrange(free...)
        watches.removeSubrange(free...)
    }
}

extension PollLoop {
    /// A watch on a socket or file descriptor.
    ///
    /// The loop keeps it until it is cancelled, its socket closes or adopts another thread, its context is shut down,
    /// or the loop stops. Only on the loop's thread.
    public final class Registration {
        private let socket: SocketHandle?
        private let descriptor: CInt
        private var action: ((Readiness) -> Void)?
        private unowned let loop: PollLoop
        fileprivate(set) var place: Int?
        fileprivate var isTerminated = false

        fileprivate init(
            socket: SocketHandle?, descriptor: CInt, _ interest: Readiness, on loop: PollLoop,
            _ action: @escaping (Readiness) -> Void
        ) {
            (self.socket, self.descriptor, self.loop, self.action) = (socket, descriptor, loop, action)
            self.interest = interest
        }

        /// The events to wait for.
        ///
        /// Empty pauses the watch: what arrives stays in the socket's queue and slows its peers. Writability is true
        /// nearly always: wait for it only while there is something to write.
        public var interest: Readiness {
            didSet {
                loop.preconditionOnLoop("Registration.interest")
                loop.polled.update(self)
            }
        }

        /// Whether the loop still watches.
        public var isActive: Bool { place != nil }

        /// Ends the watch.
        ///
        /// Harmless when it has ended.
        public func cancel() {
            guard isActive else { return }
            loop.preconditionOnLoop("Registration.cancel")
            end()
        }

        fileprivate func end() {
            loop.polled.remove(self)
            socket?.registration = nil
            action = nil
        }

        fileprivate func tell(_ ready: Readiness) {
            let action = action
            if ready.contains(.terminated) { end() }
            action?(ready)
        }

        fileprivate var item: zmq_pollitem_t {
            if let socket { return zmq_pollitem_t(socket: socket.raw, fd: 0, events: interest.rawValue, revents: 0) }
            // A descriptor without events is left out, because poll(2) would still report its hang-up, turn after turn.
            return zmq_pollitem_t(
                socket: nil, fd: interest.isEmpty ? -1 : descriptor, events: interest.rawValue, revents: 0)
        }
    }

    /// Calls `action` on the loop's thread, once per turn, while `socket` is ready for `interest`.
    ///
    /// Only on the loop's thread, once per socket. In an actor, come back into isolation by `assumeIsolated` (see
    /// ``PollLoop``), and hold the actor weakly: the loop keeps `action` as long as the watch.
    @discardableResult
    public func watch(
        _ socket: borrowing Socket, for interest: Readiness = .readable, _ action: @escaping (Readiness) -> Void
    ) -> Registration {
        preconditionOnLoop("PollLoop.watch")
        socket.handle.assertOwned()
        precondition(socket.handle.registration == nil, "a socket has one watch; change its interest")
        let watch = Registration(socket: socket.handle, descriptor: -1, interest, on: self, action)
        socket.handle.registration = watch
        polled.add(watch)
        return watch
    }

    /// Calls `action` on the loop's thread, once per turn, while the descriptor is ready for `interest` or has failed.
    ///
    /// The descriptor stays the caller's: cancel the watch *before* closing it.
    @discardableResult
    public func watch(
        fileDescriptor: CInt, for interest: Readiness = .readable, _ action: @escaping (Readiness) -> Void
    ) -> Registration {
        preconditionOnLoop("PollLoop.watch")
        let watch = Registration(socket: nil, descriptor: fileDescriptor, interest, on: self, action)
        polled.add(watch)
        return watch
    }

    /// Calls `action` on the loop's thread once, at `deadline` or as soon after it as the loop is free.
    ///
    /// Only on the loop's thread.
    ///
    /// The clock runs on while the machine sleeps and knows no wall time. Deadlines are met to the millisecond, never
    /// early.
    @discardableResult
    public func schedule(at deadline: ContinuousClock.Instant, _ action: @escaping () -> Void) -> Timer {
        preconditionOnLoop("PollLoop.schedule")
        let timer = Timer(deadline, on: self, action)
        timers.insert(timer)
        return timer
    }

    /// As ``schedule(at:_:)``, counted from now.
    @discardableResult
    public func schedule(after delay: Duration, _ action: @escaping () -> Void) -> Timer {
        schedule(at: .now + delay, action)
    }
}
