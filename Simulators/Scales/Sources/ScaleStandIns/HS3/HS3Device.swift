public import ScaleProtocols

/// The scale's side of the dialogue, as a value: a stand-in for a HS3 that answers like the captures and can be made to fail.
///
/// Inputs go in, actions come out; it has no sockets and no clock. Keep it across connections: a scale stays powered, so its counter continues,
/// and an unacknowledged weight is sent again on the next connection.
///
/// The captures do not cover all cases. On a lost link this device forgets every unacknowledged frame except weights. A repeated command is
/// acknowledged again but not executed again. While a weight is unacknowledged, `23` is not answered.
public struct HS3Device: DeviceStandIn {
    /// The properties of a HS3 that may differ between scales.
    public struct Profile: Sendable, Hashable {
        /// The form of the hour of a weighing.
        ///
        /// `auto` writes as sdk12.
        public var hourMode = HS3HourMode.sdk12
        /// The form of the hour of its clock.
        ///
        /// `nearest` writes as bcd24.
        public var clockMode = HS3ClockMode.bcd24
        /// The number of seconds by which its clock is ahead of the wall clock, until a host sets it.
        public var skewSeconds = 0
        /// The counter of its first frame.
        ///
        /// It starts at 0 after power-up and continues across connections.
        public var firstSequence: UInt8 = 0
        /// The number of weighings in its memory; the oldest one is replaced.
        public var memoryLimit = 200
        /// The delay after which it repeats an unacknowledged frame.
        ///
        /// One repetition was captured, after 4.8 s.
        public var repeatAfter = Duration.milliseconds(4800)

        /// A profile as captured.
        public init() {}
    }

    /// The properties of the scale.
    public let profile: Profile
    public var faults: StandInFaults
    /// Its memory, oldest first; at most `profile.memoryLimit`.
    public internal(set) var memory: [HS3RecordKey]

    public static let kind = StandInKind.hs3

    var now = ScaleMoment.start
    var actions: [StandInAction] = []
    var clockOffset: Int
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
    public init(
        profile: Profile = Profile(), memory: [HS3RecordKey] = [], faults: StandInFaults = StandInFaults(),
        seed: UInt64 = 1
    ) {
        (self.profile, self.faults, noise) = (profile, faults, seed)
        self.memory = memory.suffix(max(0, profile.memoryLimit))
        (clockOffset, sequence) = (profile.skewSeconds, profile.firstSequence)
    }

    public var deadline: Duration? {
        guard isLinked else { return nil }
        let partial = scanner.isInsideFrame ? lastReceived.map { $0 + .seconds(1) } : nil
        return [unanswered?.repeatAt, partial].compactMap(\.self).min()
    }

    public var isIdle: Bool { unanswered == nil && queue.isEmpty }

    /// The time on its clock at `now`.
    public func clock(at now: ScaleMoment) -> WallTime { now.wall.adding(seconds: clockOffset) ?? now.wall }

    // MARK: The link

    mutating func open() {
        if isLinked { unlink() }
        isLinked = true
        if let tenths = faults.weighOnLink {
            faults.weighOnLink = nil
            report(.fault("a weighing before the session opens"))
            weigh(tenths, at: clock)
        }
        if unanswered != nil { transmit() } else { sendNext() }
    }

    mutating func unlink() {
        (isLinked, lastCommand, lastReceived, transferLeft) = (false, nil, nil, 0)
        scanner.reset()
        if unanswered?.weight == nil { unanswered = nil }
        queue.removeAll { $0.weight == nil }
    }

    /// Forgets unacknowledged frames, but not the memory.
    mutating func losePower() {
        (unanswered, sequence) = (nil, profile.firstSequence)
        queue.removeAll()
    }

    mutating func tick() {
        if scanner.isInsideFrame, let last = lastReceived, now.uptime >= last + .seconds(1) {
            receive(scanner.flush())
        }
        if let waiting = unanswered, now.uptime >= waiting.repeatAt { transmit() }
    }

    // MARK: Receiving

    mutating func receive(_ bytes: [UInt8]) {
        receive(scanner.append(bytes))
        lastReceived = now.uptime
    }

    private mutating func receive(_ frames: [Frame]) {
        for frame in frames {
            guard isLinked, let frame = HS3Frame(frame) else { continue }
            counts.heard += 1
            if isDue(faults.deafEvery, counts.heard) {
                report(.fault("did not hear host frame \(counts.heard)"))
                continue
            }
            let message = HS3HostMessage(frame)
            if message == .acknowledge { acknowledged(frame.sequence) } else { obey(message, frame) }
        }
    }

    private mutating func acknowledged(_ number: UInt8) {
        guard let waiting = unanswered, let sent = waiting.frame, number == sent.sequence &+ 1 else { return }
        unanswered = nil
        if let key = waiting.weight { report(.acknowledged(key.bytes)) }
        if waiting.records > 0 {
            transferLeft -= waiting.records
            if transferLeft == 0 { report(.transferFinished) }
        }
        sendNext()
    }

    private mutating func obey(_ message: HS3HostMessage, _ frame: HS3Frame) {
        // As captured: a scale with an unacknowledged weight does not answer 23.
        if message == .open, unanswered?.weight != nil { return }
        let isRepeat = frame == lastCommand
        lastCommand = frame
        if !isRepeat { counts.commands += 1 }
        if !isRepeat, isDue(faults.loseAcknowledgementEvery, counts.commands) {
            report(.fault("did not acknowledge command \(counts.commands)"))
        } else {
            let reply = HS3Frame(checked: .scale, HS3Command.acknowledge.rawValue, frame.sequence, [])
            write(reply.bytes)
        }
        if !isRepeat { carryOut(message) }
    }

    private mutating func carryOut(_ message: HS3HostMessage) {
        switch message {
        case .open:
            report(.sessionOpened)
            let time = clock.hs3BCD(mode: profile.clockMode) ?? [0, 0, 0, 0, 0, 0]
            enqueue(Outgoing(command: .clock, data: time))
            enqueue(Outgoing(command: .idBlock, data: Array(repeating: 0xFF, count: 16)))
        case .setClock(let time): setClock(time)
        case .lastKnown:
            let count = faults.announcedCount ?? min(memory.count, 255)
            enqueue(Outgoing(command: .memoryCount, data: [UInt8(truncatingIfNeeded: count)]))
        case .startMemory: transfer()
        case .acknowledge, .unknown: break
        }
    }

    // MARK: Weighings

    mutating func weigh(_ person: StandInWeighing) { weigh(person.tenthsOfKilogram, at: person.time ?? clock) }

    /// Above 150 kg it reports Er2 and stores nothing.
    private mutating func weigh(_ tenths: Int, at time: WallTime) {
        guard tenths <= ScaleModel.hs3.capacity else { return fail(0xE2) }
        guard let key = remember(tenths, at: time) else { return }
        enqueue(Outgoing(command: .weight, data: key.bytes, weight: key))
    }

    mutating func fail(_ raw: UInt8) { enqueue(Outgoing(command: .error, data: [raw])) }

    mutating func store(_ person: StandInWeighing, at time: WallTime) { remember(person.tenthsOfKilogram, at: time) }

    @discardableResult
    private mutating func remember(_ tenths: Int, at time: WallTime) -> HS3RecordKey? {
        guard let record = HS3Record(time, tenthsOfKilogram: tenths, mode: profile.hourMode) else {
            report(.refused("an HS3 cannot store this: its years are 2000–2063 and its weights 0–999.9 kg"))
            return nil
        }
        memory.append(record.key)
        if memory.count > profile.memoryLimit { memory.removeFirst(memory.count - profile.memoryLimit) }
        report(.stored(record.key.bytes))
        return record.key
    }

    private mutating func transfer() {
        let newestFirst = Array(memory.reversed())
        (transferTotal, transferLeft) = (newestFirst.count, newestFirst.count)
        report(.transferStarted(newestFirst.count))
        for start in stride(from: 0, to: newestFirst.count, by: 20) {
            let places = start..<min(start + 20, newestFirst.count)
            let data = places.flatMap {
                newestFirst[$0].bytes + [UInt8(truncatingIfNeeded: newestFirst.count - 1 - $0)]
            }
            enqueue(Outgoing(command: .memory, data: data, records: places.count))
        }
    }

    // MARK: Sending

    private mutating func enqueue(_ outgoing: Outgoing) {
        guard queue.count < HS3Device.queueLimit else { return }
        queue.append(outgoing)
        sendNext()
    }

    private mutating func sendNext() {
        guard isLinked, unanswered == nil, !queue.isEmpty else { return }
        unanswered = queue.removeFirst()
        transmit()
    }

    /// Sends the unacknowledged frame, for the first time or again.
    private mutating func transmit() {
        guard var outgoing = unanswered else { return }
        let repeated = outgoing.frame
        let frame = repeated ?? HS3Frame(checked: .scale, outgoing.command.rawValue, sequence, spoilt(outgoing))
        if repeated == nil { sequence &+= 1 }
        outgoing.frame = frame
        outgoing.repeatAt = now.uptime + profile.repeatAfter
        unanswered = outgoing
        guard repeated == nil else { return write(frame.bytes) }

        counts.sent += 1
        let sentRecords = transferTotal - transferLeft
        if let limit = faults.powerOffAfterRecords, outgoing.records > 0, sentRecords + outgoing.records > limit {
            faults.powerOffAfterRecords = nil
            let whole = max(0, limit - sentRecords)
            write(Array(frame.bytes.prefix(5 + 7 * whole)))
            report(.fault("power off after \(limit) records"))
            return restart()
        }
        var bytes = frame.bytes
        if let end = faults.cutAt {
            faults.cutAt = nil
            bytes = Array(bytes.prefix(max(0, end)))
            report(.fault("cut a frame after \(bytes.count) bytes"))
        }
        if isDue(faults.badChecksumEvery, counts.sent), let last = bytes.indices.last {
            bytes[last] ^= 0x55
            report(.fault("wrong checksum in frame \(counts.sent)"))
        }
        write(bytes)
        if isDue(faults.repeatEvery, counts.sent) {
            report(.fault("repeated frame \(counts.sent)"))
            write(bytes)
        }
    }

    /// The data of a frame after the faults that damage records.
    private mutating func spoilt(_ outgoing: Outgoing) -> [UInt8] {
        var data = outgoing.data
        let width = outgoing.command == .memory ? 7 : 6
        guard outgoing.command == .memory || outgoing.command == .weight else { return data }
        for start in stride(from: 0, to: data.count - width + 1, by: width) {
            counts.records += 1
            if isDue(faults.badDigitEvery, counts.records) { data[start + 4] |= 0xA0 }
            if isDue(faults.zeroDateEvery, counts.records) {
                // Month and day are the nine bits after the six bits of the year.
                data[start] &= 0b1111_1100
                data[start + 1] &= 0b0000_0001
            }
        }
        return data
    }

    private mutating func write(_ bytes: [UInt8]) {
        guard isLinked, !bytes.isEmpty else { return }
        actions.append(.send(garbage() + bytes))
    }

    private mutating func garbage() -> [UInt8] {
        (0..<max(0, faults.garbage)).map { place in
            noise = noise &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return place % 3 == 1 ? 0xA0 : UInt8(truncatingIfNeeded: noise >> 56)
        }
    }
}
