/// HSL/1 with one scale behind the link, as a dialogue like those of the scales' own protocols.
///
/// Without a number the scale is the first of its model that shows itself; it stays that one. Others behind the link are left alone: a
/// bridge keeps what is not acknowledged.
public struct HSLDialogue: ScaleDialogue {
    /// Serves the link; ``HSLSession/settings`` may be changed at any time.
    public var session: HSLSession
    /// The scale; nil before one has shown itself.
    public var device: HSLDeviceID? { session.only }

    /// - Parameter deviceId: twelve hex digits; anything else, and nil, is any scale of the model.
    public init(settings: HSLSession.Settings, deviceId: String? = nil, seed: [UInt8] = HSLSession.freshSeed()) {
        session = HSLSession(settings: settings, seed: seed)
        session.isForOne = true
        session.only = deviceId.flatMap { HSLDeviceID(settings.model, $0) }
    }

    /// For a link that is awaited: where a program that dials greets and proves itself before it gets the session.
    ///
    /// - Parameter seed: another one each time: with the nonces of an earlier link an overheard proof would be good again.
    public func handshakes(seed: [UInt8] = HSLSession.freshSeed()) -> HSLHandshakes {
        HSLHandshakes(settings: session.settings, seed: seed)
    }

    public var deadline: Duration? { session.deadline }

    public var deviceID: String? {
        device.flatMap { session.scales[$0]?.isHere == true ? $0.deviceId : nil }
    }

    public var isMeasuring: Bool { device.map { session.isMeasuring($0) } ?? false }

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
        case .command(let command):
            guard let device else { return [.event(command.refusal)] }
            forwarded = .command(command, device)
        }
        return session.handle(forwarded, at: now).map { action in
            switch action {
            case .send(let bytes): .send(bytes)
            case .deliver(let delivery, _): .deliver(delivery)
            case .event(let event, _): .event(event)
            case .close: .close
            }
        }
    }
}
