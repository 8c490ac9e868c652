public import ScaleProtocols

/// A stand-in for a HS5 on the network.
///
/// Where nobody knows what a real one does it does what is hardest on the host: records are forgotten as soon as the host asks for more
/// or ends the connection, and a weighing that was not confirmed goes into the memory of its user. A host that begins anew has said
/// neither: what was on its way then is in the memory still.
public struct HS5Device: ScaleStandIn {
    public let profile: Profile
    /// What goes wrong.
    ///
    /// May be changed at any time.
    public var faults: Faults
    /// By position.
    public private(set) var users: [UInt32?]
    /// What each user weighed while no host was near, oldest first.
    public private(set) var memory: [UInt32: [HS5Record]]

    private var clockOffset: Int
    private var isLinked = false
    private var isLoggedIn = false
    private var sequence: UInt8 = 0
    /// The last request and what was answered: a repeat has the same answer.
    private var last: (request: FamilyMessage, reply: [[UInt8]])?
    private var mode = Mode.idle
    /// Records on their way to the host, still in the memory.
    private var sent: [HS5Record] = []
    private var weighing: Weighing?
    /// What it has said since the last request.
    private var said: [[UInt8]] = []
    private var (heard, packets, datagrams) = (0, 0, 0)

    private enum Mode: Equatable {
        case idle
        case memory(UInt32)
        case measuring(UInt32)
    }

    /// A weighing that the host is being told, step by step; each is repeated until it is confirmed.
    private struct Weighing: Sendable {
        var record: HS5Record
        var user: UInt32
        var steps: [(command: HS5Command, data: [UInt8])]
        var bytes: [UInt8] = []
        var repeatAt = Duration.zero
        var repeatsLeft = 0
    }

    /// How a scale may differ.
    public struct Profile: Sendable, Hashable {
        public var id = HS5SenderID(checked: [2, 0, 0, 0, 0x50, 1])
        /// What its log-in wants; nil: it lets everybody in.
        public var key: ScaleKey?
        public var identity = ScaleIdentity(
            protocolName: "com.jiuan.BFSV01", name: "iHealth HS5", firmware: "1.0.2", hardware: "1.0.0",
            manufacturer: "iHealth", model: "HS5 11070")
        public var skewSeconds = 0
        public var memoryLimit = 200
        /// Records of one packet, at most 15.
        public var packetRecords = 15
        /// After how long it repeats an unconfirmed message of a weighing, and how often.
        public var repeatAfter = Duration.milliseconds(700)
        public var repeats = 8

        public init() {}
    }

    /// What can be made to go wrong; *every* counts from 1.
    public struct Faults: Sendable, Hashable {
        /// Every n-th message of the host is lost.
        public var deafEvery: Int?
        /// Every n-th datagram of the scale is lost.
        public var loseEvery: Int?
        /// Every n-th datagram has a wrong checksum.
        public var badChecksumEvery: Int?
        /// Every n-th datagram comes twice.
        public var repeatEvery: Int?
        /// The scale goes away after this many packets of records; once.
        public var powerOffAfterPackets: Int?
        /// It says that it is busy, so many times.
        public var busy = 0
        public var refusesLogIn = false
        public var ignoresLogIn = false
        public var refusesMeasurement = false
        /// People weigh with shoes on.
        public var losesComposition = false
        /// Changes to the users fail.
        public var refusesUsers = false
        /// How long the scale is silent before this message of a weighing.
        public var silence: [HS5Command: Duration] = [:]

        public init() {}
    }

    /// A scale with these users and memories; what exceeds the limit is dropped from the front.
    public init(
        profile: Profile = Profile(), users: [HS5Position: UInt32] = [:], memory: [UInt32: [HS5Record]] = [:],
        faults: Faults = Faults()
    ) {
        (self.profile, self.faults, clockOffset) = (profile, faults, profile.skewSeconds)
        self.users = (0..<HS5Position.count).map { place in HS5Position(place).flatMap { users[$0] } }
        self.memory = memory.mapValues { $0.suffix(max(0, profile.memoryLimit)) }
    }

    /// Whether a measurement is open and nobody is on the scale.
    public var isMeasuring: Bool {
        if case .measuring = mode { isLinked && weighing == nil } else { false }
    }
    /// Whether everything it had to say is confirmed.
    public var isIdle: Bool { weighing == nil }

    public var deadline: Duration? { isLinked ? weighing?.repeatAt : nil }

    public mutating func handle(_ input: StandInInput, at now: ScaleMoment) -> [StandInAction] {
        var actions: [StandInAction] = []
        switch input {
        case .linkOpened:
            unlink(&actions)
            isLinked = true
        case .received(let bytes) where isLinked: receive(bytes, at: now, &actions)
        case .received: break
        case .linkClosed: unlink(&actions)
        case .tick: tick(at: now, &actions)
        case .weigh(let weighing): weigh(weighing, at: now, &actions)
        case .store(let weighing, let time): store(weighing, at: time, &actions)
        case .fail(let raw): say(.error, [raw], &actions)
        case .moveClock(let seconds):
            clockOffset = max(-3_000_000_000, min(3_000_000_000, clockOffset.addingReportingOverflow(seconds).0))
        case .restart: restart(&actions)
        }
        return actions
    }

    private func clock(at now: ScaleMoment) -> WallTime { now.wall.adding(seconds: clockOffset) ?? now.wall }

    private mutating func unlink(_ actions: inout [StandInAction]) {
        guard isLinked else { return }
        breakOff(&actions)
        (isLinked, isLoggedIn, mode, sent, last, sequence) = (false, false, .idle, [], nil, 0)
    }

    private mutating func restart(_ actions: inout [StandInAction]) {
        if isLinked { actions.append(.hangUp) }
        unlink(&actions)
    }

    /// A weighing that was not confirmed is kept for its user.
    private mutating func breakOff(_ actions: inout [StandInAction]) {
        guard let open = weighing else { return }
        (weighing, mode) = (nil, .idle)
        keep(open.record, of: open.user, &actions)
    }

    private mutating func keep(_ record: HS5Record, of user: UInt32, _ actions: inout [StandInAction]) {
        memory[user, default: []].append(record)
        if let count = memory[user]?.count, count > profile.memoryLimit { memory[user]?.removeFirst() }
        actions.append(.event(.stored(record.key)))
    }

    // MARK: Receiving

    private mutating func receive(_ bytes: [UInt8], at now: ScaleMoment, _ actions: inout [StandInAction]) {
        guard let datagram = HS5Datagram(bytes), datagram.message.origin == .host else { return }
        heard += 1
        if isDue(faults.deafEvery, heard) { return actions.append(.event(.fault("did not hear datagram \(heard)"))) }
        let message = HS5HostMessage(datagram.message)
        if message == .search {
            if faults.busy > 0 {
                faults.busy -= 1
                say(.busy, Array(repeating: 0x2E, count: 16), &actions)
            }
            isLoggedIn = isLoggedIn || profile.key == nil
            return say(.identity, profile.identity.bytes, &actions)
        }
        if let last, last.request == datagram.message {
            for reply in last.reply { transmit(reply, &actions) }
            return
        }
        sequence = datagram.message.sequence
        said = []
        obey(message, at: now, &actions)
        // Where it has lost its power meanwhile it remembers nothing.
        if isLinked { last = (datagram.message, said) }
    }

    private mutating func obey(_ message: HS5HostMessage, at now: ScaleMoment, _ actions: inout [StandInAction]) {
        switch message {
        case .logInNonce where !faults.ignoresLogIn: say(.logInChallenge, HS5Device.challenge, &actions)
        case .logInAnswer(let answer):
            let isRight =
                profile.key.map { LogInGuard(key: $0, challenge: HS5Device.challenge).accepts(answer) } ?? true
            isLoggedIn = isRight && !faults.refusesLogIn
            say(isLoggedIn ? .logInAccepted : .logInRefused, [], &actions)
        case .confirm(let command): confirmed(command, at: now, &actions)
        case _ where !isLoggedIn: break
        case .logInNonce: break
        case .users(let time):
            actions.append(.event(.sessionOpened))
            set(time, now, &actions)
            sent = []
            if mode != .idle, weighing == nil { mode = .idle }
            say(.users, HS5ScaleMessage.listData(users), &actions)
        case .createUser(let place, let user):
            let isDone = !faults.refusesUsers && users[Int(place.index)] == nil && !users.contains(user.serial)
            if isDone { users[Int(place.index)] = user.serial }
            say(.createUser, [isDone ? 1 : 0], &actions)
        case .modifyUser(let place, let user):
            say(.modifyUser, [!faults.refusesUsers && users[Int(place.index)] == user.serial ? 1 : 0], &actions)
        case .deleteUser(let place, let serial):
            let isDone = !faults.refusesUsers && users[Int(place.index)] == serial
            if isDone { (users[Int(place.index)], memory[serial]) = (nil, nil) }
            say(.deleteUser, [isDone ? 1 : 0], &actions)
        case .openMemory(let place, let serial, let time):
            set(time, now, &actions)
            sent = []
            let isThere = users[Int(place.index)] == serial
            mode = isThere ? .memory(serial) : .idle
            say(.openMemory, [isThere ? 2 : 1], &actions)
        case .memorySummary:
            guard case .memory(let user) = mode else { break }
            let count = memory[user]?.count ?? 0
            actions.append(.event(.transferStarted(count)))
            say(.memorySummary, [0, UInt8(truncatingIfNeeded: min(count, 255))], &actions)
        case .memoryPacket: sendPacket(&actions)
        case .end:
            forgetSent(&actions)
            mode = .idle
            actions.append(.event(.transferFinished))
            say(.end, [], &actions)
        case .measure(let place, let serial):
            let isThere = users[Int(place.index)] == serial && !faults.refusesMeasurement
            mode = isThere ? .measuring(serial) : .idle
            say(.measure, [], isAnswer: isThere, &actions)
        case .cloudHost: say(.cloudHost, [1], &actions)
        case .cloudPath: say(.cloudPath, [1], &actions)
        case .search, .unknown: break
        }
    }

    private mutating func set(_ time: WallTime, _ now: ScaleMoment, _ actions: inout [StandInAction]) {
        clockOffset = time.secondsSince2000 - now.wall.secondsSince2000
        actions.append(.event(.clockSet(time)))
    }

    private mutating func sendPacket(_ actions: inout [StandInAction]) {
        guard case .memory(let user) = mode else { return }
        forgetSent(&actions)
        let records = memory[user] ?? []
        sent = Array(records.prefix(min(15, max(1, profile.packetRecords))))
        packets += 1
        if let limit = faults.powerOffAfterPackets, packets > limit {
            faults.powerOffAfterPackets = nil
            actions.append(.event(.fault("power off in the middle of the memory")))
            return restart(&actions)
        }
        let more: UInt8 = records.count > sent.count ? 1 : 0
        say(.memoryPacket, [0, 0, UInt8(sent.count), more] + sent.flatMap(\.bytes), &actions)
    }

    /// The host has asked for more, or is done: it has these for certain.
    private mutating func forgetSent(_ actions: inout [StandInAction]) {
        guard case .memory(let user) = mode else { return sent = [] }
        for record in sent {
            memory[user]?.removeAll { $0 == record }
            actions.append(.event(.acknowledged(record.key)))
        }
        sent = []
    }

    private static let challenge = (0..<48).map { UInt8($0 * 3 + 7) }

    // MARK: Weighings

    private mutating func weigh(
        _ person: StandInWeighing, at now: ScaleMoment, _ actions: inout [StandInAction]
    ) {
        guard person.tenthsOfKilogram <= ScaleModel.hs5.capacity else { return say(.error, [0xE1], &actions) }
        let composition = faults.losesComposition ? .none : person.composition ?? .none
        guard person.tenthsOfKilogram > 0,
            let record = HS5Record(
                person.time ?? clock(at: now), tenthsOfKilogram: person.tenthsOfKilogram, composition)
        else { return actions.append(.event(.refused("a HS5 weighs 0.1–150 kg"))) }
        guard isLinked, case .measuring(let user) = mode, person.user ?? user == user, weighing == nil else {
            guard let user = person.user ?? users.compactMap(\.self).first else {
                return actions.append(.event(.refused("a HS5 stores a weighing for one of its users, and has none")))
            }
            return keep(record, of: user, &actions)
        }
        let weight = [UInt8(record.tenthsOfKilogram >> 8), UInt8(truncatingIfNeeded: record.tenthsOfKilogram)]
        say(.unstableWeight, weight, &actions)
        var steps: [(command: HS5Command, data: [UInt8])] = [(.stableWeight, weight)]
        if composition != .none {
            steps += [(.impedanceWeight, weight), (.composition, record.bytes)]
        }
        steps.append((.end, []))
        weighing = Weighing(record: record, user: user, steps: steps)
        step(at: now, &actions)
    }

    private mutating func store(_ person: StandInWeighing, at time: WallTime, _ actions: inout [StandInAction]) {
        guard let user = person.user ?? users.compactMap(\.self).first, users.contains(user),
            let record = HS5Record(time, tenthsOfKilogram: person.tenthsOfKilogram, person.composition ?? .none)
        else {
            return actions.append(.event(.refused("a HS5 stores 0–409.5 kg, 2000–2255, for one of its users")))
        }
        keep(record, of: user, &actions)
    }

    private mutating func step(at now: ScaleMoment, _ actions: inout [StandInAction]) {
        guard var open = weighing, let next = open.steps.first else { return }
        if let silence = faults.silence[next.command] {
            (open.bytes, open.repeatAt) = ([], now.uptime + silence)
            return weighing = open
        }
        say(next.command, next.data, &actions)
        open.bytes = said.last ?? []
        (open.repeatAt, open.repeatsLeft) = (now.uptime + profile.repeatAfter, profile.repeats)
        weighing = open
    }

    private mutating func confirmed(_ command: HS5Command, at now: ScaleMoment, _ actions: inout [StandInAction]) {
        guard var open = weighing, open.steps.first?.command == command else { return }
        open.steps.removeFirst()
        weighing = open
        guard open.steps.isEmpty else { return step(at: now, &actions) }
        (weighing, mode) = (nil, .idle)
        actions.append(.event(.acknowledged(open.record.key)))
    }

    private mutating func tick(at now: ScaleMoment, _ actions: inout [StandInAction]) {
        guard var open = weighing, let next = open.steps.first, now.uptime >= open.repeatAt else { return }
        if open.bytes.isEmpty {
            say(next.command, next.data, &actions)
            open.bytes = said.last ?? []
            open.repeatsLeft = profile.repeats
        } else {
            guard open.repeatsLeft > 0 else { return breakOff(&actions) }
            open.repeatsLeft -= 1
            transmit(open.bytes, &actions)
        }
        open.repeatAt = now.uptime + profile.repeatAfter
        weighing = open
    }

    // MARK: Sending

    private mutating func say(
        _ command: HS5Command, _ data: [UInt8], isAnswer: Bool = false, _ actions: inout [StandInAction]
    ) {
        guard isLinked else { return }
        sequence &+= 1
        guard
            let bytes = HS5Datagram.bytes(
                from: .scale, command.rawValue, data, sequence: sequence, isAnswer: isAnswer, sender: profile.id)
        else { return }
        said.append(bytes)
        transmit(bytes, &actions)
    }

    /// Puts a datagram on the network, where a fault may befall it.
    private mutating func transmit(_ bytes: [UInt8], _ actions: inout [StandInAction]) {
        datagrams += 1
        if isDue(faults.loseEvery, datagrams) {
            return actions.append(.event(.fault("datagram \(datagrams) was lost")))
        }
        var damaged = bytes
        if isDue(faults.badChecksumEvery, datagrams) { damaged[damaged.count - 1] ^= 0x55 }
        actions.append(.send(damaged))
        if isDue(faults.repeatEvery, datagrams) { actions.append(.send(bytes)) }
    }

    private func isDue(_ every: Int?, _ count: Int) -> Bool { every.map { $0 > 0 && count % $0 == 0 } ?? false }
}
