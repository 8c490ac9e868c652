/// The host's side of the dialogue in a scale's own protocol: the state and the rules that all models share.
///
/// It has no sockets and no clock. Create one per scale and keep it across connections. It must not be shared between threads, and needs about
/// 100 KiB when full.
protocol ScaleHost: ScaleDialogue {
    associatedtype Phase: HostPhase
    /// The data that the dialogue needs after the answer to a delivery.
    associatedtype Origin: Sendable
    typealias Deliveries = PendingDeliveries<[UInt8], Origin>

    static var model: ScaleModel { get }
    var phase: Phase { get set }
    /// The time of the present input.
    var now: ScaleMoment { get set }
    /// The actions that result from the present input.
    var actions: [ScaleAction] { get set }
    var deliveries: Deliveries { get set }
    /// The unanswered request.
    var request: HostRequest? { get set }
    var transfer: MemoryTransfer? { get set }

    mutating func open()
    /// Handles bytes of the open link.
    mutating func receive(_ bytes: [UInt8])
    /// Handles the deadlines that have passed.
    mutating func tick()
    /// Closes the link from this side.
    mutating func close()
    /// Ends the session; an error if the link did not end from this side.
    mutating func endSession(isError: Bool)
    mutating func execute(_ command: ScaleCommand)
    mutating func withdraw()
    /// Handles the answer to a delivery of the open connection.
    mutating func resolve(_ item: Deliveries.Item, _ token: ScaleToken, isKept: Bool)
}

/// The phase of a dialogue; each model has more phases.
protocol HostPhase: Sendable, Hashable {
    /// No link.
    static var offline: Self { get }
    /// The link will be closed.
    static var closing: Self { get }
}

/// A request that is repeated until it is answered.
struct HostRequest: Sendable {
    var command: UInt8
    /// The counter of its frame or, on a HS5, of its answer: it distinguishes the answer from a late one to an earlier request.
    var sequence: UInt8 = 0
    var frames: [[UInt8]]
    var repeatAt: Duration
    var repeatsLeft: Int
}

/// A memory transfer in progress.
struct MemoryTransfer: Sendable {
    /// The announced number; it may not be the number of records.
    var announced: Int
    /// HS3: the records with and without a reading.
    var slots = 0
    var received = 0
    var progress = -1.0
}

extension ScaleHost {
    /// Whether there is a link that stays open.
    var isLinked: Bool { phase != .offline && phase != .closing }

    /// Handles an input and returns the resulting actions, in order.
    ///
    /// The scale may send any bytes; faulty ones become a ``ScaleEvent/protocolWarning(_:)``.
    public mutating func handle(_ input: ScaleInput, at now: ScaleMoment) -> [ScaleAction] {
        self.now = now
        defer { actions = [] }
        switch input {
        case .linkOpened:
            closeLink()
            open()
        case .received(let bytes):
            // In chunks, so that the held data is bounded whatever the size of the input.
            for start in stride(from: 0, to: bytes.count, by: 4096) where isLinked {
                receive(Array(bytes[start..<min(start + 4096, bytes.count)]))
            }
        case .kept(let token): answer(token, isKept: true)
        case .notKept(let token): answer(token, isKept: false)
        case .tick: if phase != .offline { tick() }
        case .stop: if isLinked { close() }
        case .linkClosed: closeLink()
        case .command(let command, _): execute(command)
        case .withdraw: withdraw()
        // The peer's own bytes identify it, and no scale needs heights.
        case .caller, .greeted, .contested, .heights: break
        }
        return actions
    }

    private mutating func closeLink() {
        guard phase != .offline else { return }
        endSession(isError: phase != .closing)
        phase = .offline
    }

    private mutating func answer(_ token: ScaleToken, isKept: Bool) {
        guard let item = deliveries.answer(token, isKept: isKept), item.isCurrent, isLinked else { return }
        resolve(item, token, isKept: isKept)
    }

    // The protocols of HS3 and HS4 have no commands that wait for their turn.
    mutating func withdraw() {}

    /// Repeats the request if it is due; returns false if it has been repeated often enough.
    mutating func resend(after pause: Duration) -> Bool {
        guard var pending = request, now.uptime >= pending.repeatAt else { return true }
        guard pending.repeatsLeft > 0 else { return false }
        pending.repeatsLeft -= 1
        pending.repeatAt = now.uptime + pause
        request = pending
        actions += pending.frames.map(ScaleAction.send)
        return true
    }

    // MARK: Reporting

    /// Reports the end of a session; an error if the link did not end from this side.
    mutating func reportEnd(isError: Bool) {
        if isError { report(.disconnected(Self.model)) }
        report(.disconnected)
    }

    mutating func report(_ events: ScaleEvent...) { actions += events.map(ScaleAction.event) }

    mutating func report(_ error: ScaleError) { report(.deviceError(error)) }

    mutating func warn(_ warning: ScaleWarning) { report(.protocolWarning(warning)) }

    /// Warns of a message.
    mutating func warn(_ warning: (_ command: UInt8, _ sequence: UInt8) -> ScaleWarning, _ message: FamilyMessage) {
        warn(warning(message.command, message.sequence))
    }

    // MARK: The memory

    /// Prepares the transfer of the announced records; returns false if there are none.
    mutating func announced(_ count: Int) -> Bool {
        if count > 200 { warn(.memoryCountAboveLimit(count)) }
        guard count > 0 else {
            report(.memoryCount(0), .memoryFinish(records: 0), .deviceError(.noMemory(Self.model)))
            return false
        }
        transfer = MemoryTransfer(announced: min(count, 200))
        return true
    }

    /// Reports the beginning of a transfer on a HS4 or HS5.
    mutating func reportStart() {
        report(.memoryStart(true), .memoryCount(transfer?.announced ?? 0), .memoryProgress(0))
    }

    /// Reports the progress; 1.0 is reported only at the end, because the announced number may not be the number of records.
    mutating func reportProgress() {
        guard let current = transfer else { return }
        let done = min(Double(current.received) / Double(current.announced), 1)
        guard done > current.progress, done < 1 else { return }
        transfer?.progress = done
        report(.memoryProgress(done))
    }

    mutating func finishTransfer() {
        report(.memoryProgress(1), .memoryFinish(records: transfer?.received ?? 0))
        transfer = nil
    }
}
