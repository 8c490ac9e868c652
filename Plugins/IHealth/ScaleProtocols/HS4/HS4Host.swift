/// The host's side of the dialogue with one HS4 or HS4S: log-in, memory, then one measurement after the other.
///
/// ```
/// (log-in) → F1 → 39 → 33 → 41 → 42* → 39 → 32 → 35* → 36 → 39 → 32 → …
/// ```
/// The scale sends its memory record by record: the next one is requested only when the previous one is stored.
public struct HS4Host: ScaleDialogue {
    public private(set) var settings: Settings

    var phase = Phase.offline
    var link: FamilyLink
    var logIn: LogInDialogue?
    var identity: ScaleIdentity?
    var command: PendingCommand?
    /// When the dialogue must have made progress.
    var answerBy: Duration?
    /// When to start the next step: the session, or the next measurement.
    var beginAt: Duration?
    var lastReceived: Duration?
    var transfer: Transfer?
    /// Whether weights of the present weighing have arrived.
    var isWeighing = false

    var deliveries = PendingDeliveries<[UInt8], Origin>()

    /// Tenths of a kilogram.
    static let capacity = 1800

    public init(settings: Settings = Settings()) {
        self.settings = settings
        link = FamilyLink(.host, product: .hs4, style: settings.link == .lowEnergy ? .lowEnergy : .serialPort)
    }

    public var isMeasuring: Bool { phase == .measuring || phase == .pausing }

    public var deadline: Duration? {
        var times = [answerBy, beginAt, command?.nextResend].compactMap(\.self)
        if link.isInsideFrame, let lastReceived { times.append(lastReceived + settings.partialFrameTimeout) }
        return times.min()
    }

    public mutating func handle(_ input: ScaleInput, at now: ScaleMoment) -> [ScaleAction] {
        var actions: [ScaleAction] = []
        switch input {
        case .linkOpened:
            if phase != .offline { closeLink(&actions) }
            phase = .waiting
            beginAt = now.uptime + settings.openAfter
            tick(at: now, &actions)
        case .received(let bytes):
            guard phase != .offline, phase != .closing else { break }
            // In chunks, so that the held data is bounded whatever the size of the input.
            for start in stride(from: 0, to: bytes.count, by: 4096) {
                let piece = Array(bytes[start..<min(start + 4096, bytes.count)])
                receive(link.receive(piece), at: now, &actions)
            }
            lastReceived = now.uptime
        case .caller, .greeted, .contested: break  // The peer's own bytes identify it.
        case .kept(let token): resolve(token, isKept: true, at: now, &actions)
        case .notKept(let token): resolve(token, isKept: false, at: now, &actions)
        case .tick: tick(at: now, &actions)
        case .stop: if phase != .offline, phase != .closing { close(&actions) }
        case .linkClosed: closeLink(&actions)
        case .command(.display(let unit), _):
            settings.unit = unit
            actions.append(.event(.commandResult(true)))
            // The next measurement sets the unit; it is opened again unless a person is on the scale.
            if phase == .measuring, !isWeighing, deliveries.isEmpty { stop(then: .measurement, at: now, &actions) }
        case .command(let command, _): actions.append(.event(command.refusal))  // A HS4 has no users.
        case .withdraw, .heights: break  // Commands are executed immediately, and there are no heights.
        }
        return actions
    }

    private mutating func closeLink(_ actions: inout [ScaleAction]) {
        guard phase != .offline else { return }
        if phase != .closing { actions.append(.event(.deviceError(.disconnected(.hs4)))) }
        actions.append(.event(.disconnected))
        stopWaiting()
        phase = .offline
        link.reset()
        (lastReceived, identity, isWeighing) = (nil, nil, false)
        deliveries.endConnection()
    }

    mutating func close(_ actions: inout [ScaleAction]) {
        stopWaiting()
        phase = .closing
        actions.append(.close)
    }

    private mutating func stopWaiting() {
        (command, answerBy, beginAt, transfer, logIn) = (nil, nil, nil, nil, nil)
    }

    // MARK: Time

    private mutating func tick(at now: ScaleMoment, _ actions: inout [ScaleAction]) {
        if link.isInsideFrame, let last = lastReceived, now.uptime >= last + settings.partialFrameTimeout {
            receive(link.flush(), at: now, &actions)
        }
        if let due = beginAt, now.uptime >= due {
            beginAt = nil
            if phase == .waiting { begin(at: now, &actions) } else { stop(then: .measurement, at: now, &actions) }
        }
        if let due = answerBy, now.uptime >= due { return timeIsOver(at: now, &actions) }
        resend(at: now, &actions)
    }

    private mutating func resend(at now: ScaleMoment, _ actions: inout [ScaleAction]) {
        guard var pending = command, now.uptime >= pending.nextResend else { return }
        guard pending.resendsLeft > 0 else { return timeIsOver(at: now, &actions) }
        pending.resendsLeft -= 1
        pending.nextResend = now.uptime + settings.nextResend
        command = pending
        actions += pending.frames.map(ScaleAction.send)
    }

    private mutating func timeIsOver(at now: ScaleMoment, _ actions: inout [ScaleAction]) {
        actions.append(.event(.deviceError(.noAnswer(.hs4))))
        switch phase {
        case .measuring:
            // The weighing was interrupted; the next one may succeed.
            measureAgain(at: now)
        case .openingMemory, .summing:
            actions.append(.event(.memoryStart(false)))
            close(&actions)
        default: close(&actions)
        }
    }

    // MARK: Sending

    mutating func send(_ message: HS4HostMessage, at now: ScaleMoment, _ actions: inout [ScaleAction]) {
        guard let content = message.content, let known = HS4Command(rawValue: content.command) else { return }
        var data = content.data
        if known == .measure, settings.measureLayout == .userFirst, data.count == 12 { data.append(data.remove(at: 7)) }
        let frames = link.frames(content.command, data)
        actions += frames.map(ScaleAction.send)
        self.command = PendingCommand(
            command: known, frames: frames, nextResend: now.uptime + settings.firstResend, resendsLeft: settings.resends
        )
    }

    /// Sends a message that the scale does not answer.
    mutating func tell(_ message: HS4HostMessage, _ actions: inout [ScaleAction]) {
        guard let (command, data) = message.content else { return }
        actions += link.frames(command, data).map(ScaleAction.send)
    }

    mutating func wait(_ phase: Phase, for time: Duration? = nil, at now: ScaleMoment) {
        command = nil
        self.phase = phase
        answerBy = now.uptime + (time ?? settings.answerTimeout)
    }
}
