public import FoundationEssentials
import FoundationInternationalization
import Glibc
import PluginKit
public import ScaleProtocols
public import ScaleStandIns
import Synchronization

/// A stand-in for a scale behind a real link, driven from tests.
public final class StandInScale<Device: ScaleStandIn>: Sendable {
    /// The link by which a plugin finds it.
    public let link: String
    private let runner: LinkRunner
    private let zone: LocalClock
    private let clock: HubClock
    private let box: Box
    private let task: Task<Void, Never>

    fileprivate struct State: Sendable {
        var device: Device
        var inputs: [(input: StandInInput, isTime: @Sendable (Device) -> Bool)] = []
        var events: [StandInEvent] = []
        var isLinked = false
        /// The number of bytes, both directions together, after which the link ends once.
        var bytesUntilCut: Int?

        /// Returns those of these bytes that still pass, and whether the link ends with them.
        mutating func carry(_ bytes: [UInt8]) -> (bytes: [UInt8], isCut: Bool) {
            guard let left = bytesUntilCut else { return (bytes, false) }
            guard bytes.count > left else {
                bytesUntilCut = left - bytes.count
                return (bytes, false)
            }
            bytesUntilCut = nil
            return (Array(bytes.prefix(left)), true)
        }
    }

    /// - Parameters:
    ///   - own: the address at which the scale waits.
    ///   - link: the same address, as a plugin has to write it.
    public init(_ device: Device, own: String, link: String, clock: String, zone: TimeZone) throws {
        self.link = link
        let runner = try LinkRunner(try ScaleLink(own), pause: .milliseconds(5))
        self.runner = runner
        let (zone, hubClock) = (LocalClock(zone), HubClock(clock) ?? .system)
        (self.zone, self.clock) = (zone, hubClock)
        let state = Box(State(device: device))
        box = state
        let startedAt = ContinuousClock.now
        task = Task {
            while let event = await runner.next() {
                var inputs: [StandInInput] = []
                switch event {
                case .opened:
                    state.value.withLock { $0.isLinked = true }
                    inputs = [.linkOpened]
                case .received(let bytes):
                    runner.settle()
                    let (passed, isCut) = state.value.withLock { $0.carry(bytes) }
                    inputs = [.received(passed)]
                    if isCut { runner.hangUp() }
                case .closed:
                    state.value.withLock { $0.isLinked = false }
                    inputs = [.linkClosed]
                case .alarm: inputs = [.tick]
                case .unreachable, .contested, .remark: break
                }
                while let input = inputs.isEmpty ? state.value.withLock({ $0.takeInput() }) : inputs.removeFirst() {
                    let moment = ScaleMoment(
                        uptime: ContinuousClock.now - startedAt, wall: zone.wall(at: hubClock.now()))
                    let actions = state.value.withLock { state in
                        let actions = state.device.handle(input, at: moment)
                        for case .event(let event) in actions { state.events.append(event) }
                        return actions
                    }
                    for action in actions {
                        switch action {
                        case .send(let bytes):
                            let (passed, isCut) = state.value.withLock { $0.carry(bytes) }
                            runner.send(passed)
                            if isCut { runner.hangUp() }
                        case .hangUp: runner.hangUp()
                        case .event: break
                        }
                    }
                }
                runner.setAlarm(at: state.value.withLock(\.device.deadline).map { startedAt + $0 })
            }
        }
    }

    deinit { runner.stop() }

    private final class Box: Sendable {
        let value: Mutex<State>
        init(_ state: State) { value = Mutex(state) }
    }

    /// Gives the scale an input, as soon as `isTime` holds and all earlier inputs are done.
    public func submit(_ input: StandInInput, when isTime: @escaping @Sendable (Device) -> Bool = { _ in true }) {
        box.value.withLock { $0.inputs.append((input, isTime)) }
        runner.wake()
    }

    /// Returns when the link is open; over datagrams, when the scale can receive.
    public func linked() async {
        while !box.value.withLock(\.isLinked), (try? await Task.sleep(for: .milliseconds(1))) != nil {}
    }

    public var events: [StandInEvent] { box.value.withLock(\.events) }
    public var device: Device { box.value.withLock(\.device) }

    /// Returns when the device is in this state, or when the test's task is cancelled.
    public func becomes(_ isSo: @Sendable (Device) -> Bool) async {
        while !isSo(device), (try? await Task.sleep(for: .milliseconds(1))) != nil {}
    }

    /// Changes the device, for example to set a fault.
    public func change(_ body: @Sendable (inout Device) -> Void) { box.value.withLock { body(&$0.device) } }

    /// The keys of the weighings that a plugin has acknowledged.
    public var acknowledged: [[UInt8]] {
        events.compactMap { if case .acknowledged(let key) = $0 { key } else { nil } }
    }

    /// The wall clock of the scale's place.
    public var wall: WallTime { zone.wall(at: clock.now()) }

    /// Breaks the link once after `bytes` more bytes, both directions together: a stream in the middle of a frame, datagrams with
    /// one that is cut off.
    public func cut(after bytes: Int) { box.value.withLock { $0.bytesUntilCut = bytes } }

    /// Breaks the link now.
    public func cut() { runner.hangUp() }

    /// Ends the link now and returns when all is closed; the release of a scale ends it too.
    public func stop() async {
        runner.stop()
        await task.value
    }
}

extension StandInScale.State {
    fileprivate mutating func takeInput() -> StandInInput? {
        guard let next = inputs.first, next.isTime(device) else { return nil }
        return inputs.removeFirst().input
    }
}

/// Ports below those that the system assigns, each given out once in this process.
public enum Ports {
    private static let last = Mutex(UInt16.random(in: 20_000...30_000))

    public static func next() -> UInt16 {
        last.withLock { port in
            // Other test processes run at the same time.
            repeat { port = port < 32_000 ? port + 1 : 20_000 } while !isFree(port)
            return port
        }
    }

    private static func isFree(_ port: UInt16) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }
}
