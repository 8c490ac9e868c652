import ScaleStandIns
import Testing

@testable import ScaleProtocols

/// A connector and a bridge with one scale, without delays, and all lines that passed between them.
struct SDKStage {
    var dialogue: HSLSession
    var device: HSLDevice
    private let now = ScaleMoment(uptime: .zero, wall: SDKStage.wall)
    /// The requests, in order.
    var requests: [HSLRequest] = []
    var told: [HSLEvent] = []
    var results: [HSLResult] = []
    var events: [ScaleEvent] = []
    var kept: [ScaleReading] = []
    private var toHost: [[UInt8]] = []
    private var toDevice: [[UInt8]] = []
    private var deliveries: [ScaleDelivery] = []

    static let wall = WallTime(2024, 3, 15, 19, 5, 9) ?? .startOf2000
    static let body = HS5Record.Composition(
        fat: 477, water: 453, muscle: 413, bone: 22, visceralFat: 8, dailyCalories: 2502)

    init(
        _ model: ScaleModel, profile: HSLDevice.Profile = .init(),
        _ change: (inout HSLSession.Settings) -> Void = { _ in }
    ) throws {
        var settings = HSLSession.Settings(model: model)
        settings.user = HSLUser(userID: "a@example.org", height: 180, clientID: "hub", clientSecret: "made up")
        settings.measures = 11
        change(&settings)
        var scale = HSLDevice.Scale(try #require(HSLDeviceID(model, "020000003001")))
        if model == .hs5 { (scale.users[0], scale.users[3]) = (11, 22) }
        let times = [WallTime("2024-03-14 22:01:40"), WallTime("2024-03-15 07:30:05")].compactMap(\.self)
        let memory = times.map { time in
            HSLDevice.Weighing(
                time, tenthsOfKilogram: 842, composition: model == .hs5 ? Self.body : nil,
                user: model == .hs5 ? 11 : nil)
        }
        if model == .hs5 { scale.cloud = Array(memory.prefix(1)) }
        dialogue = HSLSession(settings: settings, seed: Array(repeating: 1, count: 32))
        device = HSLDevice(scale, memory: memory, profile: profile)
    }

    mutating func connect() {
        take(dialogue.handle(.linkOpened, at: now))
        take(device.handle(.linkOpened, at: now))
        flow()
    }

    mutating func give(device input: StandInInput) {
        take(device.handle(input, at: now))
        flow()
    }

    mutating func give(host input: ScaleInput) {
        take(dialogue.handle(input, at: now))
        flow()
    }

    private mutating func take(_ actions: [StandInAction]) {
        for case .send(let bytes) in actions {
            toHost.append(bytes)
            switch try? HSLMessage(line: Array(bytes.dropLast())) {
            case .event(let event): told.append(event)
            case .result(let result): results.append(result)
            default: break
            }
        }
    }

    private mutating func take(_ actions: [ScaleAction]) {
        for action in actions {
            switch action {
            case .deliver(let delivery): deliveries.append(delivery)
            case .event(let event): events.append(event)
            case .close: toDevice = []
            default:
                guard case .send(let bytes) = action else { continue }
                toDevice.append(bytes)
                if case .request(let request)? = try? HSLMessage(line: Array(bytes.dropLast())) {
                    requests.append(request)
                }
            }
        }
    }

    /// Delivers all lines until none is left.
    private mutating func flow() {
        while !(toHost.isEmpty && toDevice.isEmpty && deliveries.isEmpty) {
            if !deliveries.isEmpty {
                let delivery = deliveries.removeFirst()
                kept += delivery.readings
                take(dialogue.handle(.kept(delivery.token), at: now))
            } else if !toHost.isEmpty {
                take(dialogue.handle(.received(toHost.removeFirst()), at: now))
            } else {
                take(device.handle(.received(toDevice.removeFirst()), at: now))
            }
        }
    }

    /// The names of the events that the upper half received.
    var heard: [String] { events.map(Self.label) }

    static func label(_ event: ScaleEvent) -> String {
        let child = Mirror(reflecting: event).children.first?.label
        return child ?? "\(event)"
    }

    func wasDone(_ operation: HSLOperation) -> Bool {
        let ids = requests.filter { $0.operation == operation }.map(\.id)
        return results.contains { ids.contains($0.ref) && $0.status == .done }
    }

    /// A complete session with one operation.
    static func story(of operation: HSLOperation) throws -> SDKStage {
        var stage = try SDKStage(operation.model ?? .hs3) { $0.unit = .stones }
        stage.connect()
        let birthday = WallTime(1980, 5, 1) ?? .startOf2000
        func person(_ serial: UInt32) throws -> HS5Profile {
            try #require(
                HS5Profile(
                    serial: serial, birthday: birthday, today: Self.wall, height: 180, isAthlete: true, isMale: false))
        }
        switch operation {
        case .listDevices, .stopSession: break
        case .hs3Init, .hs4Measure, .hs4Memory, .hs5OpenUsers, .hs5Measure, .hs5Memory:
            stage.give(device: .weigh(StandInWeighing(tenthsOfKilogram: 842, composition: Self.body)))
        case .hs3AutoConnectOff: stage.give(host: .command(.autoConnect(false)))
        case .hs3AutoConnectOn: stage.give(host: .command(.autoConnect(true)))
        case .hs5CreateUser: stage.give(host: .command(.createUser(try person(33), at: nil)))
        case .hs5ModifyUser: stage.give(host: .command(.modifyUser(try person(22))))
        case .hs5DeleteUser: stage.give(host: .command(.deleteUser(serial: 22)))
        case .hs5Cloud: stage.give(host: .command(.cloud))
        }
        return stage
    }
}
