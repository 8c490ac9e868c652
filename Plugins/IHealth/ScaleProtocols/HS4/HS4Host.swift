/// The host's side of the dialogue with one HS4 or HS4S: log-in, memory, then one measurement after the other.
///
/// ```
/// (log-in) → F1 → 39 → 33 → 41 → 42* → 39 → 32 → 35* → 36 → 39 → 32 → …
/// ```
/// The scale sends its memory record by record: the next one is requested only when the previous one is stored.
public struct HS4Host: ScaleHost {
    /// Settings that may differ between scales, and the host's time limits.
    ///
    /// The defaults are for a real scale; there is no published capture of one.
    public struct Settings: Sendable, Hashable {
        /// The way in which the link carries frames.
        public enum Link: String, Sendable, Hashable, CaseIterable {
            /// HS4: chunks of 20 bytes, each acknowledged, over Bluetooth LE or a carrier of its writes.
            case lowEnergy = "ble"
            /// HS4S: whole frames without acknowledgements over a serial port.
            case serialPort = "spp"
        }

        /// The order of the last fields of the command that begins a measurement.
        public enum MeasureLayout: String, Sendable, Hashable, CaseIterable {
            case unitFirst = "unit-user"
            case userFirst = "user-unit"
        }

        /// The handling of a record in the reply that ends the memory.
        public enum MemoryTail: String, Sendable, Hashable, CaseIterable {
            /// The record counts if its date is valid.
            case parse = "parse-last-if-plausible"
            /// The record is ignored, as in the vendor's software.
            case drop = "drop-last"
        }

        public var link = Link.lowEnergy
        public var measureLayout = MeasureLayout.unitFirst
        public var memoryTail = MemoryTail.parse
        /// The key for the scale's log-in; `nil` skips the log-in, which only a simulated scale accepts.
        public var key: ScaleKey?
        /// 16 random bytes that this installation chooses.
        public var nonce: [UInt8] = Array(repeating: 0, count: 16)
        /// The unit that the scale displays; the protocol uses kilograms.
        public var unit = ScaleDisplayUnit.kilograms
        /// The host's number of the person being weighed.
        public var user: UInt32 = 1
        /// Maps error bytes to the vendor's numbers.
        public var errors = ScaleError.defaultTable(of: .hs4)
        public var timing = HostTiming()
        /// How long each step of the log-in may take.
        public var logInTimeout = Duration.seconds(4)
        /// How long the scale may be silent between the weights of one weighing.
        public var weighingTimeout = Duration.seconds(4)
        /// The delay from a weighing, or a failed one, to the next measurement.
        public var measureAgainAfter = Duration.milliseconds(500)

        public init() {}
    }

    enum Phase: HostPhase {
        case offline
        /// A link, and no command sent yet.
        case waiting
        case loggingIn
        /// `F1` is sent.
        case identifying
        /// `39` is sent, before this next step.
        case stopping(Next)
        /// `33` is sent.
        case openingMemory
        /// `41` is sent.
        case summing
        /// `42` is sent.
        case transferring
        /// `32` is sent.
        case openingMeasurement
        /// Weights arrive when a person steps on.
        case measuring
        /// A weighing is over; the next one will be opened shortly.
        case pausing
        case closing
    }

    enum Next: Sendable, Hashable { case memory, measurement }

    /// The message of a delivery.
    struct Origin: Sendable {
        var arrival: FamilyLink.Arrival
        /// Whether more records follow.
        var more: Bool
    }

    static let model = ScaleModel.hs4

    public private(set) var settings: Settings
    var phase = Phase.offline
    var now = ScaleMoment.start
    var actions: [ScaleAction] = []
    var deliveries = Deliveries()
    var request: HostRequest?
    var transfer: MemoryTransfer?
    var link: FamilyLink
    var logIn: LogInDialogue?
    /// When the dialogue must have made progress.
    var answerBy: Duration?
    /// When to start the next step: the session, or the next measurement.
    var beginAt: Duration?
    private var lastReceived: Duration?
    /// Whether weights of the present weighing have arrived.
    var isWeighing = false

    public init(settings: Settings = Settings()) {
        self.settings = settings
        link = FamilyLink(.host, product: .hs4, style: settings.link == .lowEnergy ? .lowEnergy : .serialPort)
    }

    public var isMeasuring: Bool { phase == .measuring || phase == .pausing }

    public var deadline: Duration? {
        var times = [answerBy, beginAt, request?.repeatAt].compactMap(\.self)
        if link.isInsideFrame, let lastReceived { times.append(lastReceived + settings.timing.partialFrameTimeout) }
        return times.min()
    }

    // MARK: The link

    mutating func open() {
        phase = .waiting
        beginAt = now.uptime + settings.timing.openAfter
        tick()
    }

    mutating func endSession(isError: Bool) {
        reportEnd(isError: isError)
        stopWaiting()
        link.reset()
        (lastReceived, isWeighing) = (nil, false)
        deliveries.endConnection()
    }

    mutating func close() {
        stopWaiting()
        phase = .closing
        actions.append(.close)
    }

    private mutating func stopWaiting() {
        (request, answerBy, beginAt, transfer, logIn) = (nil, nil, nil, nil, nil)
    }

    /// Switches the displayed unit; a HS4 has no users.
    mutating func execute(_ command: ScaleCommand) {
        guard case .display(let unit) = command else { return report(command.refusal) }
        settings.unit = unit
        report(.commandResult(true))
        // The next measurement sets the unit; it is opened again unless a person is on the scale.
        if phase == .measuring, !isWeighing, deliveries.isEmpty { stop(then: .measurement) }
    }

    // MARK: Time

    mutating func tick() {
        if link.isInsideFrame, let last = lastReceived, now.uptime >= last + settings.timing.partialFrameTimeout {
            receive(link.flush())
        }
        if let due = beginAt, now.uptime >= due {
            beginAt = nil
            if phase == .waiting { begin() } else { stop(then: .measurement) }
        }
        if let due = answerBy, now.uptime >= due { return timeIsOver() }
        if !resend(after: settings.timing.nextResend) { timeIsOver() }
    }

    private mutating func timeIsOver() {
        report(.noAnswer(Self.model))
        switch phase {
        case .measuring: measureAgain()  // The weighing was interrupted; the next one may succeed.
        case .openingMemory, .summing:
            report(.memoryStart(false))
            close()
        default: close()
        }
    }

    // MARK: Messages

    mutating func send(_ message: HS4HostMessage) {
        guard let content = message.content else { return }
        var data = content.data
        if case .measure = message, settings.measureLayout == .userFirst, data.count == 12 {
            data.append(data.remove(at: 7))
        }
        let frames = link.frames(content.command, data)
        actions += frames.map(ScaleAction.send)
        request = HostRequest(
            command: content.command, frames: frames, repeatAt: now.uptime + settings.timing.firstResend,
            repeatsLeft: settings.timing.resends)
    }

    /// Sends a message that the scale does not answer.
    mutating func tell(_ message: HS4HostMessage) {
        guard let (command, data) = message.content else { return }
        actions += link.frames(command, data).map(ScaleAction.send)
    }

    mutating func wait(_ phase: Phase, for time: Duration? = nil) {
        request = nil
        self.phase = phase
        answerBy = now.uptime + (time ?? settings.timing.answerTimeout)
    }

    mutating func receive(_ bytes: [UInt8]) {
        receive(link.receive(bytes))
        lastReceived = now.uptime
    }

    private mutating func receive(_ outputs: [FamilyLink.Output]) {
        for output in outputs where phase != .closing {
            switch output {
            case .send(let bytes): actions.append(.send(bytes))
            case .warning(let warning): warn(warning)
            case .acknowledged: request = nil
            case .arrival(let arrival): receive(arrival)
            }
        }
    }
}
