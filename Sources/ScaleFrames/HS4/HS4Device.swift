/// A stand-in for a HS4 or HS4S.
///
/// Where nobody knows what a real one does it does what is hardest on the host: a record is forgotten as soon as the host has
/// acknowledged it, and a weighing that was not acknowledged goes into the memory.
public struct HS4Device: ScaleStandIn {
    public let profile: Profile
    /// What goes wrong.
    ///
    /// May be changed at any time.
    public var faults: Faults
    /// Its memory, oldest first.
    public private(set) var memory: [HS4Record]

    private var link: FamilyLink
    private var clockOffset: Int
    private var isLinked = false
    private var isLoggedIn = false
    private var mode = Mode.idle
    /// What waits to be acknowledged, and when it is said again.
    private var unanswered: Outgoing?
    private var queue: [Outgoing] = []
    /// On a serial port: the record that the host has, as soon as it asks for more or leaves.
    private var unasked: Outgoing?
    private var transferLeft = 0
    private var counts = Counts()

    private enum Mode { case idle, memory, measuring }

    /// A message on its way.
    private struct Outgoing: Sendable {
        var command: HS4Command
        var data: [UInt8]
        /// The weighing that it stands for.
        var record: HS4Record?
        var isLastRecord = false
        var frames: [[UInt8]] = []
        var repeatAt = Duration.zero
    }

    private struct Counts: Sendable { var heard = 0, sent = 0 }

    /// How a scale may differ.
    public struct Profile: Sendable, Hashable {
        public var link = HS4Host.Settings.Link.lowEnergy
        /// What its log-in wants; nil: it lets everybody in.
        public var key: ScaleKey?
        public var identity = ScaleIdentity(
            protocolName: "com.jiuan.BWSV01", name: "Body Scale", firmware: "1.0.1", hardware: "1.0.0",
            manufacturer: "iHealth", model: "HS4 11070")
        public var skewSeconds = 0
        public var memoryLimit = 200
        /// Whether the reply that says "no more" holds a record itself.
        public var tailHoldsRecord = true
        /// After how long it repeats what was not acknowledged.
        public var repeatAfter = Duration.seconds(1)

        public init() {}
    }

    /// What can be made to go wrong; *every* counts from 1.
    public struct Faults: Sendable, Hashable {
        /// Every n-th message of the host is not heard.
        public var deafEvery: Int?
        /// Every n-th message is first sent with a wrong checksum in its last frame.
        public var badChecksumEvery: Int?
        /// Every n-th message is sent twice with the same number.
        public var repeatEvery: Int?
        /// Every n-th message of several pieces lacks its first one the first time.
        public var losePieceEvery: Int?
        /// Every n-th message of several pieces comes backwards.
        public var shuffleEvery: Int?
        /// This many bytes that mean nothing come before each message.
        public var garbage = 0
        /// Everything is written in pieces of this many bytes.
        public var pieces: Int?
        /// The battery falls out after this many records of a transfer; once.
        public var powerOffAfterRecords: Int?
        /// The log-in is refused.
        public var refusesLogIn = false
        /// The scale asks this often to begin the log-in again.
        public var logInAgain = 0
        /// It does not answer the log-in at all.
        public var ignoresLogIn = false
        /// It refuses to measure.
        public var refusesMeasurement = false

        public init() {}
    }

    public init(profile: Profile = Profile(), memory: [HS4Record] = [], faults: Faults = Faults()) {
        (self.profile, self.faults) = (profile, faults)
        self.memory = memory.suffix(max(0, profile.memoryLimit))
        clockOffset = profile.skewSeconds
        link = FamilyLink(.scale, product: .hs4, style: profile.link == .lowEnergy ? .lowEnergy : .serialPort)
    }

    /// Whether a measurement is open: who weighs is told to the host.
    public var isMeasuring: Bool { isLinked && mode == .measuring }
    /// Whether everything it had to say is acknowledged.
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
            // Kept within what a date can show, so that no sum of jumps overflows.
            clockOffset = max(-3_000_000_000, min(3_000_000_000, clockOffset.addingReportingOverflow(seconds).0))
        case .restart: restart(&actions)
        }
        return written(actions)
    }

    private func clock(at now: ScaleMoment) -> WallTime { now.wall.adding(seconds: clockOffset) ?? now.wall }

    /// What had not been acknowledged is in the memory afterwards.
    private mutating func unlink(_ actions: inout [StandInAction]) {
        guard isLinked else { return }
        (isLinked, isLoggedIn, mode, transferLeft) = (false, false, .idle, 0)
        link.reset()
        for outgoing in [unanswered].compactMap(\.self) + queue {
            guard outgoing.command == .stableWeight, let record = outgoing.record else { continue }
            keep(record, &actions)
        }
        (unanswered, unasked, queue) = (nil, nil, [])
    }

    private mutating func restart(_ actions: inout [StandInAction]) {
        if isLinked { actions.append(.hangUp) }
        unlink(&actions)
    }

    // MARK: Receiving

    private mutating func receive(_ bytes: [UInt8], at now: ScaleMoment, _ actions: inout [StandInAction]) {
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
                // A repeat of a command whose answer is on its way.
                if arrival.isRepeat { continue }
                if let record = unasked {
                    unasked = nil
                    taken(record, &actions)
                }
                obey(HS4HostMessage(arrival.message), at: now, &actions)
            }
        }
    }

    private mutating func acknowledged(at now: ScaleMoment, _ actions: inout [StandInAction]) {
        guard let sent = unanswered else { return }
        unanswered = nil
        taken(sent, &actions)
        sendNext(at: now, &actions)
    }

    /// The host has it for certain: the scale may forget it.
    private mutating func taken(_ sent: Outgoing, _ actions: inout [StandInAction]) {
        if let record = sent.record {
            if sent.command == .memoryRecord { memory.removeAll { $0.key == record.key } }
            actions.append(.event(.acknowledged(record.key)))
        }
        if sent.isLastRecord { actions.append(.event(.transferFinished)) }
    }

    private mutating func obey(_ message: HS4HostMessage, at now: ScaleMoment, _ actions: inout [StandInAction]) {
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
        // On a serial port a confirmation stands for the acknowledgement.
        case .confirm where link.style == .serialPort: acknowledged(at: now, &actions)
        default: break
        }
    }

    private mutating func set(_ time: WallTime, _ now: ScaleMoment, _ actions: inout [StandInAction]) {
        clockOffset = time.secondsSince2000 - now.wall.secondsSince2000
        actions.append(.event(.clockSet(time)))
    }

    /// 48 bytes that differ; a stand-in has no secret to keep.
    private static let challenge = (0..<48).map { UInt8($0 * 5 + 1) }

    // MARK: Weighings

    private mutating func weigh(_ person: StandInWeighing, at now: ScaleMoment, _ actions: inout [StandInAction]) {
        let tenths = person.tenthsOfKilogram
        guard tenths <= HS4Host.capacity else {
            return enqueue(Outgoing(command: .error, data: [0xE1]), at: now, &actions)
        }
        guard tenths > 0, let record = HS4Record(person.time ?? clock(at: now), tenthsOfKilogram: tenths, more: 1)
        else {
            return actions.append(.event(.refused("a HS4 weighs 0.1–180 kg")))
        }
        guard isLinked, mode == .measuring else { return keep(record, &actions) }
        for part in [9, 11, 10] {
            let settling = tenths * part / 10
            actions.append(
                .send(
                    link.stream(
                        HS4Command.unstableWeight.rawValue,
                        [UInt8(truncatingIfNeeded: settling >> 8), UInt8(truncatingIfNeeded: settling)])))
        }
        enqueue(
            Outgoing(command: .stableWeight, data: Array(record.key.suffix(2)), record: record), at: now, &actions)
    }

    private mutating func remember(_ time: WallTime, _ tenths: Int, _ actions: inout [StandInAction]) {
        guard let record = HS4Record(time, tenthsOfKilogram: tenths, more: 1) else {
            return actions.append(.event(.refused("a HS4 stores 0–6553.5 kg")))
        }
        keep(record, &actions)
    }

    private mutating func keep(_ record: HS4Record, _ actions: inout [StandInAction]) {
        memory.append(record)
        if memory.count > profile.memoryLimit { memory.removeFirst(memory.count - profile.memoryLimit) }
        actions.append(.event(.stored(record.key)))
    }

    private mutating func sendRecord(at now: ScaleMoment, _ actions: inout [StandInAction]) {
        guard transferLeft > 0, let next = memory.first, let time = next.time else {
            // Nothing is left, or its bytes are no date: the end, without a record.
            return enqueue(
                Outgoing(command: .memoryRecord, data: Array(repeating: 0, count: 16), isLastRecord: true), at: now,
                &actions)
        }
        transferLeft -= 1
        let isTail = transferLeft == 0 && profile.tailHoldsRecord
        let more = isTail ? 0 : UInt8(max(1, min(transferLeft, 255)))
        guard let record = HS4Record(time, tenthsOfKilogram: next.tenthsOfKilogram, more: more) else { return }
        enqueue(
            Outgoing(command: .memoryRecord, data: record.bytes, record: record, isLastRecord: isTail), at: now,
            &actions
        )
        if let limit = faults.powerOffAfterRecords {
            faults.powerOffAfterRecords = limit > 1 ? limit - 1 : nil
            if limit <= 1 {
                actions.append(.event(.fault("power off in the middle of the memory")))
                restart(&actions)
            }
        }
    }

    // MARK: Sending

    private mutating func enqueue(_ outgoing: Outgoing, at now: ScaleMoment, _ actions: inout [StandInAction]) {
        guard isLinked, queue.count < 64 else { return }
        queue.append(outgoing)
        sendNext(at: now, &actions)
    }

    private mutating func sendNext(at now: ScaleMoment, _ actions: inout [StandInAction]) {
        guard unanswered == nil, !queue.isEmpty else { return }
        unanswered = queue.removeFirst()
        transmit(at: now, &actions)
    }

    private mutating func transmit(at now: ScaleMoment, _ actions: inout [StandInAction]) {
        guard var outgoing = unanswered else { return }
        let isFirst = outgoing.frames.isEmpty
        if isFirst {
            counts.sent += 1
            outgoing.frames = link.frames(outgoing.command.rawValue, outgoing.data)
        }
        outgoing.repeatAt = now.uptime + profile.repeatAfter
        // A serial port brings no acknowledgements: only what the host confirms in words is waited for.
        let isWaitedFor = link.style == .lowEnergy || outgoing.record != nil && outgoing.command == .stableWeight
        unanswered = isWaitedFor ? outgoing : nil
        actions += (isFirst ? spoilt(outgoing.frames, &actions) : outgoing.frames).map(StandInAction.send)
        if !isWaitedFor {
            if outgoing.command == .memoryRecord { unasked = outgoing }
            sendNext(at: now, &actions)
        }
    }

    private func spoilt(_ frames: [[UInt8]], _ actions: inout [StandInAction]) -> [[UInt8]] {
        var frames = frames
        if faults.garbage > 0, let first = frames.first {
            frames[0] = (0..<faults.garbage).map { $0 % 3 == 0 ? 0xA0 : UInt8(truncatingIfNeeded: $0 * 37) } + first
        }
        if isDue(faults.badChecksumEvery, counts.sent), let last = frames.indices.last {
            frames[last][frames[last].count - 1] ^= 0x55
            actions.append(.event(.fault("wrong checksum in message \(counts.sent)")))
        }
        if isDue(faults.losePieceEvery, counts.sent), frames.count > 1 { frames.removeFirst() }
        if isDue(faults.shuffleEvery, counts.sent) { frames.reverse() }
        if isDue(faults.repeatEvery, counts.sent) { frames += frames }
        return frames
    }

    private func isDue(_ every: Int?, _ count: Int) -> Bool { every.map { $0 > 0 && count % $0 == 0 } ?? false }

    /// Cuts what is written into the pieces of the fault.
    private func written(_ actions: [StandInAction]) -> [StandInAction] {
        guard let size = faults.pieces, size > 0 else { return actions }
        return actions.flatMap { action -> [StandInAction] in
            guard case .send(let bytes) = action else { return [action] }
            return stride(from: 0, to: bytes.count, by: size).map {
                .send(Array(bytes[$0..<min($0 + size, bytes.count)]))
            }
        }
    }
}
