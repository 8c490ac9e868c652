import Glibc

/// Connections to a listening HSL link that have not proved themselves yet.
struct PendingConnections {
    private var handshakes: HSLHandshakes
    private let startedAt = ContinuousClock.now
    private var guests: [(number: Int, descriptor: LinkDescriptor)] = []
    private var last = 0
    /// The guest to let in as soon as no link is open.
    private var next: Int?
    /// Whether the owner has been notified that a guest waits.
    private var isAnnounced = false
    /// Remarks for the owner.
    private var remarks: [String] = []

    init(_ handshakes: HSLHandshakes) { self.handshakes = handshakes }

    /// When to call ``pass(at:)``.
    var deadline: ContinuousClock.Instant? { handshakes.deadline.map { startedAt + $0 } }

    /// The files to poll, in the order that ``serve(_:at:)`` expects.
    var files: [pollfd] {
        guests.map { pollfd(fd: $0.descriptor.number, events: Int16(POLLIN), revents: 0) }
    }

    /// Whether a guest waits for the open link to end; returns true once for each guest.
    mutating func announces() -> Bool {
        guard next != nil, !isAnnounced else { return false }
        isAnnounced = true
        return true
    }

    mutating func takeRemarks() -> [String] {
        defer { remarks = [] }
        return remarks
    }

    // MARK: Events

    mutating func enter(_ descriptor: LinkDescriptor, at now: ContinuousClock.Instant) {
        last += 1
        guests.append((last, descriptor))
        handle(.came(last, from: descriptor.otherEnd), at: now)
    }

    /// Reads the bytes of guests that `poll` reported.
    mutating func serve(_ files: ArraySlice<pollfd>, at now: ContinuousClock.Instant) {
        // A guest that connected or left since then was not polled.
        for (guest, file) in zip(guests, files) where file.revents != 0 && isHere(guest.number) {
            switch guest.descriptor.read() {
            case .done(let bytes): handle(.said(guest.number, bytes), at: now)
            case .later: break
            case .ended: leave(guest.number, at: now)
            }
        }
    }

    mutating func pass(at now: ContinuousClock.Instant) {
        if let deadline, deadline <= now { handle(.tick, at: now) }
    }

    /// The guest to let in, if no link is open.
    mutating func admit() -> (LinkDescriptor, HSLGreeting?)? {
        guard let number = next, let place = guests.firstIndex(where: { $0.number == number }) else { return nil }
        let guest = guests.remove(at: place)
        (next, isAnnounced) = (nil, false)
        return (guest.descriptor, handshakes.enter(number))
    }

    /// Declines the waiting guest, because the other end of the open link is alive.
    mutating func decline(at now: ContinuousClock.Instant) {
        guard let number = next, isAnnounced else { return }
        (next, isAnnounced) = (nil, false)
        handle(.declined(number), at: now)
    }

    // MARK: Actions

    private func isHere(_ number: Int) -> Bool { guests.contains { $0.number == number } }

    private mutating func leave(_ number: Int, at now: ContinuousClock.Instant) {
        dismiss(number)
        handle(.left(number), at: now)
    }

    private mutating func dismiss(_ number: Int) {
        guests.removeAll { $0.number == number }
        if next == number { (next, isAnnounced) = (nil, false) }
    }

    private mutating func handle(_ input: HSLHandshakes.Input, at now: ContinuousClock.Instant) {
        for action in handshakes.handle(input, at: now - startedAt) {
            switch action {
            case .send(let bytes, let number):
                guard let guest = guests.first(where: { $0.number == number }) else { continue }
                // A greeting is a few hundred bytes: a guest without room for it is not reading.
                guard case .done(bytes.count) = guest.descriptor.write(bytes[...]) else {
                    leave(number, at: now)
                    continue
                }
            case .dismiss(let number): dismiss(number)
            case .admit(let number): (next, isAnnounced) = (number, false)
            case .warning(let text): remarks.append(text)
            }
        }
    }
}
