import Foundation
import Seeds
import Testing

@testable import ScaleFrames

extension SeededGenerator {
    mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self) < percent }
}

func bytes(_ hex: String) -> [UInt8] { hex.split(separator: " ").compactMap { UInt8($0, radix: 16) } }

func resource(_ name: String) throws -> String {
    let url = try #require(Bundle.module.resourceURL)
    return try String(contentsOf: url.appendingPathComponent(name), encoding: .utf8)
}

/// `count` weighings, oldest first, a day and a little apart.
func weighings(_ count: Int, mode: HS3HourMode = .sdk12) throws -> [HS3RecordKey] {
    let first = try #require(WallTime(2026, 1, 1, 7, 10, 3))
    return try (0..<count).map { day in
        let time = try #require(first.adding(seconds: day * 86_911))
        return try #require(HS3Record(time, tenthsOfKilogram: 720 + day % 17, mode: mode)).key
    }
}

/// A host and a scale joined by a link of virtual bytes and virtual time.
struct Rig {
    var host: HS3Host
    var device: HS3Device
    var uptime = Duration.zero
    let startWall: WallTime
    var isLinked = false
    /// The link fails after this many more bytes, both directions together.
    var bytesUntilCut: Int?
    /// How long the spool takes; nil while it is full.
    var keepAfter: Duration? = .milliseconds(1)

    /// What the host's spool holds, in order, repeats over connections included.
    var kept: [ScaleReading] = []
    var events: [ScaleEvent] = []
    var deviceEvents: [HS3Device.Event] = []
    var sentByHost: [[UInt8]] = []

    private var inFlight: [(at: Duration, to: Side, bytes: [UInt8])] = []
    private var spooling: [(at: Duration, delivery: ScaleDelivery)] = []
    enum Side { case host, device }

    init(host: HS3Host.Settings = .init(), device: HS3Device, wall: String = "2026-11-20 07:30:00") throws {
        self.host = HS3Host(settings: host)
        self.device = device
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

    mutating func disconnect() {
        guard isLinked else { return }
        isLinked = false
        inFlight.removeAll()
        give(host: .linkClosed)
        give(device: .linkClosed)
    }

    mutating func give(device input: HS3Device.Input) {
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
            case .settle: break
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
        inFlight.append((uptime + .milliseconds(20), side, bytes))
    }

    /// Lets time pass until nothing is left to happen or `limit` has passed.
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

    private var nextEvent: Duration? {
        (spooling.map(\.at) + inFlight.map(\.at) + [host.deadline, isLinked ? device.deadline : nil].compactMap(\.self))
            .min()
    }

    var keptKeys: Set<HS3RecordKey> { Set(kept.compactMap { HS3Record($0.raw[...])?.key }) }
}
