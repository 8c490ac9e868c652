import ScaleProtocols
public import ScaleStandIns

/// The scale inside a simulator: one of the stand-ins.
public enum SimulatedDevice: Sendable {
    case hs3(HS3Device)
    case hs4(HS4Device)
    case hs5(HS5Device)
    /// Any model behind HSL/1.
    case hsl(HSLDevice)
    /// One side of a recorded conversation.
    case replay(ReplayDevice)

    var deadline: Duration? {
        switch self {
        case .hs3(let device): device.deadline
        case .hs4(let device): device.deadline
        case .hs5(let device): device.deadline
        case .hsl(let device): device.deadline
        case .replay(let device): device.deadline
        }
    }

    /// Whether all its messages are acknowledged.
    var isIdle: Bool {
        switch self {
        case .hs3(let device): device.isIdle
        case .hs4(let device): device.isIdle
        case .hs5(let device): device.isIdle
        case .hsl(let device): device.isIdle
        case .replay(let device): device.isIdle
        }
    }

    mutating func handle(_ input: StandInInput, at now: ScaleMoment) -> [StandInAction] {
        switch self {
        case .hs3(var device):
            defer { self = .hs3(device) }
            return device.handle(input, at: now)
        case .hs4(var device):
            defer { self = .hs4(device) }
            return device.handle(input, at: now)
        case .hs5(var device):
            defer { self = .hs5(device) }
            return device.handle(input, at: now)
        case .hsl(var device):
            defer { self = .hsl(device) }
            return device.handle(input, at: now)
        case .replay(var device):
            defer { self = .replay(device) }
            return device.handle(input, at: now)
        }
    }

    /// The kind of scale, which selects the names of its faults.
    public var faultNames: FaultOption.Scales {
        switch self {
        case .hs3: .hs3
        case .hs4: .hs4
        case .hs5: .hs5
        case .hsl: .hsl
        case .replay: []
        }
    }

    /// Activates a fault; for a fault of the link, returns the number of bytes after which it is dropped.
    mutating func begin(_ fault: FaultOption) -> Int? {
        if fault.name == "hangup" { return fault.value }
        switch self {
        case .hs3(var device):
            fault.apply(to: &device.faults)
            self = .hs3(device)
        case .hs4(var device):
            fault.apply(to: &device.faults)
            self = .hs4(device)
        case .hs5(var device):
            fault.apply(to: &device.faults)
            self = .hs5(device)
        case .hsl(var device):
            fault.apply(to: &device.faults)
            self = .hsl(device)
        case .replay: break
        }
        return nil
    }

    mutating func endFaults() {
        switch self {
        case .hs3(var device):
            device.faults = .init()
            self = .hs3(device)
        case .hs4(var device):
            device.faults = .init()
            self = .hs4(device)
        case .hs5(var device):
            device.faults = .init()
            self = .hs5(device)
        case .hsl(var device):
            device.faults = .init()
            self = .hsl(device)
        case .replay: break
        }
    }
}
