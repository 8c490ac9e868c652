public import ScaleProtocols

/// A stand-in for a HS5 on the network.
///
/// If the behaviour of a real one is unknown, this device does the most difficult thing for the host. It forgets records as soon as the host
/// asks for more or ends the connection, and stores an unconfirmed weighing in the memory of its user. A host that starts again has done
/// neither, so the records in transit stay in the memory.
public struct HS5Device: DeviceStandIn {
    /// The properties that may differ between scales.
    public struct Profile: Sendable, Hashable {
        public var id = HS5SenderID(checked: [2, 0, 0, 0, 0x50, 1])
        /// The key for its log-in; `nil` to accept every program.
        public var key: ScaleKey?
        public var identity = ScaleIdentity(
            protocolName: "com.jiuan.BFSV01", name: "iHealth HS5", firmware: "1.0.2", hardware: "1.0.0",
            manufacturer: "iHealth", model: "HS5 11070")
        public var skewSeconds = 0
        public var memoryLimit = 200
        /// The number of records in one packet, at most 15.
        public var packetRecords = 15
        /// The delay after which it repeats an unconfirmed message of a weighing, and the number of repetitions.
        public var repeatAfter = Duration.milliseconds(700)
        public var repeats = 8

        public init() {}
    }

    public let profile: Profile
    public var faults: StandInFaults
    /// The users by position.
    public internal(set) var users: [UInt32?]
    /// The weighings of each user made while no host was near, oldest first.
    public internal(set) var memory: [UInt32: [HS5Record]]

    public static let kind = StandInKind.hs5

    var now = ScaleMoment.start
    var actions: [StandInAction] = []
    var clockOffset: Int
    var isLinked = false
    var isLoggedIn = false
    var sequence: UInt8 = 0
    /// The last request and its answer: a repetition gets the same answer.
    var last: (request: FamilyMessage, reply: [[UInt8]])?
    var mode = Mode.idle
    /// Records in transit to the host, still in the memory.
    var sent: [HS5Record] = []
    var weighing: Weighing?
    /// The messages sent since the last request.
    var said: [[UInt8]] = []
    var (heard, packets, datagrams) = (0, 0, 0)

    enum Mode: Equatable {
        case idle
        case memory(UInt32)
        case measuring(UInt32)
    }

    /// A weighing that is sent to the host step by step; each step is repeated until it is confirmed.
    struct Weighing: Sendable {
        var record: HS5Record
        var user: UInt32
        var steps: [(command: FamilyCommand, data: [UInt8])]
        var bytes: [UInt8] = []
        var repeatAt = Duration.zero
        var repeatsLeft = 0
    }

    /// Creates a scale with these users and memories; records beyond the limit are dropped from the front.
    public init(
        profile: Profile = Profile(), users: [HS5Position: UInt32] = [:], memory: [UInt32: [HS5Record]] = [:],
        faults: StandInFaults = StandInFaults()
    ) {
        (self.profile, self.faults, clockOffset) = (profile, faults, profile.skewSeconds)
        self.users = (0..<HS5Position.count).map { place in HS5Position(place).flatMap { users[$0] } }
        self.memory = memory.mapValues { $0.suffix(max(0, profile.memoryLimit)) }
    }

    /// Whether a measurement is open and no person is on the scale.
    public var isMeasuring: Bool {
        if case .measuring = mode { isLinked && weighing == nil } else { false }
    }
    public var isIdle: Bool { weighing == nil }

    public var deadline: Duration? { isLinked ? weighing?.repeatAt : nil }

    // MARK: The link

    mutating func open() {
        unlink()
        isLinked = true
    }

    mutating func unlink() {
        guard isLinked else { return }
        breakOff()
        (isLinked, isLoggedIn, mode, sent, last, sequence) = (false, false, .idle, [], nil, 0)
    }

    /// Stores an unconfirmed weighing for its user.
    mutating func breakOff() {
        guard let open = weighing else { return }
        (weighing, mode) = (nil, .idle)
        keep(open.record, of: open.user)
    }

    mutating func keep(_ record: HS5Record, of user: UInt32) {
        memory[user, default: []].append(record)
        if let count = memory[user]?.count, count > profile.memoryLimit { memory[user]?.removeFirst() }
        report(.stored(record.key))
    }

    // MARK: Receiving

    mutating func receive(_ bytes: [UInt8]) {
        guard let datagram = HS5Datagram(bytes), datagram.message.origin == .host else { return }
        heard += 1
        if isDue(faults.deafEvery, heard) { return report(.fault("did not hear datagram \(heard)")) }
        let message = HS5HostMessage(datagram.message)
        if message == .search {
            if faults.busy > 0 {
                faults.busy -= 1
                say(.busy, Array(repeating: 0x2E, count: 16))
            }
            isLoggedIn = isLoggedIn || profile.key == nil
            return say(.identity, profile.identity.bytes)
        }
        if let last, last.request == datagram.message {
            for reply in last.reply { transmit(reply) }
            return
        }
        sequence = datagram.message.sequence
        said = []
        obey(message)
        // If it has lost power meanwhile, it remembers nothing.
        if isLinked { last = (datagram.message, said) }
    }

    mutating func obey(_ message: HS5HostMessage) {
        switch message {
        case .logInNonce where !faults.ignoresLogIn: say(.logInChallenge, HS5Device.challenge)
        case .logInAnswer(let answer):
            isLoggedIn = accepts(answer, to: HS5Device.challenge, key: profile.key)
            say(isLoggedIn ? .logInAccepted : .logInRefused, [])
        case .confirm(let command): confirmed(command)
        case _ where !isLoggedIn: break
        case .logInNonce: break
        case .users(let time):
            report(.sessionOpened)
            setClock(time)
            sent = []
            if mode != .idle, weighing == nil { mode = .idle }
            say(.users, HS5ScaleMessage.listData(users))
        case .createUser(let place, let user):
            let isDone = !faults.refusesUsers && users[Int(place.index)] == nil && !users.contains(user.serial)
            if isDone { users[Int(place.index)] = user.serial }
            say(.createUser, [isDone ? 1 : 0])
        case .modifyUser(let place, let user):
            say(.modifyUser, [!faults.refusesUsers && users[Int(place.index)] == user.serial ? 1 : 0])
        case .deleteUser(let place, let serial):
            let isDone = !faults.refusesUsers && users[Int(place.index)] == serial
            if isDone { (users[Int(place.index)], memory[serial]) = (nil, nil) }
            say(.deleteUser, [isDone ? 1 : 0])
        case .openMemory(let place, let serial, let time):
            setClock(time)
            sent = []
            let isThere = users[Int(place.index)] == serial
            mode = isThere ? .memory(serial) : .idle
            say(.openMemory, [isThere ? 2 : 1])
        case .memorySummary:
            guard case .memory(let user) = mode else { break }
            let count = memory[user]?.count ?? 0
            report(.transferStarted(count))
            say(.memorySummary, [0, UInt8(truncatingIfNeeded: min(count, 255))])
        case .memoryPacket: sendPacket()
        case .end:
            forgetSent()
            mode = .idle
            report(.transferFinished)
            say(.end, [])
        case .measure(let place, let serial):
            let isThere = users[Int(place.index)] == serial && !faults.refusesMeasurement
            mode = isThere ? .measuring(serial) : .idle
            say(.measure, [], isAnswer: isThere)
        case .cloudHost: say(.cloudHost, [1])
        case .cloudPath: say(.cloudPath, [1])
        case .search, .unknown: break
        }
    }

    mutating func sendPacket() {
        guard case .memory(let user) = mode else { return }
        forgetSent()
        let records = memory[user] ?? []
        sent = Array(records.prefix(min(15, max(1, profile.packetRecords))))
        packets += 1
        if let limit = faults.powerOffAfterPackets, packets > limit {
            faults.powerOffAfterPackets = nil
            report(.fault("power off in the middle of the memory"))
            return restart()
        }
        let more: UInt8 = records.count > sent.count ? 1 : 0
        say(.memoryRecords, [0, 0, UInt8(sent.count), more] + sent.flatMap(\.bytes))
    }

    /// Forgets the sent records, because the host has asked for more or is done and certainly has them.
    mutating func forgetSent() {
        guard case .memory(let user) = mode else { return sent = [] }
        for record in sent {
            memory[user]?.removeAll { $0 == record }
            report(.acknowledged(record.key))
        }
        sent = []
    }

    private static let challenge = (0..<48).map { UInt8($0 * 3 + 7) }
}
