public import ScaleProtocols

/// A stand-in for a HS5 on the network.
///
/// If the behaviour of a real one is unknown, this device does the most difficult thing for the host. It forgets records as soon as the host
/// asks for more or ends the connection, and stores an unconfirmed weighing in the memory of its user. A host that starts again has done
/// neither, so the records in transit stay in the memory.
public struct HS5Device: ScaleStandIn {
    public let profile: Profile
    /// The active faults.
    ///
    /// They may be changed at any time.
    public var faults: Faults
    /// The users by position.
    public internal(set) var users: [UInt32?]
    /// The weighings of each user made while no host was near, oldest first.
    public internal(set) var memory: [UInt32: [HS5Record]]

    var clockOffset: Int
    var isLinked = false
    var isLoggedIn = false
    var sequence: UInt8 = 0
    /// The last request and its answer: a repetition gets the same answer.
    var last: (request: FamilyMessage, reply: [[UInt8]])?
    var mode = Mode.idle
    /// Records in transit to the host, still in the memory.
    var sent: [HS5Record] = []
    var weighing: Weighing?
    /// The messages sent since the last request.
    var said: [[UInt8]] = []
    var (heard, packets, datagrams) = (0, 0, 0)

    enum Mode: Equatable {
        case idle
        case memory(UInt32)
        case measuring(UInt32)
    }

    /// A weighing that is sent to the host step by step; each step is repeated until it is confirmed.
    struct Weighing: Sendable {
        var record: HS5Record
        var user: UInt32
        var steps: [(command: HS5Command, data: [UInt8])]
        var bytes: [UInt8] = []
        var repeatAt = Duration.zero
        var repeatsLeft = 0
    }

    /// Creates a scale with these users and memories; records beyond the limit are dropped from the front.
    public init(
        profile: Profile = Profile(), users: [HS5Position: UInt32] = [:], memory: [UInt32: [HS5Record]] = [:],
        faults: Faults = Faults()
    ) {
        (self.profile, self.faults, clockOffset) = (profile, faults, profile.skewSeconds)
        self.users = (0..<HS5Position.count).map { place in HS5Position(place).flatMap { users[$0] } }
        self.memory = memory.mapValues { $0.suffix(max(0, profile.memoryLimit)) }
    }

    /// Whether a measurement is open and no person is on the scale.
    public var isMeasuring: Bool {
        if case .measuring = mode { isLinked && weighing == nil } else { false }
    }
    /// Whether all its messages are confirmed.
    public var isIdle: Bool { weighing == nil }

    public var deadline: Duration? { isLinked ? weighing?.repeatAt : nil }

    public mutating func handle(_ input: StandInInput, at now: ScaleMoment) -> [StandInAction] {
        var actions: [StandInAction] = []
        switch input {
        case .linkOpened:
            unlink(&actions)
            isLinked = true
        case .received(let bytes) where isLinked: receive(bytes, at: now, &actions)
        case .received: break
        case .linkClosed: unlink(&actions)
        case .tick: tick(at: now, &actions)
        case .weigh(let weighing): weigh(weighing, at: now, &actions)
        case .store(let weighing, let time): store(weighing, at: time, &actions)
        case .fail(let raw): say(.error, [raw], &actions)
        case .moveClock(let seconds):
            clockOffset = max(-3_000_000_000, min(3_000_000_000, clockOffset.addingReportingOverflow(seconds).0))
        case .restart: restart(&actions)
        }
        return actions
    }

    func clock(at now: ScaleMoment) -> WallTime { now.wall.adding(seconds: clockOffset) ?? now.wall }

    mutating func unlink(_ actions: inout [StandInAction]) {
        guard isLinked else { return }
        breakOff(&actions)
        (isLinked, isLoggedIn, mode, sent, last, sequence) = (false, false, .idle, [], nil, 0)
    }

    mutating func restart(_ actions: inout [StandInAction]) {
        if isLinked { actions.append(.hangUp) }
        unlink(&actions)
    }

    /// Stores an unconfirmed weighing for its user.
    mutating func breakOff(_ actions: inout [StandInAction]) {
        guard let open = weighing else { return }
        (weighing, mode) = (nil, .idle)
        keep(open.record, of: open.user, &actions)
    }

    mutating func keep(_ record: HS5Record, of user: UInt32, _ actions: inout [StandInAction]) {
        memory[user, default: []].append(record)
        if let count = memory[user]?.count, count > profile.memoryLimit { memory[user]?.removeFirst() }
        actions.append(.event(.stored(record.key)))
    }

    // MARK: Receiving

    mutating func receive(_ bytes: [UInt8], at now: ScaleMoment, _ actions: inout [StandInAction]) {
        guard let datagram = HS5Datagram(bytes), datagram.message.origin == .host else { return }
        heard += 1
        if isDue(faults.deafEvery, heard) { return actions.append(.event(.fault("did not hear datagram \(heard)"))) }
        let message = HS5HostMessage(datagram.message)
        if message == .search {
            if faults.busy > 0 {
                faults.busy -= 1
                say(.busy, Array(repeating: 0x2E, count: 16), &actions)
            }
            isLoggedIn = isLoggedIn || profile.key == nil
            return say(.identity, profile.identity.bytes, &actions)
        }
        if let last, last.request == datagram.message {
            for reply in last.reply { transmit(reply, &actions) }
            return
        }
        sequence = datagram.message.sequence
        said = []
        obey(message, at: now, &actions)
        // If it has lost power meanwhile, it remembers nothing.
        if isLinked { last = (datagram.message, said) }
    }

    mutating func obey(_ message: HS5HostMessage, at now: ScaleMoment, _ actions: inout [StandInAction]) {
        switch message {
        case .logInNonce where !faults.ignoresLogIn: say(.logInChallenge, HS5Device.challenge, &actions)
        case .logInAnswer(let answer):
            let isRight =
                profile.key.map { LogInGuard(key: $0, challenge: HS5Device.challenge).accepts(answer) } ?? true
            isLoggedIn = isRight && !faults.refusesLogIn
            say(isLoggedIn ? .logInAccepted : .logInRefused, [], &actions)
        case .confirm(let command): confirmed(command, at: now, &actions)
        case _ where !isLoggedIn: break
        case .logInNonce: break
        case .users(let time):
            actions.append(.event(.sessionOpened))
            set(time, now, &actions)
            sent = []
            if mode != .idle, weighing == nil { mode = .idle }
            say(.users, HS5ScaleMessage.listData(users), &actions)
        case .createUser(let place, let user):
            let isDone = !faults.refusesUsers && users[Int(place.index)] == nil && !users.contains(user.serial)
            if isDone { users[Int(place.index)] = user.serial }
            say(.createUser, [isDone ? 1 : 0], &actions)
        case .modifyUser(let place, let user):
            say(.modifyUser, [!faults.refusesUsers && users[Int(place.index)] == user.serial ? 1 : 0], &actions)
        case .deleteUser(let place, let serial):
            let isDone = !faults.refusesUsers && users[Int(place.index)] == serial
            if isDone { (users[Int(place.index)], memory[serial]) = (nil, nil) }
            say(.deleteUser, [isDone ? 1 : 0], &actions)
        case .openMemory(let place, let serial, let time):
            set(time, now, &actions)
            sent = []
            let isThere = users[Int(place.index)] == serial
            mode = isThere ? .memory(serial) : .idle
            say(.openMemory, [isThere ? 2 : 1], &actions)
        case .memorySummary:
            guard case .memory(let user) = mode else { break }
            let count = memory[user]?.count ?? 0
            actions.append(.event(.transferStarted(count)))
            say(.memorySummary, [0, UInt8(truncatingIfNeeded: min(count, 255))], &actions)
        case .memoryPacket: sendPacket(&actions)
        case .end:
            forgetSent(&actions)
            mode = .idle
            actions.append(.event(.transferFinished))
            say(.end, [], &actions)
        case .measure(let place, let serial):
            let isThere = users[Int(place.index)] == serial && !faults.refusesMeasurement
            mode = isThere ? .measuring(serial) : .idle
            say(.measure, [], isAnswer: isThere, &actions)
        case .cloudHost: say(.cloudHost, [1], &actions)
        case .cloudPath: say(.cloudPath, [1], &actions)
        case .search, .unknown: break
        }
    }

    mutating func set(_ time: WallTime, _ now: ScaleMoment, _ actions: inout [StandInAction]) {
        clockOffset = time.secondsSince2000 - now.wall.secondsSince2000
        actions.append(.event(.clockSet(time)))
    }

    mutating func sendPacket(_ actions: inout [StandInAction]) {
        guard case .memory(let user) = mode else { return }
        forgetSent(&actions)
        let records = memory[user] ?? []
        sent = Array(records.prefix(min(15, max(1, profile.packetRecords))))
        packets += 1
        if let limit = faults.powerOffAfterPackets, packets > limit {
            faults.powerOffAfterPackets = nil
            actions.append(.event(.fault("power off in the middle of the memory")))
            return restart(&actions)
        }
        let more: UInt8 = records.count > sent.count ? 1 : 0
        say(.memoryPacket, [0, 0, UInt8(sent.count), more] + sent.flatMap(\.bytes), &actions)
    }

    /// Forgets the sent records, because the host has asked for more or is done and certainly has them.
    mutating func forgetSent(_ actions: inout [StandInAction]) {
        guard case .memory(let user) = mode else { return sent = [] }
        for record in sent {
            memory[user]?.removeAll { $0 == record }
            actions.append(.event(.acknowledged(record.key)))
        }
        sent = []
    }

    private static let challenge = (0..<48).map { UInt8($0 * 3 + 7) }
}
