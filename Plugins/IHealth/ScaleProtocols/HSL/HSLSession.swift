import JSON
import Platform

/// The connector's side of HSL/1 for everything behind one link, as a value: inputs go in, actions come out.
///
/// It has no sockets, clock or randomness. Keep it across connections: it remembers the stored records. A durable event is acknowledged only
/// after ``Input/kept(_:)``. ``HSLDialogue`` wraps it in the form of the scales' own protocols.
public struct HSLSession: Sendable {
    public var settings: Settings

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

    /// An input to a session.
    public enum Input: Sendable, Hashable {
        case linkOpened
        /// The address of the machine that opens the next link.
        case caller(String?)
        /// The link is open, and the program at its other end has proved itself.
        case greeted(HSLGreeting)
        /// Another program has proved itself, and would replace this link.
        case contested
        /// Bytes of the stream, split at any position.
        case received([UInt8])
        case kept(ScaleToken)
        /// The device sends them again in the next session.
        case notKept(ScaleToken)
        case tick
        case stop
        case linkClosed
        case command(ScaleCommand, HSLDeviceID)
        /// Withdraws the last command for this scale.
        case withdraw(HSLDeviceID)
        /// HS4: the unit that all scales behind the link display.
        case display(ScaleDisplayUnit)
    }

    /// An action for the driver; perform actions in order.
    public enum Action: Sendable, Hashable {
        /// Write these bytes: one line.
        case send([UInt8])
        case deliver(ScaleDelivery, of: HSLDeviceID)
        /// The device is `nil` if the event concerns the link.
        case event(ScaleEvent, of: HSLDeviceID?)
        /// Close the link, then send ``Input/linkClosed``.
        case close
    }

    /// The maximum number of events that could not be stored; then the session reconnects immediately.
    static let withheldLimit = 256
    static let scaleLimit = 16
    /// The number of consecutive invalid lines after which the link is closed.
    static let complaintLimit = 32

    /// - Parameter seed: 32 random bytes, from which nonces are made; each process needs its own.
    public init(settings: Settings, seed: [UInt8] = HSLSession.freshSeed()) {
        (self.settings, self.seed) = (settings, seed)
    }

    public static func freshSeed() -> [UInt8] { (0..<32).map { _ in UInt8.random(in: 0...255) } }

    /// The uptime at which to call with ``Input/tick``; `nil` if there is no deadline.
    public var deadline: Duration? {
        guard phase != .offline, phase != .closing else { return nil }
        let waits = scales.values.flatMap { scale in
            [scale.request?.by, scale.isHere && scale.request == nil ? scale.pauseUntil : nil, dueAt(scale)]
        }
        return ([helloBy, pingAt, pongBy, listing?.by, reconnectAt] + waits).compactMap(\.self).min()
    }

    /// Whether this scale has no old data left to report, so that received weights are current.
    public func isMeasuring(_ device: HSLDeviceID) -> Bool {
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

    public mutating func handle(_ input: Input, at now: ScaleMoment) -> [Action] {
        var actions: [Action] = []
        switch input {
        case .linkOpened:
            closeLink(&actions)
            open(at: now, &actions)
        case .caller(let address): caller = address
        case .greeted(let greeting):
            closeLink(&actions)
            takeOver(greeting, at: now, &actions)
        case .contested: if phase == .open, pongBy == nil { ping(at: now, &actions) }
        case .received(let bytes):
            // In chunks, so that the held data is bounded whatever the size of the input.
            for start in stride(from: 0, to: bytes.count, by: 4096) where phase == .greeting || phase == .open {
                receive(Array(bytes[start..<min(start + 4096, bytes.count)]), at: now, &actions)
            }
        case .kept(let token): resolve(token, isKept: true, at: now, &actions)
        case .notKept(let token): resolve(token, isKept: false, at: now, &actions)
        case .tick: tick(at: now, &actions)
        case .stop: stop(&actions)
        case .linkClosed: closeLink(&actions)
        case .command(let command, let device): ask(command, of: device, at: now, &actions)
        case .withdraw(let device): withdraw(device, &actions)
        case .display(let unit): display(unit, at: now, &actions)
        }
        return actions
    }

    // MARK: The link

    private mutating func open(at now: ScaleMoment, _ actions: inout [Action]) {
        connections += 1
        nonce = Array(Digests.authenticate(Array("nonce \(connections)".utf8), key: seed).prefix(16))
        (phase, peer, complaints) = (.greeting, nil, 0)
        helloBy = now.uptime + settings.helloTimeout
        lines.reset()
        send(
            .hello(
                HSLHello(
                    role: .connector, implementation: settings.implementation, version: settings.version,
                    family: .wire, models: [settings.model], nonce: nonce)), at: now, &actions)
    }

    private mutating func closeLink(_ actions: inout [Action]) {
        guard phase != .offline else { return }
        let isError = phase != .closing || hasFailed
        (phase, hasFailed) = (.offline, false)
        for device in scales.keys.sorted(by: { "\($0)" < "\($1)" }) { detach(device, isError: isError, &actions) }
        deliveries.endConnection()
        (helloBy, pingAt, pongBy, listing, reconnectAt, nextRequest) = (nil, nil, nil, nil, nil, 1)
        withheld = []
    }

    /// Sends the reason and closes the link.
    mutating func close(_ complaint: HSLMessageError?, at now: ScaleMoment, _ actions: inout [Action]) {
        guard phase != .offline, phase != .closing else { return }
        if let complaint {
            send(.error(complaint), at: now, &actions)
            warn(nil, "the link is closed: \(complaint.code)", &actions)
            hasFailed = true
        }
        phase = .closing
        actions.append(.close)
    }

    private mutating func stop(_ actions: inout [Action]) {
        guard phase == .greeting || phase == .open else { return }
        if phase == .open {
            let request = HSLRequest(id: nextRequest, device: nil, operation: .stopSession, arguments: [:])
            actions.append(.send(HSLMessage.request(request).bytes))
        }
        actions.append(.send(HSLMessage.bye(reason: "stopped").bytes))
        phase = .closing
        actions.append(.close)
    }

    private mutating func ping(at now: ScaleMoment, _ actions: inout [Action]) {
        pings += 1
        send(.ping(pings), at: now, &actions)
        (pongBy, pingAt) = (now.uptime + settings.pongTimeout, nil)
    }

    private mutating func tick(at now: ScaleMoment, _ actions: inout [Action]) {
        guard phase != .offline, phase != .closing else { return }
        if let by = helloBy, now.uptime >= by {
            return close(HSLMessageError(.timeout, "no hello, or no proof of the token, in time"), at: now, &actions)
        }
        if let by = pongBy, now.uptime >= by {
            return close(HSLMessageError(.timeout, "no answer to a ping"), at: now, &actions)
        }
        if let at = reconnectAt, now.uptime >= at {
            actions.append(.send(HSLMessage.bye(reason: "to repeat unacknowledged messages").bytes))
            return close(nil, at: now, &actions)
        }
        if let at = pingAt, now.uptime >= at { ping(at: now, &actions) }
        if let by = listing?.by, now.uptime >= by {
            return close(HSLMessageError(.timeout, "no answer to devices.list", ref: listing?.id), at: now, &actions)
        }
        for device in scales.keys.sorted(by: { "\($0)" < "\($1)" }) {
            guard phase == .open else { return }
            timePasses(device, at: now, &actions)
        }
    }
}
