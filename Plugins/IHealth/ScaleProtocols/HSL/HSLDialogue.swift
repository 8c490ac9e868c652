/// HSL/1 as a dialogue like those of the scales' own protocols, for all scales of a model behind the link, or for one.
///
/// If a device id is given, only that scale is served. Others behind the link are not acknowledged, so a bridge keeps their data.
public struct HSLDialogue: ScaleDialogue {
    /// Serves the link; ``HSLSession/settings`` may be changed at any time.
    public var session: HSLSession
    /// The scale of the last ``ScaleAction/of(_:)``.
    private var told: HSLDeviceID?

    /// - Parameter deviceId: twelve hex digits; anything else, and `nil`, selects every scale of the model.
    public init(settings: HSLSession.Settings, deviceId: String? = nil, seed: [UInt8] = HSLSession.freshSeed()) {
        session = HSLSession(settings: settings, seed: seed)
        session.only = deviceId.flatMap { HSLDeviceID(settings.model, $0) }
    }

    /// The handshakes of a listening link: a program that dials greets and proves itself there before it gets the session.
    ///
    /// - Parameter seed: a new one each time: with the nonces of an earlier link, an overheard proof would be valid again.
    public func handshakes(seed: [UInt8] = HSLSession.freshSeed()) -> HSLHandshakes {
        HSLHandshakes(settings: session.settings, seed: seed)
    }

    public var deadline: Duration? { session.deadline }

    private var present: [HSLDeviceID] {
        session.scales.values.filter(\.isHere).map(\.info.id).sorted { "\($0)" < "\($1)" }
    }

    public var deviceID: String? { present.first?.deviceId }

    public var isMeasuring: Bool { !present.isEmpty && present.allSatisfy { session.isMeasuring($0) } }

    /// The addressed scale; `nil` without a name if there are several.
    private func scale(_ id: String?) -> HSLDeviceID? {
        if let id { return HSLDeviceID(session.settings.model, id) }
        return session.only ?? (present.count == 1 ? present[0] : nil)
    }

    public mutating func handle(_ input: ScaleInput, at now: ScaleMoment) -> [ScaleAction] {
        let forwarded: HSLSession.Input
        switch input {
        case .linkOpened: forwarded = .linkOpened
        case .caller(let address): forwarded = .caller(address)
        case .greeted(let greeting): forwarded = .greeted(greeting)
        case .contested: forwarded = .contested
        case .received(let bytes): forwarded = .received(bytes)
        case .kept(let token): forwarded = .kept(token)
        case .notKept(let token): forwarded = .notKept(token)
        case .tick: forwarded = .tick
        case .stop: forwarded = .stop
        case .linkClosed: forwarded = .linkClosed
        case .command(.display(let unit), nil): forwarded = .display(unit)
        case .command(.measure(let serial), let id) where scale(id) == nil:
            session.settings.measures = serial
            return []
        case .command(let command, let id):
            guard let device = scale(id) else { return [.event(command.refusal)] }
            forwarded = .command(command, device)
        case .withdraw(let id):
            guard let device = scale(id) else { return [] }
            forwarded = .withdraw(device)
        case .heights(let anyone, let bySerial, let id):
            session.settings.user.height = anyone
            if let device = scale(id) { session.scales[device]?.heights = bySerial }
            return []
        }
        let done = session.handle(forwarded, at: now)
        return done.flatMap { action -> [ScaleAction] in
            switch action {
            case .send(let bytes): [.send(bytes)]
            case .deliver(let delivery, let device): turn(to: device) + [.deliver(delivery)]
            case .event(let event, let device): turn(to: device) + [.event(event)]
            case .close: [.close]
            }
        }
    }

    private mutating func turn(to device: HSLDeviceID?) -> [ScaleAction] {
        guard let device, device != told else { return [] }
        told = device
        return [.of(device.deviceId)]
    }
}
