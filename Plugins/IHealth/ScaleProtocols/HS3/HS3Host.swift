/// The host's side of the dialogue with one HS3, as a value: inputs go in, actions come out.
///
/// It has no sockets and no clock.
///
/// Create one per scale and keep it across connections: it remembers the stored weighings, so that a repetition over a new connection is
/// acknowledged without a second delivery. It must not be shared between threads, and needs about 100 KiB when full.
///
/// The driver calls ``handle(_:at:)`` for each input, performs the returned actions in order, and calls it with ``ScaleInput/tick`` at
/// ``deadline``. A `28` or `21` frame is acknowledged only after ``ScaleInput/kept(_:)``.
public struct HS3Host: ScaleDialogue {
    /// The settings passed to the initializer.
    public let settings: Settings

    var phase = Phase.offline
    /// The number of the next frame, by the vendor's rule: 1 at the first command of a connection, +2 per frame sent, and one more than the
    /// scale's after each frame received.
    var counter: UInt8 = 1
    var scanner = HS3Frame.scanner(from: .scale)
    var command: PendingCommand?
    /// When the dialogue must have made progress.
    var answerBy: Duration?
    var openAt: Duration?
    var openedAt: Duration?
    var hasSeenWeight = false
    var lastReceived: Duration?
    var transfer: Transfer?
    var provenHourMode: HS3HourMode?

    var deliveries = PendingDeliveries<[UInt8], Origin>()
    /// The last frames of this connection, which identify a repetition by its number and payload.
    var recentFrames: [SeenFrame] = []

    static let recentFrameLimit = 40

    enum Phase: Sendable, Hashable {
        /// No link.
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
        /// The link will be closed.
        case closing
    }

    struct PendingCommand: Sendable {
        var command: HS3Command
        var sequence: UInt8
        var bytes: [UInt8]
        var nextResend: Duration
        var resendsLeft: Int
    }

    struct Transfer: Sendable {
        var count: Int
        var slots = 0
        var readings = 0
        var progress = -1.0
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

    struct SeenFrame: Sendable {
        var frame: HS3Frame
        /// The delivery it waits for; `nil` once acknowledged.
        var waitsFor: ScaleToken?
    }

    /// Creates a host without a link or known weighings.
    public init(settings: Settings = Settings()) { self.settings = settings }

    /// Whether the session is open, so that received weights are current.
    public var isMeasuring: Bool { phase == .measuring }

    /// The uptime at which to call with ``ScaleInput/tick``; `nil` if there is no deadline.
    public var deadline: Duration? {
        var times = [answerBy, openAt].compactMap(\.self)
        if let command, command.resendsLeft >= 0, !isResendPending { times.append(command.nextResend) }
        if phase == .opening, hasSeenWeight, let openedAt { times.append(openedAt + settings.openTimeout) }
        if scanner.isInsideFrame, let lastReceived { times.append(lastReceived + settings.partialFrameTimeout) }
        return times.min()
    }

    /// Handles an input and returns the resulting actions, in order.
    ///
    /// The scale may send any bytes; faulty ones become a ``ScaleEvent/protocolWarning(_:)``.
    public mutating func handle(_ input: ScaleInput, at now: ScaleMoment) -> [ScaleAction] {
        var actions: [ScaleAction] = []
        switch input {
        case .linkOpened:
            if phase != .offline { closeLink(&actions) }
            phase = .waiting
            openAt = now.uptime + settings.openAfter
            tick(at: now, &actions)
        case .received(let bytes): receive(bytes, at: now, &actions)
        case .caller, .greeted, .contested: break  // The peer's own bytes identify it.
        case .kept(let token): resolve(token, isKept: true, at: now, &actions)
        case .notKept(let token): resolve(token, isKept: false, at: now, &actions)
        case .tick: tick(at: now, &actions)
        case .stop: if phase != .offline, phase != .closing { close(&actions) }
        case .linkClosed: closeLink(&actions)
        // This protocol has no such commands.
        case .command(let command, _): actions.append(.event(command.refusal))
        case .withdraw, .heights: break  // The protocol has no commands or heights.
        }
        return actions
    }

    private mutating func closeLink(_ actions: inout [ScaleAction]) {
        guard phase != .offline else { return }
        if phase != .closing { actions.append(.event(.deviceError(.disconnected(.hs3)))) }
        actions.append(.event(.disconnected))
        stopWaiting()
        phase = .offline
        scanner.reset()
        recentFrames.removeAll()
        deliveries.endConnection()
        (openedAt, hasSeenWeight, lastReceived, counter) = (nil, false, nil, 1)
    }

    mutating func close(_ actions: inout [ScaleAction]) {
        stopWaiting()
        phase = .closing
        actions.append(.close)
    }

    private mutating func stopWaiting() { (command, answerBy, openAt, transfer) = (nil, nil, nil, nil) }

    // MARK: Time

    /// While a weight waits for its acknowledgement, the scale does not answer `23`, so repeating it is useless.
    private var isResendPending: Bool {
        phase == .opening && deliveries.current.contains { $0.source == .weighing }
    }

    private mutating func tick(at now: ScaleMoment, _ actions: inout [ScaleAction]) {
        if scanner.isInsideFrame, let last = lastReceived, now.uptime >= last + settings.partialFrameTimeout {
            take(at: now, &actions) { $0.flush() }
        }
        if let due = openAt, now.uptime >= due {
            openAt = nil
            counter = 1
            phase = .opening
            openedAt = now.uptime
            answerBy = now.uptime + settings.answerTimeout
            send(.open, [], at: now, &actions)
        }
        if phase == .opening, hasSeenWeight, let openedAt, now.uptime >= openedAt + settings.openTimeout {
            stopWaiting()
            phase = .measuring
            actions.append(.event(.connected(nil)))
        }
        if let due = answerBy, now.uptime >= due { return giveUp(&actions) }
        resend(at: now, &actions)
    }

    private mutating func resend(at now: ScaleMoment, _ actions: inout [ScaleAction]) {
        guard var pending = command, pending.resendsLeft >= 0, now.uptime >= pending.nextResend, !isResendPending else {
            return
        }
        if pending.resendsLeft > 0 {
            actions.append(.send(pending.bytes))
        } else if pending.command != .open {
            return giveUp(&actions)
        }
        // An unanswered 23 is not repeated any more: a weight may still arrive until `answerBy`.
        pending.resendsLeft -= 1
        pending.nextResend = now.uptime + settings.nextResend
        command = pending
    }

    private mutating func giveUp(_ actions: inout [ScaleAction]) {
        if phase == .startingMemory { actions.append(.event(.memoryStart(false))) }
        actions.append(.event(.deviceError(.noAnswer(.hs3))))
        close(&actions)
    }

    // MARK: Sending

    mutating func send(_ command: HS3Command, _ data: [UInt8], at now: ScaleMoment, _ actions: inout [ScaleAction]) {
        let frame = HS3Frame(checked: .host, command.rawValue, counter, data)
        actions.append(.send(frame.bytes))
        self.command = PendingCommand(
            command: command, sequence: counter, bytes: frame.bytes, nextResend: now.uptime + settings.firstResend,
            resendsLeft: settings.resends)
        counter &+= 2
    }

    mutating func acknowledge(_ sequence: UInt8, _ actions: inout [ScaleAction]) {
        counter = sequence &+ 1
        actions.append(.send(HS3Frame(checked: .host, HS3Command.acknowledge.rawValue, counter, []).bytes))
        counter &+= 2
    }

    // MARK: Receiving

    private mutating func receive(_ bytes: [UInt8], at now: ScaleMoment, _ actions: inout [ScaleAction]) {
        guard phase != .offline, phase != .closing else { return }
        // In chunks, so that the held data is bounded whatever the size of the input.
        for start in stride(from: 0, to: bytes.count, by: 4096) {
            take(at: now, &actions) { $0.append(bytes[start..<min(start + 4096, bytes.count)]) }
        }
        lastReceived = now.uptime
    }

    private mutating func take(
        at now: ScaleMoment, _ actions: inout [ScaleAction], _ scan: (inout FrameScanner) -> [Frame]
    ) {
        let (skipped, damaged) = (scanner.skippedBytes, scanner.badChecksums)
        let frames = scan(&scanner)
        if scanner.skippedBytes > skipped {
            actions.append(.event(.protocolWarning(.skippedBytes(scanner.skippedBytes - skipped))))
        }
        if scanner.badChecksums > damaged {
            actions.append(.event(.protocolWarning(.badChecksums(scanner.badChecksums - damaged))))
        }
        for frame in frames where phase != .closing {
            guard let frame = HS3Frame(frame) else {
                actions.append(.event(.protocolWarning(.foreignFrame)))
                continue
            }
            receive(frame, at: now, &actions)
        }
    }
}
