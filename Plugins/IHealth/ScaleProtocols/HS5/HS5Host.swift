/// The host's side of the dialogue with one HS5 over UDP: search, log-in, users, memory, measurements.
///
/// ```
/// D0* → F0 → (log-in) → 31 → (33 → 41 → 42* → 39) for each user → 32 → 35* → 36 → 37* → 38 → 39 → 31 → …
/// ```
/// Every request has an answer, and the answer is its only acknowledgement. The request after a packet of the memory is sent only when the
/// packet's records are stored, and a user's memory is closed only when the last records are.
public struct HS5Host: ScaleHost {
    /// Settings that may differ between scales, and the host's time limits.
    ///
    /// The defaults are for a real scale; there is no published capture of one.
    public struct Settings: Sendable, Hashable {
        /// The host's id.
        public var id = HS5SenderID(checked: [2, 0, 0, 0, 0, 1])
        /// The scale to talk to; `nil` for the first one that answers.
        public var scale: HS5SenderID?
        /// The destination of the scale's own uploads.
        public struct Cloud: Sendable, Hashable {
            /// At most 48 bytes.
            public var host: String
            /// At most 64 bytes.
            public var path: String

            public init(host: String, path: String) { (self.host, self.path) = (host, path) }
        }

        /// Written into the scale after the log-in; `nil` leaves the stored value.
        public var cloud: Cloud?
        /// The key for the scale's log-in; `nil` skips the log-in, which only a simulated scale accepts.
        public var key: ScaleKey?
        /// 16 random bytes that this installation chooses.
        public var nonce: [UInt8] = Array(repeating: 0, count: 16)
        /// The user whose measurement is open; `nil` for none, and weighings come from the memory.
        public var measures: UInt32?
        /// Maps error bytes to the vendor's numbers.
        public var errors = ScaleError.defaultTable(of: .hs5)
        /// The interval of searches, which also detect whether the scale is still reachable.
        public var searchEvery = Duration.seconds(5)
        /// The number of consecutive unanswered searches after which the scale counts as gone.
        public var searches = 6
        /// The delay from a request to its repetition.
        public var repeatAfter = Duration.milliseconds(500)
        /// The number of repetitions of a request.
        public var repeats = 6
        /// The delay from a message of a measurement to its confirmation.
        public var confirmAfter = Duration.milliseconds(200)
        /// How long the scale may be silent between the messages of one weighing.
        public var weighingTimeout = Duration.seconds(4)
        /// The interval for reading the memory.
        public var memoryEvery = Duration.seconds(60)
        /// The pause for a busy scale.
        public var busyPause = Duration.seconds(5)

        public init() {}
    }

    enum Phase: HostPhase {
        case offline
        /// No scale has answered.
        case searching
        case loggingIn
        /// `59`, then `5A` is sent.
        case settingCloudHost, settingCloudPath
        /// No request is open.
        case idle
        /// `31` is sent.
        case listing
        /// `33` is sent, for the user at this place of the round.
        case openingMemory
        /// `41` is sent.
        case summing
        /// `42` is sent, or its records wait to be stored.
        case transferring
        /// `39` is sent: this user's memory has been read.
        case endingMemory
        /// `32` is sent.
        case openingMeasurement
        /// Weights arrive when a person steps on.
        case measuring
        /// A change to the users is sent.
        case changingUsers
        case closing
    }

    struct User: Sendable, Hashable {
        var position: HS5Position
        var serial: UInt32
    }

    /// A stable weight and its message.
    typealias ShownWeight = (reading: ScaleReading, message: FamilyMessage)

    /// The messages of a delivery.
    enum Origin: Sendable {
        /// A packet of the memory, and whether more follow.
        case packet(more: Bool)
        /// A measurement, and the command to confirm once it is stored.
        case measurement(confirms: FamilyCommand?)
    }

    static let model = ScaleModel.hs5

    public var settings: Settings
    var phase = Phase.offline
    var now = ScaleMoment.start
    var actions: [ScaleAction] = []
    var deliveries = Deliveries()
    var request: HostRequest?
    var transfer: MemoryTransfer?
    var counter: UInt8 = 1
    /// The scale that answered.
    var scale: HS5SenderID?
    var identity: ScaleIdentity?
    /// Whether its session has been reported.
    var isOpen = false
    /// The last message of the scale.
    var last: FamilyMessage?
    var logIn: LogInDialogue?
    var searchAt: Duration?
    var unansweredSearches = 0
    /// When the next round through the memory begins.
    var roundAt: Duration?
    /// When a weighing in progress must have continued.
    var weighingBy: Duration?
    var confirmations: [(at: Duration, command: FamilyCommand)] = []

    var users: [UInt32?] = []
    /// Users whose memory has not been read in this round.
    var round: [User] = []
    /// The stable weight of a weighing whose composition may follow.
    var stable: ShownWeight?
    /// The weight that was delivered alone, until someone steps on again; its composition may still follow.
    var shown: ShownWeight?
    var asked: ScaleCommand?

    public init(settings: Settings = Settings()) { self.settings = settings }

    public var deviceID: String? { isOpen ? scale?.description : nil }
    public var isMeasuring: Bool { phase == .measuring || phase == .idle }

    public var deadline: Duration? {
        ([request?.repeatAt, searchAt, phase == .idle || phase == .measuring ? roundAt : nil, weighingBy]
            .compactMap(\.self) + confirmations.map(\.at)).min()
    }

    // MARK: The link

    mutating func open() {
        phase = .searching
        search()
    }

    mutating func endSession(isError: Bool) {
        lose(isError: isError)
        searchAt = nil
    }

    mutating func close() {
        endWeighing()
        phase = .closing
        actions.append(.close)
    }

    /// Handles the loss of the scale; it is searched for again while the link is open.
    mutating func lose(isError: Bool) {
        let wasThere = isOpen
        // A weight that was shown as stable is a weighing, even without the rest of it.
        endWeighing()
        if asked != nil { report(.userResult(false)) }
        (request, logIn, transfer, asked, roundAt, weighingBy) = (nil, nil, nil, nil, nil, nil)
        (scale, identity, isOpen) = (nil, nil, false)
        (last, counter, unansweredSearches) = (nil, 1, 0)
        (round, users, confirmations) = ([], [], [])
        deliveries.endConnection()
        if wasThere { reportEnd(isError: isError) }
        if isLinked { phase = .searching }
    }

    // MARK: Time

    mutating func tick() {
        while let due = confirmations.firstIndex(where: { now.uptime >= $0.at }) {
            let command = confirmations.remove(at: due).command
            tell(.confirm(command))
            if command == .end, phase == .measuring { beginRound() }
        }
        if let due = searchAt, now.uptime >= due { search() }
        if !resend(after: settings.repeatAfter) { giveUp() }
        if let due = weighingBy, now.uptime >= due {
            // This comes before the error, which ends a weighing.
            endWeighing()
            report(.noAnswer(Self.model))
            weighingBy = nil
            if phase == .measuring { beginRound() }
        }
        if let due = roundAt, now.uptime >= due, phase == .idle || phase == .measuring, weighingBy == nil {
            beginRound()
        }
    }

    private mutating func search() {
        searchAt = now.uptime + settings.searchEvery
        if scale != nil {
            unansweredSearches += 1
            if unansweredSearches > settings.searches { lose(isError: true) }
        }
        actions.append(.search(HS5Datagram.search))
    }

    private mutating func giveUp() {
        request = nil
        if phase == .openingMemory || phase == .summing { report(.memoryStart(false)) }
        report(.noAnswer(Self.model))
        lose(isError: true)
    }

    // MARK: Sending

    /// Sends a request and repeats it until it is answered.
    mutating func send(_ message: HS5HostMessage) {
        guard let bytes = bytes(of: message) else { return }
        actions.append(.send(bytes))
        request = HostRequest(
            command: bytes[5], sequence: counter &- 1, frames: [bytes], repeatAt: now.uptime + settings.repeatAfter,
            repeatsLeft: settings.repeats)
    }

    /// Sends a message that has no answer.
    mutating func tell(_ message: HS5HostMessage) {
        if let bytes = bytes(of: message) { actions.append(.send(bytes)) }
    }

    private mutating func bytes(of message: HS5HostMessage) -> [UInt8]? {
        guard let (command, data, isAnswer) = message.content else { return nil }
        // A command increases the counter by two, an answer by one.
        defer { counter &+= isAnswer ? 1 : 2 }
        return HS5Datagram.bytes(
            from: .host, command, data, sequence: counter, isAnswer: isAnswer, sender: settings.id)
    }
}
