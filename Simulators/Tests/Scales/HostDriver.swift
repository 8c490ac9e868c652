import Foundation
import Glibc
import ScaleProtocols
import Synchronization
import Testing

@testable import ScaleSimulation

/// A simulator on a separate thread, with its events.
final class RunningScale: Sendable {
    let simulator: ScaleSimulator
    private let told = Told()
    private let thread = DispatchGroup()

    private final class Told: Sendable { let events = Mutex<[SimulatorEvent]>([]) }

    init(_ options: ScaleSimulator.Options) throws {
        let (told, thread) = (told, thread)
        let simulator = try ScaleSimulator(options) { event in told.events.withLock { $0.append(event) } }
        self.simulator = simulator
        thread.enter()
        Thread {
            try? simulator.run()
            thread.leave()
        }.start()
    }

    var events: [SimulatorEvent] { told.events.withLock { $0 } }

    /// Stops the simulator and waits for its thread.
    func stop() {
        simulator.stop()
        waitForEnd()
    }

    func waitForEnd() { thread.wait() }
}

/// A host's dialogue on a real link, driven by `poll` and the real clock, with an in-memory spool.
struct DialogueDriver<Host: ScaleDialogue> {
    var host: Host
    private(set) var kept: [ScaleReading] = []
    private(set) var events: [ScaleEvent] = []
    private var link: LinkDescriptor?
    /// The destination of datagrams; `nil` on a stream.
    private var scale: SocketAddress?
    private let startedAt = ContinuousClock.now
    private var needsClose = false

    init(_ host: Host) { self.host = host }

    init(_ host: Host, stream link: LinkDescriptor) {
        self.init(host)
        use(link)
    }

    /// Creates a driver with a separate port of this machine.
    init(_ host: Host, datagramsTo port: UInt16) throws {
        self.init(host)
        scale = SocketAddress(ip: 0x7F00_0001, port: port)
        use(try LinkAddress("udp://127.0.0.1:0").listenForDatagrams().0)
    }

    private var now: ScaleMoment {
        ScaleMoment(uptime: ContinuousClock.now - startedAt, wall: SimulationClock.system.wall)
    }

    var isConnected: Bool { link != nil }

    mutating func use(_ descriptor: LinkDescriptor) {
        descriptor.setNonBlocking()
        link = descriptor
        give(.linkOpened)
    }

    mutating func close() {
        link = nil
        give(.linkClosed)
    }

    private mutating func give(_ input: ScaleInput) {
        for action in host.handle(input, at: now) {
            switch action {
            case .send(let bytes), .search(let bytes):
                if let scale { link?.send(bytes, to: scale) } else { _ = link?.write(bytes[...]) }
            case .deliver(let delivery):
                kept += delivery.readings
                give(.kept(delivery.token))
            case .event(let event): events.append(event)
            case .settle, .of: break
            case .close: needsClose = true
            }
        }
    }

    /// Serves the link until `isEnough`, the end of the link, or ten seconds, which no correct session needs.
    mutating func serve(until isEnough: (Self) -> Bool) {
        let limit = now.uptime + .seconds(10)
        while let link, !isEnough(self), now.uptime < limit {
            var file = pollfd(fd: link.number, events: Int16(POLLIN), revents: 0)
            _ = poll(&file, 1, Wakeup.timeout(min(limit, host.deadline ?? limit) - now.uptime))
            if file.revents != 0 {
                if scale != nil {
                    while let (bytes, _) = link.receive() { give(.received(bytes)) }
                } else {
                    guard let bytes = link.read().value(orLater: []) else { return close() }
                    give(.received(bytes))
                }
            }
            if let deadline = host.deadline, now.uptime >= deadline { give(.tick) }
            if needsClose {
                needsClose = false
                return close()
            }
        }
    }
}

/// A driver for a HS3.
typealias HostDriver = DialogueDriver<HS3Host>

extension DialogueDriver where Host == HS3Host {
    /// Short delays, because the simulated scale also repeats after short ones.
    init() {
        var settings = HS3Host.Settings()
        settings.timing.openAfter = .zero
        (settings.timing.firstResend, settings.timing.nextResend) = (.milliseconds(150), .milliseconds(150))
        (settings.openTimeout, settings.timing.answerTimeout) = (.milliseconds(800), .milliseconds(1500))
        settings.timing.partialFrameTimeout = .milliseconds(50)
        self.init(HS3Host(settings: settings))
    }

    mutating func connect(to address: String) throws {
        guard address.hasPrefix("/dev") else { return use(try LinkAddress(address).connect()) }
        let terminal = LinkDescriptor(owning: Glibc.open(address, O_RDWR | O_NOCTTY))
        try #require(terminal.number >= 0)
        use(terminal)
    }

    var keptKeys: Set<HS3RecordKey> { Set(kept.compactMap { HS3Record($0.raw[...])?.key }) }
}
