public import ScaleProtocols

/// The scale's side of the dialogue, as a value: a stand-in for a HS3 that answers like the captures and can be made to fail.
///
/// Inputs go in, actions come out; it has no sockets and no clock. Keep it across connections: a scale stays powered, so its counter continues,
/// and an unacknowledged weight is sent again on the next connection.
///
/// The captures do not cover all cases. On a lost link this device forgets every unacknowledged frame except weights. A repeated command is
/// acknowledged again but not executed again. While a weight is unacknowledged, `23` is not answered.
public struct HS3Device: ScaleStandIn {
    /// The properties of the scale.
    public let profile: Profile
    /// The active faults.
    ///
    /// They may be changed at any time.
    public var faults: Faults
    /// Its memory, oldest first; at most `profile.memoryLimit`.
    public private(set) var memory: [HS3RecordKey]

    private var clockOffset: Int
    var isLinked = false
    private var scanner = HS3Frame.scanner(from: .host)
    var sequence: UInt8
    private var lastCommand: HS3Frame?
    var unanswered: Outgoing?
    var queue: [Outgoing] = []
    /// The records of the transfer in progress, and the number of unacknowledged ones.
    var transferTotal = 0
    var transferLeft = 0
    private var lastReceived: Duration?
    var counts = Counts()
    var noise: UInt64

    /// A frame to be acknowledged; `frame` and `repeatAt` are set once it has been sent.
    struct Outgoing: Sendable {
        var command: HS3Command
        var data: [UInt8]
        /// Its data before a fault changed it.
        var weight: HS3RecordKey?
        var records = 0
        var frame: HS3Frame?
        var repeatAt = Duration.zero
    }

    /// Counters for the faults.
    struct Counts: Sendable {
        var sent = 0
        var commands = 0
        var heard = 0
        var records = 0
    }

    /// The maximum number of waiting frames; further weighings are stored only in the memory, and further errors are dropped.
    static let queueLimit = 64

    /// Creates a scale with `memory` (oldest first; records beyond the limit are dropped from the front).
    ///
    /// `seed` determines the noise of the garbage fault.
    public init(profile: Profile = Profile(), memory: [HS3RecordKey] = [], faults: Faults = Faults(), seed: UInt64 = 1)
    {
        (self.profile, self.faults, noise) = (profile, faults, seed)
        self.memory = memory.suffix(max(0, profile.memoryLimit))
        (clockOffset, sequence) = (profile.skewSeconds, profile.firstSequence)
    }

    public var deadline: Duration? {
        guard isLinked else { return nil }
        let partial = scanner.isInsideFrame ? lastReceived.map { $0 + .seconds(1) } : nil
        return [unanswered?.repeatAt, partial].compactMap(\.self).min()
    }

    /// Whether all its frames are acknowledged.
    public var isIdle: Bool { unanswered == nil && queue.isEmpty }

    /// The time on its clock at `now`.
    public func clock(at now: ScaleMoment) -> WallTime { now.wall.adding(seconds: clockOffset) ?? now.wall }

    /// Above 150 kg it reports Er2 and stores nothing; a restart discards unacknowledged frames, but not the memory.
    public mutating func handle(_ input: StandInInput, at now: ScaleMoment) -> [StandInAction] {
        var actions: [StandInAction] = []
        switch input {
        case .linkOpened: open(at: now, &actions)
        case .received(let bytes) where isLinked:
            receive(scanner.append(bytes), at: now, &actions)
            lastReceived = now.uptime
        case .received: break
        case .linkClosed: unlink()
        case .tick: tick(at: now, &actions)
        case .weigh(let weighing):
            weigh(weighing.tenthsOfKilogram, at: weighing.time ?? clock(at: now), now, &actions)
        case .store(let weighing, let time): remember(weighing.tenthsOfKilogram, at: time, &actions)
        case .fail(let raw): enqueue(Outgoing(command: .error, data: [raw]), at: now, &actions)
        case .moveClock(let seconds):
            // Limited to the range of dates, so that no sum of jumps overflows.
            clockOffset = max(-3_000_000_000, min(3_000_000_000, clockOffset.addingReportingOverflow(seconds).0))
        case .restart: restart(&actions)
        }
        return written(actions)
    }

    // MARK: The link

    private mutating func open(at now: ScaleMoment, _ actions: inout [StandInAction]) {
        if isLinked { unlink() }
        isLinked = true
        if let tenths = faults.weighOnLink {
            faults.weighOnLink = nil
            actions.append(.event(.fault("a weighing before the session opens")))
            weigh(tenths, at: clock(at: now), now, &actions)
        }
        if unanswered != nil { transmit(at: now, &actions) } else { sendNext(at: now, &actions) }
    }

    private mutating func unlink() {
        (isLinked, lastCommand, lastReceived, transferLeft) = (false, nil, nil, 0)
        scanner.reset()
        if unanswered?.weight == nil { unanswered = nil }
        queue.removeAll { $0.weight == nil }
    }

    mutating func restart(_ actions: inout [StandInAction]) {
        if isLinked { actions.append(.hangUp) }
        unlink()
        (unanswered, sequence) = (nil, profile.firstSequence)
        queue.removeAll()
    }

    private mutating func tick(at now: ScaleMoment, _ actions: inout [StandInAction]) {
        guard isLinked else { return }
        if scanner.isInsideFrame, let last = lastReceived, now.uptime >= last + .seconds(1) {
            receive(scanner.flush(), at: now, &actions)
        }
        if let waiting = unanswered, now.uptime >= waiting.repeatAt { transmit(at: now, &actions) }
    }

    // MARK: Receiving

    private mutating func receive(_ frames: [Frame], at now: ScaleMoment, _ actions: inout [StandInAction]) {
        for frame in frames {
            guard isLinked, let frame = HS3Frame(frame) else { continue }
            counts.heard += 1
            if isDue(faults.deafEvery, counts.heard) {
                actions.append(.event(.fault("did not hear host frame \(counts.heard)")))
                continue
            }
            let message = HS3HostMessage(frame)
            if message == .acknowledge {
                acknowledged(frame.sequence, at: now, &actions)
            } else {
                obey(message, frame, at: now, &actions)
            }
        }
    }

    private mutating func acknowledged(_ number: UInt8, at now: ScaleMoment, _ actions: inout [StandInAction]) {
        guard let waiting = unanswered, let sent = waiting.frame, number == sent.sequence &+ 1 else { return }
        unanswered = nil
        if let key = waiting.weight { actions.append(.event(.acknowledged(key.bytes))) }
        if waiting.records > 0 {
            transferLeft -= waiting.records
            if transferLeft == 0 { actions.append(.event(.transferFinished)) }
        }
        sendNext(at: now, &actions)
    }

    private mutating func obey(
        _ message: HS3HostMessage, _ frame: HS3Frame, at now: ScaleMoment, _ actions: inout [StandInAction]
    ) {
        // As captured: a scale with an unacknowledged weight does not answer 23.
        if message == .open, unanswered?.weight != nil { return }
        let isRepeat = frame == lastCommand
        lastCommand = frame
        if !isRepeat { counts.commands += 1 }
        if !isRepeat, isDue(faults.loseAcknowledgementEvery, counts.commands) {
            actions.append(.event(.fault("did not acknowledge command \(counts.commands)")))
        } else {
            let reply = HS3Frame(checked: .scale, HS3Command.acknowledge.rawValue, frame.sequence, [])
            write(reply.bytes, &actions)
        }
        if !isRepeat { carryOut(message, at: now, &actions) }
    }

    private mutating func carryOut(_ message: HS3HostMessage, at now: ScaleMoment, _ actions: inout [StandInAction]) {
        switch message {
        case .open:
            actions.append(.event(.sessionOpened))
            let time = clock(at: now).hs3BCD(mode: profile.clockMode) ?? [0, 0, 0, 0, 0, 0]
            enqueue(Outgoing(command: .clock, data: time), at: now, &actions)
            enqueue(Outgoing(command: .idBlock, data: Array(repeating: 0xFF, count: 16)), at: now, &actions)
        case .setClock(let time):
            clockOffset = time.secondsSince2000 - now.wall.secondsSince2000
            actions.append(.event(.clockSet(time)))
        case .lastKnown:
            let count = faults.announcedCount ?? UInt8(truncatingIfNeeded: min(memory.count, 255))
            enqueue(Outgoing(command: .memoryCount, data: [count]), at: now, &actions)
        case .startMemory: transfer(at: now, &actions)
        case .acknowledge, .unknown: break
        }
    }

    // MARK: Weighings

    private mutating func weigh(_ tenths: Int, at time: WallTime, _ now: ScaleMoment, _ actions: inout [StandInAction])
    {
        guard tenths <= 1500 else {
            return enqueue(Outgoing(command: .error, data: [0xE2]), at: now, &actions)
        }
        guard let key = remember(tenths, at: time, &actions) else { return }
        enqueue(Outgoing(command: .weight, data: key.bytes, weight: key), at: now, &actions)
    }

    @discardableResult
    private mutating func remember(_ tenths: Int, at time: WallTime, _ actions: inout [StandInAction]) -> HS3RecordKey?
    {
        guard let record = HS3Record(time, tenthsOfKilogram: tenths, mode: profile.hourMode) else {
            actions.append(
                .event(.refused("an HS3 cannot store this: its years are 2000–2063 and its weights 0–999.9 kg")))
            return nil
        }
        memory.append(record.key)
        if memory.count > profile.memoryLimit { memory.removeFirst(memory.count - profile.memoryLimit) }
        actions.append(.event(.stored(record.key.bytes)))
        return record.key
    }

    private mutating func transfer(at now: ScaleMoment, _ actions: inout [StandInAction]) {
        let newestFirst = Array(memory.reversed())
        (transferTotal, transferLeft) = (newestFirst.count, newestFirst.count)
        actions.append(.event(.transferStarted(newestFirst.count)))
        for start in stride(from: 0, to: newestFirst.count, by: 20) {
            let places = start..<min(start + 20, newestFirst.count)
            let data = places.flatMap {
                newestFirst[$0].bytes + [UInt8(truncatingIfNeeded: newestFirst.count - 1 - $0)]
            }
            enqueue(Outgoing(command: .memory, data: data, records: places.count), at: now, &actions)
        }
    }
}
