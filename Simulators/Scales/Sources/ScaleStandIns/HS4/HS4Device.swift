public import ScaleProtocols

/// A stand-in for a HS4 or HS4S.
///
/// If the behaviour of a real one is unknown, this device does the most difficult thing for the host. It forgets a record as soon as the host
/// has acknowledged it, and stores an unacknowledged weighing in the memory.
public struct HS4Device: ScaleStandIn {
    public let profile: Profile
    /// The active faults.
    ///
    /// They may be changed at any time.
    public var faults: Faults
    /// Its memory, oldest first.
    public internal(set) var memory: [HS4Record]

    var link: FamilyLink
    var clockOffset: Int
    var isLinked = false
    var isLoggedIn = false
    var mode = Mode.idle
    /// The unacknowledged message, with the time of its repetition.
    var unanswered: Outgoing?
    var queue: [Outgoing] = []
    /// On a serial port: the record that counts as received once the host asks for more or leaves.
    var unasked: Outgoing?
    var transferLeft = 0
    var counts = Counts()

    enum Mode { case idle, memory, measuring }

    /// A message in transit.
    struct Outgoing: Sendable {
        var command: HS4Command
        var data: [UInt8]
        /// The weighing in the message.
        var record: HS4Record?
        var isLastRecord = false
        var frames: [[UInt8]] = []
        var repeatAt = Duration.zero
    }

    struct Counts: Sendable { var heard = 0, sent = 0 }

    public init(profile: Profile = Profile(), memory: [HS4Record] = [], faults: Faults = Faults()) {
        (self.profile, self.faults) = (profile, faults)
        self.memory = memory.suffix(max(0, profile.memoryLimit))
        clockOffset = profile.skewSeconds
        link = FamilyLink(.scale, product: .hs4, style: profile.link == .lowEnergy ? .lowEnergy : .serialPort)
    }

    /// Whether a measurement is open, so that weighings are sent to the host.
    public var isMeasuring: Bool { isLinked && mode == .measuring }
    /// Whether all its messages are acknowledged.
    public var isIdle: Bool { unanswered == nil && queue.isEmpty }

    public var deadline: Duration? { isLinked ? unanswered?.repeatAt : nil }

    public mutating func handle(_ input: StandInInput, at now: ScaleMoment) -> [StandInAction] {
        var actions: [StandInAction] = []
        switch input {
        case .linkOpened:
            unlink(&actions)
            isLinked = true
            isLoggedIn = profile.key == nil
        case .received(let bytes) where isLinked: receive(bytes, at: now, &actions)
        case .received: break
        case .linkClosed: unlink(&actions)
        case .tick:
            if let waiting = unanswered, isLinked, now.uptime >= waiting.repeatAt { transmit(at: now, &actions) }
        case .weigh(let weighing): weigh(weighing, at: now, &actions)
        case .store(let weighing, let time): remember(time, weighing.tenthsOfKilogram, &actions)
        case .fail(let raw): enqueue(Outgoing(command: .error, data: [raw]), at: now, &actions)
        case .moveClock(let seconds):
            // Limited to the range of dates, so that no sum of jumps overflows.
            clockOffset = max(-3_000_000_000, min(3_000_000_000, clockOffset.addingReportingOverflow(seconds).0))
        case .restart: restart(&actions)
        }
        return written(actions)
    }

    func clock(at now: ScaleMoment) -> WallTime { now.wall.adding(seconds: clockOffset) ?? now.wall }

    /// Ends the connection; unacknowledged weighings are in the memory afterwards.
    mutating func unlink(_ actions: inout [StandInAction]) {
        guard isLinked else { return }
        (isLinked, isLoggedIn, mode, transferLeft) = (false, false, .idle, 0)
        link.reset()
        for outgoing in [unanswered].compactMap(\.self) + queue {
            guard outgoing.command == .stableWeight, let record = outgoing.record else { continue }
            keep(record, &actions)
        }
        (unanswered, unasked, queue) = (nil, nil, [])
    }

    mutating func restart(_ actions: inout [StandInAction]) {
        if isLinked { actions.append(.hangUp) }
        unlink(&actions)
    }

    // MARK: Receiving

    mutating func receive(_ bytes: [UInt8], at now: ScaleMoment, _ actions: inout [StandInAction]) {
        for output in link.receive(bytes) where isLinked {
            switch output {
            case .send(let bytes): actions.append(.send(bytes))
            case .warning: break
            case .acknowledged: acknowledged(at: now, &actions)
            case .arrival(let arrival):
                counts.heard += 1
                if isDue(faults.deafEvery, counts.heard) {
                    link.forget(arrival.message)
                    actions.append(.event(.fault("did not hear host message \(counts.heard)")))
                    continue
                }
                if let reply = arrival.acknowledgement { actions.append(.send(link.sent(reply))) }
                // A repetition of a command whose answer is in transit.
                if arrival.isRepeat { continue }
                if let record = unasked {
                    unasked = nil
                    taken(record, &actions)
                }
                obey(HS4HostMessage(arrival.message), at: now, &actions)
            }
        }
    }

    mutating func acknowledged(at now: ScaleMoment, _ actions: inout [StandInAction]) {
        guard let sent = unanswered else { return }
        unanswered = nil
        taken(sent, &actions)
        sendNext(at: now, &actions)
    }

    /// Notes that the host certainly has the record, so the scale may forget it.
    mutating func taken(_ sent: Outgoing, _ actions: inout [StandInAction]) {
        if let record = sent.record {
            if sent.command == .memoryRecord { memory.removeAll { $0.key == record.key } }
            actions.append(.event(.acknowledged(record.key)))
        }
        if sent.isLastRecord { actions.append(.event(.transferFinished)) }
    }

    mutating func obey(_ message: HS4HostMessage, at now: ScaleMoment, _ actions: inout [StandInAction]) {
        switch message {
        case .logInNonce where !faults.ignoresLogIn:
            if faults.logInAgain > 0 {
                faults.logInAgain -= 1
                return enqueue(Outgoing(command: .logInAgain, data: []), at: now, &actions)
            }
            enqueue(Outgoing(command: .logInChallenge, data: HS4Device.challenge), at: now, &actions)
        case .logInAnswer(let answer):
            let isRight =
                profile.key.map { LogInGuard(key: $0, challenge: HS4Device.challenge).accepts(answer) } ?? true
            isLoggedIn = isRight && !faults.refusesLogIn
            enqueue(Outgoing(command: isLoggedIn ? .logInAccepted : .logInRefused, data: []), at: now, &actions)
        case .identify where isLoggedIn:
            actions.append(.event(.sessionOpened))
            enqueue(Outgoing(command: .identity, data: profile.identity.bytes), at: now, &actions)
        case .stop where isLoggedIn:
            mode = .idle
            enqueue(Outgoing(command: .stop, data: [3]), at: now, &actions)
        case .openMemory(let time) where isLoggedIn:
            set(time, now, &actions)
            mode = .memory
            enqueue(Outgoing(command: .openMemory, data: [2]), at: now, &actions)
        case .memorySummary where mode == .memory:
            transferLeft = memory.count
            actions.append(.event(.transferStarted(memory.count)))
            let count = UInt8(truncatingIfNeeded: min(memory.count, 255))
            enqueue(Outgoing(command: .memorySummary, data: [0, count]), at: now, &actions)
        case .memoryRecord where mode == .memory: sendRecord(at: now, &actions)
        case .measure(let time, _, _) where isLoggedIn:
            set(time, now, &actions)
            mode = faults.refusesMeasurement ? .idle : .measuring
            enqueue(
                Outgoing(command: .measure, data: [faults.refusesMeasurement ? 1 : 0]), at: now, &actions)
        // On a serial port a confirmation replaces the acknowledgement.
        case .confirm where link.style == .serialPort: acknowledged(at: now, &actions)
        default: break
        }
    }

    mutating func set(_ time: WallTime, _ now: ScaleMoment, _ actions: inout [StandInAction]) {
        clockOffset = time.secondsSince2000 - now.wall.secondsSince2000
        actions.append(.event(.clockSet(time)))
    }

    /// 48 different bytes; a stand-in has no secret.
    private static let challenge = (0..<48).map { UInt8($0 * 5 + 1) }
}
