/// The host's side of the dialogue with one HS5 over UDP: search, log-in, users, memory, measurements.
///
/// ```
/// D0* → F0 → (log-in) → 31 → (33 → 41 → 42* → 39) for each user → 32 → 35* → 36 → 37* → 38 → 39 → 31 → …
/// ```
/// Every request has an answer, and the answer is its only acknowledgement. The request after a packet of the memory is sent only when the
/// packet's records are stored, and a user's memory is closed only when the last records are.
public struct HS5Host: ScaleDialogue {
    public var settings: Settings

    var phase = Phase.offline
    var counter: UInt8 = 1
    /// The scale that answered.
    var scale: HS5SenderID?
    var identity: ScaleIdentity?
    /// Whether its session has been reported.
    var isOpen = false
    /// The last message of the scale.
    var last: FamilyMessage?
    var logIn: LogInDialogue?
    var request: Request?
    var searchAt: Duration?
    var unansweredSearches = 0
    /// When the next round through the memory begins.
    var roundAt: Duration?
    /// When a weighing in progress must have continued.
    var weighingBy: Duration?
    var confirmations: [(at: Duration, command: HS5Command)] = []

    var users: [UInt32?] = []
    /// Users whose memory has not been read in this round.
    var round: [User] = []
    var transfer: Transfer?
    /// The stable weight of a weighing whose composition may follow.
    var stable: Weight?
    /// The weight that was delivered alone, until someone steps on again; its composition may still follow.
    var shown: Weight?
    var asked: ScaleCommand?

    var deliveries = PendingDeliveries<[UInt8], Origin>()

    /// Tenths of a kilogram.
    static let capacity = 1500

    public init(settings: Settings = Settings()) { self.settings = settings }

    public var deviceID: String? { isOpen ? scale?.description : nil }
    public var isMeasuring: Bool { phase == .measuring || phase == .idle }

    public var deadline: Duration? {
        ([request?.repeatAt, searchAt, phase == .idle || phase == .measuring ? roundAt : nil, weighingBy]
            .compactMap(\.self) + confirmations.map(\.at)).min()
    }

    public mutating func handle(_ input: ScaleInput, at now: ScaleMoment) -> [ScaleAction] {
        var actions: [ScaleAction] = []
        switch input {
        case .linkOpened:
            if phase != .offline { closeLink(at: now, &actions) }
            phase = .searching
            search(at: now, &actions)
        case .received(let datagram) where phase != .offline && phase != .closing:
            receive(datagram, at: now, &actions)
        case .received: break
        case .caller, .greeted, .contested: break  // The peer's own bytes identify it.
        case .kept(let token): resolve(token, isKept: true, at: now, &actions)
        case .notKept(let token): resolve(token, isKept: false, at: now, &actions)
        case .tick: if phase != .offline { tick(at: now, &actions) }
        case .stop:
            if phase != .offline, phase != .closing {
                endWeighing(at: now, &actions)
                phase = .closing
                actions.append(.close)
            }
        case .linkClosed: closeLink(at: now, &actions)
        case .command(let command, _): ask(command, at: now, &actions)
        case .withdraw: withdraw(&actions)
        case .heights: break  // The scale has the heights of its users.
        }
        return actions
    }

    private mutating func closeLink(at now: ScaleMoment, _ actions: inout [ScaleAction]) {
        guard phase != .offline else { return }
        lose(at: now, isError: phase != .closing, &actions)
        (phase, searchAt) = (.offline, nil)
    }

    /// Handles the loss of the scale; it is searched for again while the link is open.
    mutating func lose(at now: ScaleMoment, isError: Bool, _ actions: inout [ScaleAction]) {
        let wasThere = isOpen
        // A weight that was shown as stable is a weighing, even without the rest of it.
        endWeighing(at: now, &actions)
        if asked != nil { actions.append(.event(.userResult(false))) }
        (request, logIn, transfer, asked, roundAt, weighingBy) = (nil, nil, nil, nil, nil, nil)
        (scale, identity, isOpen) = (nil, nil, false)
        (last, counter, unansweredSearches) = (nil, 1, 0)
        (round, users, confirmations) = ([], [], [])
        deliveries.endConnection()
        if wasThere {
            if isError { actions.append(.event(.deviceError(.disconnected(.hs5)))) }
            actions.append(.event(.disconnected))
        }
        if phase != .offline, phase != .closing { phase = .searching }
    }

    // MARK: Time

    private mutating func tick(at now: ScaleMoment, _ actions: inout [ScaleAction]) {
        while let due = confirmations.firstIndex(where: { now.uptime >= $0.at }) {
            let command = confirmations.remove(at: due).command
            tell(.confirm(command), &actions)
            if command == .end { finishMeasurement(at: now, &actions) }
        }
        if let due = searchAt, now.uptime >= due { search(at: now, &actions) }
        if var pending = request, now.uptime >= pending.repeatAt {
            if pending.repeatsLeft > 0 {
                pending.repeatsLeft -= 1
                pending.repeatAt = now.uptime + settings.repeatAfter
                request = pending
                actions.append(.send(pending.bytes))
            } else {
                giveUp(at: now, &actions)
            }
        }
        if let due = weighingBy, now.uptime >= due {
            // This comes before the error, which ends a weighing.
            endWeighing(at: now, &actions)
            actions.append(.event(.deviceError(.noAnswer(.hs5))))
            weighingBy = nil
            if phase == .measuring { beginRound(at: now, &actions) }
        }
        if let due = roundAt, now.uptime >= due, phase == .idle || phase == .measuring, weighingBy == nil {
            beginRound(at: now, &actions)
        }
    }

    private mutating func search(at now: ScaleMoment, _ actions: inout [ScaleAction]) {
        searchAt = now.uptime + settings.searchEvery
        if scale != nil {
            unansweredSearches += 1
            if unansweredSearches > settings.searches { lose(at: now, isError: true, &actions) }
        }
        actions.append(.search(HS5Datagram.search))
    }

    private mutating func giveUp(at now: ScaleMoment, _ actions: inout [ScaleAction]) {
        request = nil
        if phase == .openingMemory || phase == .summing { actions.append(.event(.memoryStart(false))) }
        actions.append(.event(.deviceError(.noAnswer(.hs5))))
        lose(at: now, isError: true, &actions)
    }

    // MARK: Sending

    /// Sends a request and repeats it until it is answered.
    mutating func send(_ message: HS5HostMessage, at now: ScaleMoment, _ actions: inout [ScaleAction]) {
        guard let bytes = bytes(of: message) else { return }
        request = Request(
            bytes: bytes, reply: counter &- 1, repeatAt: now.uptime + settings.repeatAfter,
            repeatsLeft: settings.repeats)
        actions.append(.send(bytes))
    }

    /// Sends a message that has no answer.
    mutating func tell(_ message: HS5HostMessage, _ actions: inout [ScaleAction]) {
        if let bytes = bytes(of: message) { actions.append(.send(bytes)) }
    }

    private mutating func bytes(of message: HS5HostMessage) -> [UInt8]? {
        guard let content = message.content else { return nil }
        // A command increases the counter by two, an answer by one.
        defer { counter &+= content.isAnswer ? 1 : 2 }
        return HS5Datagram.bytes(
            from: .host, content.command, content.data, sequence: counter, isAnswer: content.isAnswer,
            sender: settings.id)
    }
}
