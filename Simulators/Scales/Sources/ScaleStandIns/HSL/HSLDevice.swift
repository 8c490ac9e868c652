import HubWire
import JSON
import Platform
public import ScaleProtocols

/// The device's side of HSL/1 as a value: a stand-in for a bridge with one scale, or several.
///
/// Keep it across connections. Unacknowledged live events are sent again in the next session.
public struct HSLDevice: ScaleStandIn {
    public var profile: Profile
    public var faults: StandInFaults
    /// The scales; inputs are for the first one.
    public internal(set) var scales: [Scale]

    public static let kind = StandInKind.hsl

    /// The time of the present input.
    var now = ScaleMoment.start
    /// The actions that result from the present input.
    var actions: [StandInAction] = []
    var isOpen = false
    var outstanding: [Outstanding] = []
    private var isLinked = false
    private var lines = HSLLines()
    private var connections = 0
    private var nonce: [UInt8] = []
    /// The outgoing messages, with the time at which they are sent.
    private var outbox: [(at: Duration, message: HSLMessage)] = []
    private var (heard, events, sent, records) = (0, 0, 0, 0)

    /// - Parameter scales: at least one.
    public init(scales: [Scale], profile: Profile = Profile(), faults: StandInFaults = StandInFaults()) {
        precondition(!scales.isEmpty, "a device has a scale")
        (self.scales, self.profile, self.faults) = (scales, profile, faults)
    }

    /// Creates a scale with this memory, oldest first; records beyond its limit are dropped from the front.
    public init(
        _ scale: Scale, memory: [Weighing] = [], profile: Profile = Profile(), faults: StandInFaults = StandInFaults()
    ) {
        var scale = scale
        scale.memory = memory.suffix(max(0, scale.memoryLimit))
        self.init(scales: [scale], profile: profile, faults: faults)
    }

    /// Whether the first of the ``scales`` waits for a live weight.
    public var isMeasuring: Bool { scales[0].request?.isMeasuring == true }

    public var isIdle: Bool { outbox.isEmpty && !outstanding.contains { $0.isLive } }

    public var deadline: Duration? { isLinked ? outbox.first?.at : nil }

    public mutating func handle(_ input: StandInInput, at now: ScaleMoment) -> [StandInAction] {
        handle(input, of: 0, at: now)
    }

    /// - Parameter place: the index in ``scales``; ignored for inputs about the link.
    public mutating func handle(_ input: StandInInput, of place: Int, at now: ScaleMoment) -> [StandInAction] {
        self.now = now
        defer { actions = [] }
        switch input {
        case .linkOpened:
            unlink()
            isLinked = true
            connections += 1
            nonce = Array(Digests.authenticate(Array("\(connections)".utf8), key: profile.seed).prefix(16))
            let models = ScaleModel.allCases.filter { model in scales.contains { $0.id.model == model } }
            let hello = HSLHello(
                role: .device, implementation: "hub-scale-sim", version: ProductVersion.current, family: profile.family,
                models: models, nonce: nonce)
            say(.hello(hello))
            if faults.overlongLine {
                faults.overlongLine = false
                report(.fault("a line longer than the protocol allows"))
                actions.append(.send(Array(repeating: 0x20, count: HSLLines.limit + 1)))
            }
        case .received(let bytes) where isLinked:
            for line in lines.append(bytes) where isLinked { hear(line) }
        case .received: break
        case .linkClosed: unlink()
        case .tick: break
        case .weigh(let person): weigh(person, place)
        case .store(let person, let time): store(person, place, at: time)
        case .fail(let raw): fail(raw, place)
        case .moveClock(let seconds):
            scales[place].skewSeconds = scales[place].skewSeconds.moved(by: seconds)
        case .restart: restart()
        }
        leave()
        return written(actions)
    }

    private mutating func unlink() {
        (isLinked, isOpen, outbox) = (false, false, [])
        lines.reset()
        outstanding.removeAll { !$0.isLive }
        for place in scales.indices { (scales[place].request, scales[place].isVerified) = (nil, false) }
    }

    private mutating func restart() {
        if isLinked { actions.append(.hangUp) }
        unlink()
        records = 0
    }

    // MARK: Receiving

    private mutating func hear(_ line: [UInt8]) {
        heard += 1
        if isDue(faults.deafEvery, heard) { return report(.fault("did not hear line \(heard)")) }
        let message: HSLMessage
        do throws(HSLMessageError) { message = try HSLMessage(line: line) } catch {
            return say(.error(error))
        }
        switch message {
        case .hello(let hello):
            guard let token = profile.token else { return }
            let proof = token.proof(connector: hello.nonce, device: nonce)
            say(.auth(proof: faults.wrongProof ? String(proof.reversed()) : proof))
        case .welcome: welcomed()
        case .request(let request): obey(request)
        case .acknowledge where faults.losesAcknowledgements: break
        case .acknowledge(let device, let rid): acknowledged(device, rid)
        case .cancel(let ref): cancelled(ref)
        case .ping(let mark): say(.pong(mark))
        case .bye:
            unlink()
            actions.append(.hangUp)
        case .pong, .error, .auth, .event, .result: break
        }
    }

    private mutating func welcomed() {
        isOpen = true
        report(.sessionOpened)
        for scale in scales {
            let model = scale.id.model.rawValue
            tell(
                .deviceConnected, scale.id,
                [
                    "model": .text(model), "deviceId": .text(scale.id.deviceId),
                    "notification": .text("\(model)ConnectNoti"), "firmware": .text(scale.firmware),
                ])
        }
        for event in outstanding where event.isLive { tell(event, ref: nil) }
    }

    // MARK: Sending

    mutating func report(_ event: StandInEvent) { actions.append(.event(event)) }

    mutating func say(_ message: HSLMessage) {
        guard isLinked else { return }
        var leaves = max(now.uptime, outbox.last?.at ?? now.uptime)
        if case .event = message { leaves += profile.pace }
        outbox.append((leaves, message))
    }

    /// Sends an event with its number.
    mutating func tell(
        _ name: HSLEventName, _ device: HSLDeviceID, _ data: JSONTree, ref: Int? = nil, rid: String? = nil
    ) {
        guard isOpen, let place = scales.firstIndex(where: { $0.id == device }) else { return }
        scales[place].number += 1
        say(
            .event(
                HSLEvent(
                    ref: ref, device: device, name: name.rawValue, data: data, number: scales[place].number, rid: rid)))
    }

    mutating func tell(_ event: Outstanding, ref: Int?) {
        tell(event.name, event.device, data(of: event.weighing, event.name, event.device), ref: ref, rid: event.rid)
    }

    private func data(of weighing: Weighing, _ name: HSLEventName, _ device: HSLDeviceID) -> JSONTree {
        let isDated = name != .stableWeight || profile.datesWeights
        let (isHS5, measured) = (device.model == .hs5, weighing.composition.flatMap { $0 == .none ? nil : $0 })
        let body = isHS5 && name != .stableWeight ? measured : nil
        return JSONTree.members([
            "weight": .tenths(weighing.tenthsOfKilogram),
            "local": isDated ? .text(weighing.time.description) : nil,
            "date": isDated ? profile.utcOffsetMinutes.map { .text(weighing.time.dated($0)) } : nil,
            "serialNumber": isHS5 ? weighing.user.map { JSONTree(Int($0)) } : nil,
            "weightFatValue": body.map { .tenths($0.fat) }, "waterValue": body.map { .tenths($0.water) },
            "muscleValue": body.map { .tenths($0.muscle) }, "skeletonValue": body.map { .tenths($0.bone) },
            "VFatLevelValue": body.map { JSONTree($0.visceralFat) },
            "DCIValue": body.map { JSONTree($0.dailyCalories) },
            "dataID": name == .cloudRecord ? .text("\(weighing.time)") : nil,
        ])
    }

    /// Sends the messages that are due; faults may affect them.
    private mutating func leave() {
        while isLinked, let next = outbox.first, next.at <= now.uptime {
            outbox.removeFirst()
            sent += 1
            if isDue(faults.badLineEvery, sent) {
                actions.append(.send(Array("{\"t\":\n".utf8)))
                report(.fault("a line that is not JSON"))
            }
            actions.append(.send(next.message.bytes))
            guard case .event(let event) = next.message else { continue }
            events += 1
            if isDue(faults.repeatEvery, events) { actions.append(.send(next.message.bytes)) }
            guard event.name == HSLEventName.memoryRecord.rawValue else { continue }
            records += 1
            if let limit = faults.powerOffAfterRecords, records >= limit {
                faults.powerOffAfterRecords = nil
                report(.fault("power off after \(records) records"))
                return restart()
            }
        }
    }
}

extension JSONTree {
    /// Tenths as a decimal number.
    static func tenths(_ number: Int) -> JSONTree { JSONTree(Double(number) / 10) }
}

extension WallTime {
    /// RFC 3339 with an offset.
    func dated(_ minutes: Int) -> String {
        let (sign, size) = (minutes < 0 ? "-" : "+", abs(minutes))
        func two(_ number: Int) -> String { (number < 10 ? "0" : "") + String(number) }
        let local = description.map { $0 == " " ? "T" : String($0) }.joined()
        return "\(local)\(sign)\(two(size / 60)):\(two(size % 60))"
    }
}
