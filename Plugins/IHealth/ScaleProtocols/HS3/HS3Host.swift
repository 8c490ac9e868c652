/// The host's side of the dialogue with one HS3.
///
/// A `28` or `21` frame is acknowledged only after ``ScaleInput/kept(_:)``.
public struct HS3Host: ScaleHost {
    /// Settings that may differ between scales, and the host's time limits.
    ///
    /// The defaults are for a real scale.
    public struct Settings: Sendable, Hashable {
        /// The interpretation of the hour of a weighing.
        public var hourMode = HS3HourMode.sdk12
        /// The interpretation of the hour of the scale's clock.
        public var clockMode = HS3ClockMode.nearest
        /// Whether the scale's clock is set to the host's when a session opens.
        ///
        /// The vendor's software always sets it. No capture shows a session in which it does not.
        public var setsClock = true
        /// Maps error bytes to the vendor's numbers.
        public var errors = ScaleError.defaultTable(of: .hs3)
        /// The time sent with `25`.
        ///
        /// The scale sends its whole memory whatever the value; `nil` sends the vendor's default, 2011-01-02 12:12:12.
        public var lastKnown: WallTime?
        public var timing = HostTiming()
        /// How long an unanswered `23` may take before a scale that only sends weights is accepted as it is.
        public var openTimeout = Duration.seconds(3)

        /// The defaults.
        public init() {}
    }

    enum Phase: HostPhase {
        case offline
        /// A link, and no command sent yet.
        case waiting
        /// `23` is sent.
        case opening
        /// `23` is acknowledged; `33` must follow.
        case awaitingClock
        /// `33` has arrived; `32` must follow.
        case awaitingIDBlock
        /// `20` is sent.
        case settingClock
        /// `25` is sent.
        case sendingLastKnown
        /// `25` is acknowledged; `26` must follow.
        case awaitingCount
        /// `27` is sent.
        case startingMemory
        /// `21` frames arrive.
        case transferring
        /// No command is open; weights arrive.
        case measuring
        case closing
    }

    /// The frame of a delivery.
    struct Origin: Sendable {
        var sequence: UInt8
        var slots: [Slot]
    }

    /// One record of a frame: its position in the transfer, and its reading if it has one.
    struct Slot: Sendable {
        var index: UInt8?
        var reading: ScaleReading?
        var isRepeat: Bool
    }

    static let model = ScaleModel.hs3
    static let recentFrameLimit = 40

    /// The settings passed to the initializer.
    public let settings: Settings
    var phase = Phase.offline
    var now = ScaleMoment.start
    var actions: [ScaleAction] = []
    var deliveries = Deliveries()
    var request: HostRequest?
    var transfer: MemoryTransfer?
    /// The number of the next frame, by the vendor's rule: 1 at the first command of a connection, +2 per frame sent, and one more than the
    /// scale's after each frame received.
    var counter: UInt8 = 1
    var scanner = HS3Frame.scanner(from: .scale)
    /// When the dialogue must have made progress.
    var answerBy: Duration?
    private var openAt: Duration?
    private var openedAt: Duration?
    var hasSeenWeight = false
    private var lastReceived: Duration?
    var provenHourMode: HS3HourMode?
    /// The last frames of this connection, which identify a repetition by its number and payload, each with the delivery that it waits for;
    /// `nil` once acknowledged.
    var recentFrames: [(frame: HS3Frame, waitsFor: ScaleToken?)] = []

    /// Creates a host without a link or known weighings.
    public init(settings: Settings = Settings()) { self.settings = settings }

    public var isMeasuring: Bool { phase == .measuring }

    public var deadline: Duration? {
        var times = [answerBy, openAt].compactMap(\.self)
        if let request, request.repeatsLeft >= 0, !isResendPending { times.append(request.repeatAt) }
        if phase == .opening, hasSeenWeight, let openedAt { times.append(openedAt + settings.openTimeout) }
        if scanner.isInsideFrame, let lastReceived { times.append(lastReceived + settings.timing.partialFrameTimeout) }
        return times.min()
    }

    // MARK: The link

    mutating func open() {
        phase = .waiting
        openAt = now.uptime + settings.timing.openAfter
        tick()
    }

    mutating func endSession(isError: Bool) {
        reportEnd(isError: isError)
        stopWaiting()
        scanner.reset()
        recentFrames.removeAll()
        deliveries.endConnection()
        (openedAt, hasSeenWeight, lastReceived, counter) = (nil, false, nil, 1)
    }

    mutating func close() {
        stopWaiting()
        phase = .closing
        actions.append(.close)
    }

    private mutating func stopWaiting() { (request, answerBy, openAt, transfer) = (nil, nil, nil, nil) }

    /// Refuses the command, because this protocol has none.
    mutating func execute(_ command: ScaleCommand) { report(command.refusal) }

    // MARK: Time

    /// While a weight waits for its acknowledgement, the scale does not answer `23`, so repeating it is useless.
    private var isResendPending: Bool {
        phase == .opening && deliveries.current.contains { $0.source == .weighing }
    }

    mutating func tick() {
        if scanner.isInsideFrame, let last = lastReceived, now.uptime >= last + settings.timing.partialFrameTimeout {
            take { $0.flush() }
        }
        if let due = openAt, now.uptime >= due {
            openAt = nil
            counter = 1
            phase = .opening
            openedAt = now.uptime
            answerBy = now.uptime + settings.timing.answerTimeout
            send(.open)
        }
        if phase == .opening, hasSeenWeight, let openedAt, now.uptime >= openedAt + settings.openTimeout {
            stopWaiting()
            phase = .measuring
            report(.connected(nil))
        }
        if let due = answerBy, now.uptime >= due { return giveUp() }
        resend()
    }

    private mutating func resend() {
        guard var pending = request, pending.repeatsLeft >= 0, now.uptime >= pending.repeatAt, !isResendPending else {
            return
        }
        if pending.repeatsLeft > 0 {
            actions += pending.frames.map(ScaleAction.send)
        } else if pending.command != HS3Command.open.rawValue {
            return giveUp()
        }
        // An unanswered 23 is not repeated any more: a weight may still arrive until `answerBy`.
        pending.repeatsLeft -= 1
        pending.repeatAt = now.uptime + settings.timing.nextResend
        request = pending
    }

    private mutating func giveUp() {
        if phase == .startingMemory { report(.memoryStart(false)) }
        report(.noAnswer(Self.model))
        close()
    }

    // MARK: Frames

    mutating func send(_ command: HS3Command, _ data: [UInt8] = []) {
        let bytes = HS3Frame(checked: .host, command.rawValue, counter, data).bytes
        actions.append(.send(bytes))
        request = HostRequest(
            command: command.rawValue, sequence: counter, frames: [bytes],
            repeatAt: now.uptime + settings.timing.firstResend,
            repeatsLeft: settings.timing.resends)
        counter &+= 2
    }

    mutating func acknowledge(_ sequence: UInt8) {
        counter = sequence &+ 1
        actions.append(.send(HS3Frame(checked: .host, HS3Command.acknowledge.rawValue, counter, []).bytes))
        counter &+= 2
    }

    mutating func receive(_ bytes: [UInt8]) {
        take { $0.append(bytes) }
        lastReceived = now.uptime
    }

    private mutating func take(_ scan: (inout FrameScanner) -> [Frame]) {
        let (frames, warnings) = scanner.warned(scan)
        for warning in warnings { warn(warning) }
        for frame in frames where phase != .closing {
            if let frame = HS3Frame(frame) { receive(frame) } else { warn(.foreignFrame) }
        }
    }
}
