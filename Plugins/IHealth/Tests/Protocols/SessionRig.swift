import ScaleStandIns
import Testing

@testable import ScaleProtocols

/// A dialogue and a stand-in, joined by a link with virtual bytes and virtual time.
struct SessionRig<Host: ScaleDialogue, Device: ScaleStandIn> {
    var host: Host
    var device: Device
    var uptime = Duration.zero
    var startWall: WallTime
    var isLinked = false
    /// The number of bytes, both directions together, after which the link fails.
    var bytesUntilCut: Int?
    /// The time that the spool takes; `nil` while it is full.
    var keepAfter: Duration? = .milliseconds(1)

    /// The readings in the host's spool, in order, including repeats.
    var kept: [ScaleReading] = []
    var events: [ScaleEvent] = []
    var deviceEvents: [StandInEvent] = []
    var sentByHost: [[UInt8]] = []
    /// The number of bytes carried so far.
    var carried = 0

    private var inFlight: [(at: Duration, to: Side, bytes: [UInt8])] = []
    private var spooling: [(at: Duration, delivery: ScaleDelivery)] = []
    private enum Side { case host, device }

    init(host: Host, device: Device, wall: String = "2026-11-20 07:30:00") throws {
        (self.host, self.device) = (host, device)
        startWall = try #require(WallTime(wall))
    }

    var now: ScaleMoment {
        ScaleMoment(uptime: uptime, wall: startWall.adding(seconds: Int(uptime.components.seconds)) ?? startWall)
    }

    mutating func connect() {
        isLinked = true
        give(host: .linkOpened)
        give(device: .linkOpened)
    }

    mutating func connect(for time: Duration) {
        connect()
        run(for: time)
    }

    mutating func give(device input: StandInInput, for time: Duration) {
        give(device: input)
        run(for: time)
    }

    mutating func give(host input: ScaleInput, for time: Duration) {
        give(host: input)
        run(for: time)
    }

    mutating func disconnect() {
        guard isLinked else { return }
        isLinked = false
        inFlight.removeAll()
        give(host: .linkClosed)
        give(device: .linkClosed)
    }

    mutating func give(device input: StandInInput) {
        for action in device.handle(input, at: now) {
            switch action {
            case .send(let bytes): carry(bytes, to: .host)
            case .hangUp: disconnect()
            case .event(let event): deviceEvents.append(event)
            }
        }
    }

    mutating func give(host input: ScaleInput) {
        for action in host.handle(input, at: now) {
            switch action {
            case .send(let bytes), .search(let bytes):
                sentByHost.append(bytes)
                carry(bytes, to: .device)
            case .deliver(let delivery):
                if let keepAfter {
                    spooling.append((uptime + keepAfter, delivery))
                } else {
                    give(host: .notKept(delivery.token))
                }
            case .event(let event): events.append(event)
            case .settle, .of: break
            case .close: disconnect()
            }
        }
    }

    private mutating func carry(_ bytes: [UInt8], to side: Side) {
        guard isLinked else { return }
        var bytes = bytes
        if let left = bytesUntilCut {
            bytes = Array(bytes.prefix(left))
            bytesUntilCut = left - bytes.count
        }
        carried += bytes.count
        inFlight.append((uptime + .milliseconds(20), side, bytes))
    }

    /// Lets time pass until nothing is left to happen, or until `limit`.
    mutating func run(for limit: Duration) {
        let end = uptime + limit
        while let next = nextEvent, next <= end {
            uptime = max(uptime, next)
            if let place = spooling.firstIndex(where: { $0.at <= uptime }) {
                let delivery = spooling.remove(at: place).delivery
                kept += delivery.readings
                give(host: .kept(delivery.token))
            } else if let place = inFlight.firstIndex(where: { $0.at <= uptime }) {
                let message = inFlight.remove(at: place)
                let isLast = bytesUntilCut == 0 && inFlight.isEmpty
                if message.to == .host {
                    give(host: .received(message.bytes))
                } else {
                    give(device: .received(message.bytes))
                }
                if isLast {
                    bytesUntilCut = nil
                    disconnect()
                }
            } else {
                give(host: .tick)
                give(device: .tick)
            }
        }
        uptime = end
    }

    /// Lets time pass until `isDone`, which is checked every second, or until `limit`.
    mutating func run(for limit: Duration, until isDone: (Self) -> Bool) {
        let end = uptime + limit
        while uptime < end, !isDone(self) { run(for: min(.seconds(1), end - uptime)) }
    }

    private var nextEvent: Duration? {
        (spooling.map(\.at) + inFlight.map(\.at)
            + [host.deadline, isLinked ? device.deadline : nil].compactMap(\.self)).min()
    }

    var warnings: [String] {
        events.compactMap { if case .protocolWarning(let warning) = $0 { "\(warning)" } else { nil } }
    }

    var errors: [ScaleError] { events.compactMap { if case .deviceError(let error) = $0 { error } else { nil } } }
}
