public import ScaleProtocols

/// A stand-in for a HS4 or HS4S.
///
/// If the behaviour of a real one is unknown, this device does the most difficult thing for the host. It forgets a record as soon as the host
/// has acknowledged it, and stores an unacknowledged weighing in the memory.
public struct HS4Device: DeviceStandIn {
    /// The properties that may differ between scales.
    public struct Profile: Sendable, Hashable {
        public var link = HS4Host.Settings.Link.lowEnergy
        /// The key for its log-in; `nil` to accept every program.
        public var key: ScaleKey?
        public var identity = ScaleIdentity(
            protocolName: "com.jiuan.BWSV01", name: "Body Scale", firmware: "1.0.1", hardware: "1.0.0",
            manufacturer: "iHealth", model: "HS4 11070")
        public var skewSeconds = 0
        public var memoryLimit = 200
        /// Whether the reply that ends the memory contains a record.
        public var tailHoldsRecord = true
        /// The delay after which it repeats unacknowledged messages.
        public var repeatAfter = Duration.seconds(1)

        public init() {}
    }

    public let profile: Profile
    public var faults: StandInFaults
    /// Its memory, oldest first.
    public internal(set) var memory: [HS4Record]

    public static let kind = StandInKind.hs4

    var now = ScaleMoment.start
    var actions: [StandInAction] = []
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
        var command: FamilyCommand
        var data: [UInt8]
        /// The weighing in the message.
        var record: HS4Record?
        var isLastRecord = false
        var frames: [[UInt8]] = []
        var repeatAt = Duration.zero
    }

    struct Counts: Sendable { var heard = 0, sent = 0 }

    public init(profile: Profile = Profile(), memory: [HS4Record] = [], faults: StandInFaults = StandInFaults()) {
        (self.profile, self.faults) = (profile, faults)
        self.memory = memory.suffix(max(0, profile.memoryLimit))
        clockOffset = profile.skewSeconds
        link = FamilyLink(.scale, product: .hs4, style: profile.link == .lowEnergy ? .lowEnergy : .serialPort)
    }

    /// Whether a measurement is open, so that weighings are sent to the host.
    public var isMeasuring: Bool { isLinked && mode == .measuring }
    public var isIdle: Bool { unanswered == nil && queue.isEmpty }

    public var deadline: Duration? { isLinked ? unanswered?.repeatAt : nil }

    // MARK: The link

    mutating func open() {
        unlink()
        isLinked = true
        isLoggedIn = profile.key == nil
    }

    mutating func tick() { if let waiting = unanswered, now.uptime >= waiting.repeatAt { transmit() } }

    /// Ends the connection; unacknowledged weighings are in the memory afterwards.
    mutating func unlink() {
        guard isLinked else { return }
        (isLinked, isLoggedIn, mode, transferLeft) = (false, false, .idle, 0)
        link.reset()
        for outgoing in [unanswered].compactMap(\.self) + queue {
            guard outgoing.command == .stableWeight, let record = outgoing.record else { continue }
            keep(record)
        }
        (unanswered, unasked, queue) = (nil, nil, [])
    }

    // MARK: Receiving

    mutating func receive(_ bytes: [UInt8]) {
        for output in link.receive(bytes) where isLinked {
            switch output {
            case .send(let bytes): actions.append(.send(bytes))
            case .warning: break
            case .acknowledged: acknowledged()
            case .arrival(let arrival):
                counts.heard += 1
                if isDue(faults.deafEvery, counts.heard) {
                    link.forget(arrival.message)
                    report(.fault("did not hear host message \(counts.heard)"))
                    continue
                }
                if let reply = arrival.acknowledgement { actions.append(.send(link.sent(reply))) }
                // A repetition of a command whose answer is in transit.
                if arrival.isRepeat { continue }
                if let record = unasked {
                    unasked = nil
                    taken(record)
                }
                obey(HS4HostMessage(arrival.message))
            }
        }
    }

    mutating func acknowledged() {
        guard let sent = unanswered else { return }
        unanswered = nil
        taken(sent)
        sendNext()
    }

    /// Notes that the host certainly has the record, so the scale may forget it.
    mutating func taken(_ sent: Outgoing) {
        if let record = sent.record {
            if sent.command == .memoryRecords { memory.removeAll { $0.key == record.key } }
            report(.acknowledged(record.key))
        }
        if sent.isLastRecord { report(.transferFinished) }
    }

    mutating func obey(_ message: HS4HostMessage) {
        switch message {
        case .logInNonce where !faults.ignoresLogIn:
            if faults.logInAgain > 0 {
                faults.logInAgain -= 1
                return enqueue(Outgoing(command: .logInAgain, data: []))
            }
            enqueue(Outgoing(command: .logInChallenge, data: HS4Device.challenge))
        case .logInAnswer(let answer):
            isLoggedIn = accepts(answer, to: HS4Device.challenge, key: profile.key)
            enqueue(Outgoing(command: isLoggedIn ? .logInAccepted : .logInRefused, data: []))
        case .identify where isLoggedIn:
            report(.sessionOpened)
            enqueue(Outgoing(command: .identity, data: profile.identity.bytes))
        case .stop where isLoggedIn:
            mode = .idle
            enqueue(Outgoing(command: .end, data: [3]))
        case .openMemory(let time) where isLoggedIn:
            setClock(time)
            mode = .memory
            enqueue(Outgoing(command: .openMemory, data: [2]))
        case .memorySummary where mode == .memory:
            transferLeft = memory.count
            report(.transferStarted(memory.count))
            let count = UInt8(truncatingIfNeeded: min(memory.count, 255))
            enqueue(Outgoing(command: .memorySummary, data: [0, count]))
        case .memoryRecord where mode == .memory: sendRecord()
        case .measure(let time, _, _) where isLoggedIn:
            setClock(time)
            mode = faults.refusesMeasurement ? .idle : .measuring
            enqueue(Outgoing(command: .measure, data: [faults.refusesMeasurement ? 1 : 0]))
        // On a serial port a confirmation replaces the acknowledgement.
        case .confirm where link.style == .serialPort: acknowledged()
        default: break
        }
    }

    /// 48 different bytes; a stand-in has no secret.
    private static let challenge = (0..<48).map { UInt8($0 * 5 + 1) }
}
