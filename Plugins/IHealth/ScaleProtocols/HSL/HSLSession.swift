import JSON
import Platform

/// The connector's side of HSL/1 for everything behind one link, as a value: inputs go in, actions come out.
///
/// It serves all scales of a model, or one; it does not acknowledge the data of others behind the link, so a bridge keeps that data. It has no
/// sockets, clock or randomness. Keep it across connections: it remembers the stored records. A durable event is acknowledged only after
/// ``ScaleInput/kept(_:)``.
public struct HSLSession: ScaleDialogue {
    /// They may be changed at any time.
    public var settings: Settings

    /// The time of the present input.
    var now = ScaleMoment.start
    /// The actions that result from the present input.
    var actions: [ScaleAction] = []
    /// The scale of the last ``ScaleAction/of(_:)``.
    private var current: HSLDeviceID?

    var phase = Phase.offline
    /// The family whose error numbers the other side uses.
    var family = HSLFamily.ios
    var scales: [HSLDeviceID: Scale] = [:]
    var lines = HSLLines()
    var nextRequest = 1
    var listing: (id: Int, by: Duration)?

    /// By device and name; it allows more unanswered deliveries than any memory has records.
    var deliveries = PendingDeliveries<String, Origin>(limit: 256)
    /// Device and rid of events that must not be acknowledged in this session.
    var withheld: Set<String> = []
    /// The number of weights without id, time and number.
    var eventsWithoutNumber = 0
    /// When to reconnect, because a record could not be stored.
    var reconnectAt: Duration?

    /// Whether this is only a greeting in an ``HSLHandshakes``: a guest that has proved itself waits there for its welcome.
    var isGuest = false
    var isProven = false

    /// The only scale to serve; `nil` for all of the model.
    ///
    /// Others behind the link are reported once.
    var only: HSLDeviceID?
    var others: Set<HSLDeviceID> = []

    let seed: [UInt8]
    var connections = 0
    var nonce: [UInt8] = []
    var peer: HSLHello?
    var helloBy: Duration?
    var pingAt: Duration?
    var pongBy: Duration?
    var pings = 0
    /// The machine at the other end, if it has an address.
    var caller: String?
    var refusals = FailedProofLimit()
    var complaints = 0
    /// Whether this side closes the link, because the other side violates the protocol.
    var hasFailed = false

    enum Phase: Sendable, Hashable { case offline, greeting, open, closing }

    /// The maximum number of events that could not be stored; then the session reconnects immediately.
    static let withheldLimit = 256
    static let scaleLimit = 16
    /// The number of consecutive invalid lines after which the link is closed.
    static let complaintLimit = 32

    /// - Parameters:
    ///   - deviceId: twelve hex digits; anything else, and `nil`, selects every scale of the model.
    ///   - seed: 32 random bytes, from which nonces are made; each process needs its own.
    public init(settings: Settings, deviceId: String? = nil, seed: [UInt8] = HSLSession.freshSeed()) {
        (self.settings, self.seed) = (settings, seed)
        only = deviceId.flatMap { HSLDeviceID(settings.model, $0) }
    }

    public static func freshSeed() -> [UInt8] { (0..<32).map { _ in UInt8.random(in: 0...255) } }

    /// The handshakes of a listening link: a program that dials greets and proves itself there before it gets the session.
    ///
    /// - Parameter seed: a new one each time: with the nonces of an earlier link, an overheard proof would be valid again.
    public func handshakes(seed: [UInt8] = HSLSession.freshSeed()) -> HSLHandshakes {
        HSLHandshakes(settings: settings, seed: seed)
    }

    public var deadline: Duration? {
        guard phase != .offline, phase != .closing else { return nil }
        let waits = scales.values.flatMap { scale in
            [scale.request?.by, scale.isHere && scale.request == nil ? scale.pauseUntil : nil, dueAt(scale)]
        }
        return ([helloBy, pingAt, pongBy, listing?.by, reconnectAt] + waits).compactMap(\.self).min()
    }

    /// Whether this scale has no old data left to report, so that received weights are current.
    private func isCurrent(_ device: HSLDeviceID) -> Bool {
        guard phase == .open, let scale = scales[device], scale.isHere, scale.backlog.isEmpty,
            !deliveries.current.contains(where: { $0.context.device == device && $0.source == .memory })
        else { return false }
        switch (device.model, scale.request?.operation) {
        case (.hs3, .hs3Init): return scale.request?.isWaiting == true
        case (.hs4, .hs4Measure): return scale.request?.isAdmitted == true && scale.memoryAt == nil
        case (.hs5, .hs5Measure), (.hs5, nil): return scale.hasFreshList && scale.round.isEmpty
        default: return false
        }
    }

    private var present: [HSLDeviceID] { devices.filter { scales[$0]?.isHere == true } }

    var devices: [HSLDeviceID] { scales.keys.sorted { "\($0)" < "\($1)" } }

    public var deviceID: String? { present.first?.deviceId }

    public var isMeasuring: Bool { !present.isEmpty && present.allSatisfy(isCurrent) }

    /// The addressed scale; `nil` without a name if there are several.
    private func scale(_ id: String?) -> HSLDeviceID? {
        if let id { return HSLDeviceID(settings.model, id) }
        return only ?? (present.count == 1 ? present[0] : nil)
    }

    public mutating func handle(_ input: ScaleInput, at now: ScaleMoment) -> [ScaleAction] {
        self.now = now
        defer { actions = [] }
        switch input {
        case .linkOpened:
            closeLink()
            open()
        case .caller(let address): caller = address
        case .greeted(let greeting):
            closeLink()
            takeOver(greeting)
        case .contested: if phase == .open, pongBy == nil { ping() }
        case .received(let bytes):
            // In chunks, so that the held data is bounded whatever the size of the input.
            for start in stride(from: 0, to: bytes.count, by: 4096) where phase == .greeting || phase == .open {
                receive(Array(bytes[start..<min(start + 4096, bytes.count)]))
            }
        case .kept(let token): resolve(token, isKept: true)
        case .notKept(let token): resolve(token, isKept: false)
        case .tick: tick()
        case .stop: stop()
        case .linkClosed: closeLink()
        case .command(.display(let unit), nil): display(unit)
        case .command(let command, let id):
            if let device = scale(id) {
                ask(command, of: device)
            } else if case .measure(let serial) = command {
                settings.measures = serial
            } else {
                report(command.refusal, nil)
            }
        case .withdraw(let id): if let device = scale(id) { withdraw(device) }
        case .heights(let anyone, let bySerial, let id):
            settings.user.height = anyone
            if let device = scale(id) { scales[device]?.heights = bySerial }
        }
        return actions
    }

    // MARK: Reporting

    /// - Parameter device: `nil` if the event concerns the link.
    mutating func report(_ event: ScaleEvent, _ device: HSLDeviceID?) {
        turn(to: device)
        actions.append(.event(event))
    }

    mutating func warn(_ device: HSLDeviceID?, _ text: String) {
        report(.protocolWarning(.other(text)), device)
    }

    mutating func turn(to device: HSLDeviceID?) {
        guard let device, device != current else { return }
        current = device
        actions.append(.of(device.deviceId))
    }

    mutating func send(_ message: HSLMessage) { actions.append(.send(message.bytes)) }

    // MARK: The link

    private mutating func open() {
        connections += 1
        nonce = Array(Digests.authenticate(Array("nonce \(connections)".utf8), key: seed).prefix(16))
        (phase, peer, complaints) = (.greeting, nil, 0)
        helloBy = now.uptime + settings.helloTimeout
        lines.reset()
        send(
            .hello(
                HSLHello(
                    role: .connector, implementation: settings.implementation, version: settings.version,
                    family: .wire, models: [settings.model], nonce: nonce)))
    }

    private mutating func closeLink() {
        guard phase != .offline else { return }
        let isError = phase != .closing || hasFailed
        (phase, hasFailed) = (.offline, false)
        for device in devices { detach(device, isError: isError) }
        deliveries.endConnection()
        (helloBy, pingAt, pongBy, listing, reconnectAt, nextRequest) = (nil, nil, nil, nil, nil, 1)
        withheld = []
    }

    /// Sends the reason and closes the link.
    mutating func close(_ complaint: HSLMessageError?) {
        guard phase != .offline, phase != .closing else { return }
        if let complaint {
            send(.error(complaint))
            warn(nil, "the link is closed: \(complaint.code)")
            hasFailed = true
        }
        phase = .closing
        actions.append(.close)
    }

    private mutating func stop() {
        guard phase == .greeting || phase == .open else { return }
        if phase == .open {
            let request = HSLRequest(id: nextRequest, device: nil, operation: .stopSession, arguments: [:])
            send(.request(request))
        }
        send(.bye(reason: "stopped"))
        phase = .closing
        actions.append(.close)
    }

    private mutating func ping() {
        pings += 1
        send(.ping(pings))
        (pongBy, pingAt) = (now.uptime + settings.pongTimeout, nil)
    }

    private mutating func tick() {
        guard phase != .offline, phase != .closing else { return }
        if let by = helloBy, now.uptime >= by {
            return close(HSLMessageError(.timeout, "no hello, or no proof of the token, in time"))
        }
        if let by = pongBy, now.uptime >= by {
            return close(HSLMessageError(.timeout, "no answer to a ping"))
        }
        if let at = reconnectAt, now.uptime >= at {
            send(.bye(reason: "to repeat unacknowledged messages"))
            return close(nil)
        }
        if let at = pingAt, now.uptime >= at { ping() }
        if let by = listing?.by, now.uptime >= by {
            return close(HSLMessageError(.timeout, "no answer to devices.list", ref: listing?.id))
        }
        for device in devices {
            guard phase == .open else { return }
            timePasses(device)
        }
    }

    // MARK: Lines

    private mutating func receive(_ bytes: [UInt8]) {
        for line in lines.append(bytes) {
            guard phase == .greeting || phase == .open else { return }
            do throws(HSLMessageError) {
                try take(try HSLMessage(line: line))
                complaints = 0
            } catch {
                complain(error)
            }
        }
        if lines.isOverlong {
            close(HSLMessageError(.lineTooLong, "a line has at most \(HSLLines.limit) bytes"))
        }
    }

    private mutating func complain(_ complaint: HSLMessageError) {
        complaints += 1
        let isFatal =
            phase == .greeting && peer == nil || complaint.known == .authFailed || complaints > Self.complaintLimit
        guard !isFatal else { return close(complaint) }
        send(.error(complaint))
        warn(nil, "a line was refused: \(complaint.code), \(complaint.text)")
    }

    private mutating func take(_ message: HSLMessage) throws(HSLMessageError) {
        (pongBy, pingAt) = (nil, phase == .open ? now.uptime + settings.pingAfter : nil)
        switch (message, phase) {
        case (.ping(let mark), _): send(.pong(mark))
        case (.pong, _): break
        case (.bye, _): close(nil)
        case (.error(let complaint), _): complained(complaint)
        case (.hello(let hello), .greeting) where peer == nil: try greet(hello)
        case (.auth(let proof), .greeting) where !isProven: try prove(proof)
        // A device that has a token may prove it even if this side has none.
        case (.auth, .open) where settings.token == nil: break
        case (.event(let event), .open): take(event)
        case (.result(let result), .open): take(result)
        default: throw HSLMessageError(.badMessage, "this message does not belong here")
        }
    }

    private mutating func greet(_ hello: HSLHello) throws(HSLMessageError) {
        guard hello.role == .device else { throw HSLMessageError(.badMessage, "role: both sides are connectors") }
        peer = hello
        if settings.token == nil { admit() }
    }

    private mutating func prove(_ proof: String) throws(HSLMessageError) {
        guard let token = settings.token, let peer else { return }
        guard refusals.isAttemptAllowed(caller, at: now.uptime) else {
            throw HSLMessageError(.authFailed, "five wrong proofs in a minute; wait")
        }
        guard token.accepts(proof, connector: nonce, device: peer.nonce) else {
            refusals.note(caller, at: now.uptime)
            throw HSLMessageError(.authFailed, "the proof is not that of the token")
        }
        admit()
    }

    private mutating func admit() {
        guard isGuest else { return welcome() }
        (isProven, helloBy) = (true, nil)
    }

    /// Continues in this session with the greeting of a guest.
    private mutating func takeOver(_ greeting: HSLGreeting) {
        connections += 1
        (nonce, peer, lines) = (greeting.nonce, greeting.hello, greeting.lines)
        (phase, complaints) = (.greeting, 0)
        welcome()
    }

    private mutating func welcome() {
        if let peer {
            family = peer.family
            if !peer.models.isEmpty, !peer.models.contains(settings.model) {
                warn(nil, "the other side has no \(settings.model.rawValue)")
            }
        }
        (phase, helloBy, pingAt) = (.open, nil, now.uptime + settings.pingAfter)
        let random = Array(Digests.authenticate(Array("session \(connections)".utf8), key: seed).prefix(16)).hexadecimal
        let parts = [(0, 8), (8, 12), (12, 16), (16, 20), (20, 32)].map { (start, end) in
            String(random.dropFirst(start).prefix(end - start))
        }
        let resume = scales.compactMapValues(\.lastAcknowledged)
        send(.welcome(session: parts.joined(separator: "-"), resumeFrom: resume))
        listing = (nextRequest, now.uptime + settings.resultTimeout)
        send(.request(HSLRequest(id: nextRequest, device: nil, operation: .listDevices, arguments: [:])))
        nextRequest += 1
    }
}
