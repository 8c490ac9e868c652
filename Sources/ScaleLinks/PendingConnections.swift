import Glibc

/// Those who have dialled and are not let in yet, with what their admission wants done.
struct PendingConnections {
    private let keeper: any Admission
    private var guests: [(number: Int, descriptor: Descriptor)] = []
    private var last = 0
    /// Who is let in as soon as no link is open.
    private var next: Int?
    /// Whether the owner has been told that a guest waits.
    private var isAnnounced = false
    /// What the owner is to be told.
    private var remarks: [String] = []

    init(_ keeper: any Admission) { self.keeper = keeper }

    /// When to call ``pass(at:)``.
    var deadline: ContinuousClock.Instant? { keeper.deadline }

    /// What to poll, in the order of ``serve(_:at:)``.
    var files: [pollfd] {
        guests.map { pollfd(fd: $0.descriptor.number, events: Int16(POLLIN), revents: 0) }
    }

    /// Whether a guest waits for the open link to end; true once for each.
    mutating func announces() -> Bool {
        guard next != nil, !isAnnounced else { return false }
        isAnnounced = true
        return true
    }

    mutating func takeRemarks() -> [String] {
        defer { remarks = [] }
        return remarks
    }

    // MARK: What happens

    mutating func enter(_ descriptor: Descriptor, at now: ContinuousClock.Instant) {
        last += 1
        guests.append((last, descriptor))
        handle(.came(last, from: descriptor.otherEnd), at: now)
    }

    /// Reads what guests have said, as `poll` has told.
    mutating func serve(_ files: ArraySlice<pollfd>, at now: ContinuousClock.Instant) {
        // A guest that has come or gone since was not polled.
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

    /// Who is to be let in now that no link is open.
    mutating func admit(at now: ContinuousClock.Instant) -> Descriptor? {
        guard let number = next, let place = guests.firstIndex(where: { $0.number == number }) else { return nil }
        let guest = guests.remove(at: place)
        (next, isAnnounced) = (nil, false)
        handle(.entered(number), at: now)
        return guest.descriptor
    }

    /// The other end of the open link has been heard: no guest needs to take its place.
    mutating func decline(at now: ContinuousClock.Instant) {
        guard let number = next, isAnnounced else { return }
        (next, isAnnounced) = (nil, false)
        handle(.declined(number), at: now)
    }

    // MARK: What is done

    private func isHere(_ number: Int) -> Bool { guests.contains { $0.number == number } }

    private mutating func leave(_ number: Int, at now: ContinuousClock.Instant) {
        dismiss(number)
        handle(.left(number), at: now)
    }

    private mutating func dismiss(_ number: Int) {
        guests.removeAll { $0.number == number }
        if next == number { (next, isAnnounced) = (nil, false) }
    }

    private mutating func handle(_ event: DoorEvent, at now: ContinuousClock.Instant) {
        for order in keeper.handle(event, at: now) {
            switch order {
            case .say(let number, let bytes):
                guard let guest = guests.first(where: { $0.number == number }) else { continue }
                // A greeting is a few hundred bytes: a guest that has no room for it reads nothing.
                guard case .done(bytes.count) = guest.descriptor.write(bytes[...]) else {
                    leave(number, at: now)
                    continue
                }
            case .dismiss(let number): dismiss(number)
            case .admit(let number): (next, isAnnounced) = (number, false)
            case .remark(let text): remarks.append(text)
            }
        }
    }
}
