import Glibc
import ScaleProtocols
import ScaleStandIns
import Testing

@testable import ScaleSimulation

/// A host session over real links.
struct ScaleLinkTests {
    static func memory(_ count: Int) -> [HS3RecordKey] {
        var series = WeighingSeries(seed: 3)
        return series.mornings(count, before: WallTime(2026, 11, 20, 12) ?? .startOf2000).compactMap {
            HS3Record($0.time, tenthsOfKilogram: $0.tenthsOfKilogram)?.key
        }
    }

    static func options(_ link: ScaleSimulator.Link, memory count: Int = 3) -> ScaleSimulator.Options {
        var profile = HS3Device.Profile()
        profile.repeatAfter = .milliseconds(60)
        return ScaleSimulator.Options(link: link, device: HS3Device(profile: profile, memory: memory(count)))
    }

    static func loopback() throws -> ScaleSimulator.Link { .listen(try LinkAddress("tcp://127.0.0.1:0")) }

    static let weighings = [(731, "2026-11-20 07:30:01"), (728, "2026-11-20 07:30:59")]

    /// Transfers three records of the memory, then two scripted weighings, over `link`; the host must have exactly these.
    static func session(_ link: ScaleSimulator.Link) throws {
        var options = options(link)
        for (place, weighing) in weighings.enumerated() {
            let command = SimulatorCommand.stepOn(tenthsOfKilogram: weighing.0, at: WallTime(weighing.1))
            options.plan.append(PlannedCommand(after: .milliseconds(20 * place), command: command))
        }
        options.endsWhenDone = true
        let scale = try RunningScale(options)
        defer { scale.stop() }
        var driver = HostDriver()
        try driver.connect(to: scale.simulator.address)
        driver.serve { $0.kept.count >= 5 && $0.host.isMeasuring }
        let scripted = weighings.compactMap { weighing in
            WallTime(weighing.1).flatMap { HS3Record($0, tenthsOfKilogram: weighing.0)?.key }
        }
        #expect(scripted.count == 2)
        #expect(driver.kept.filter { $0.raw.count == 6 }.map(\.key) == scripted.map(\.bytes))
        #expect(driver.keptKeys == Set(memory(3) + scripted))
        #expect(driver.kept.count == 5)
        #expect(driver.events.contains(.clockSet))
        driver.serve { _ in false }
        #expect(!driver.isConnected, "the simulator ends once all is done")
        #expect(scale.events.first == .listening(scale.simulator.address, deviceId: "020000003001"))
        #expect(scale.events.contains(.done))
    }

    @Test func `a session over TCP transfers exactly the scripted weighings`() throws {
        try ScaleLinkTests.session(ScaleLinkTests.loopback())
    }

    @Test func `a session over a pty transfers exactly the scripted weighings`() throws {
        try ScaleLinkTests.session(.pty)
    }

    @Test func `a session over a unix socket transfers exactly the scripted weighings`() throws {
        let path = "/tmp/hub-scale-test-\(getpid()).sock"
        try ScaleLinkTests.session(.listen(try LinkAddress("unix://\(path)")))
        #expect(access(path, F_OK) != 0, "the socket file is gone")
    }

    @Test func `a scale that dials out finds the listening host`() throws {
        let (listener, address) = try LinkAddress("tcp://127.0.0.1:0").listen()
        let scale = try RunningScale(ScaleLinkTests.options(.connect(address)))
        defer { scale.stop() }
        var file = pollfd(fd: listener.number, events: Int16(POLLIN), revents: 0)
        try #require(poll(&file, 1, 10_000) == 1)
        var driver = HostDriver()
        driver.use(LinkDescriptor(owning: accept(listener.number, nil, nil)))
        driver.serve { $0.host.isMeasuring }
        #expect(driver.keptKeys == Set(ScaleLinkTests.memory(3)))
    }

    @Test(arguments: [true, false]) func `the scale keeps its state when a host leaves, and serves the next one`(
        overTCP: Bool
    ) throws {
        let scale = try RunningScale(ScaleLinkTests.options(overTCP ? ScaleLinkTests.loopback() : .pty))
        defer { scale.stop() }
        var first = HostDriver()
        try first.connect(to: scale.simulator.address)
        first.serve { $0.host.isMeasuring }
        scale.simulator.submit(.stepOn(tenthsOfKilogram: 744, at: nil))
        first.serve { $0.kept.count == 4 }
        first.close()
        scale.simulator.submit(.stepOn(tenthsOfKilogram: 755, at: nil))

        var second = HostDriver()
        try second.connect(to: scale.simulator.address)
        second.serve { $0.kept.contains { $0.tenthsOfKilogram == 755 } && $0.host.isMeasuring }
        second.close()
        var third = HostDriver()
        try third.connect(to: scale.simulator.address)
        third.serve { $0.kept.count == 5 && $0.host.isMeasuring }
        #expect(third.keptKeys.isSuperset(of: first.keptKeys))
        #expect(third.keptKeys.isSuperset(of: second.keptKeys))
    }

    @Test func `commands reach the host`() throws {
        var driver = HostDriver()
        let scale = try RunningScale(ScaleLinkTests.options(ScaleLinkTests.loopback(), memory: 0))
        defer { scale.stop() }
        try driver.connect(to: scale.simulator.address)
        driver.serve { $0.host.isMeasuring }
        scale.simulator.submit(.fail(0xE7))
        driver.serve { $0.events.contains(.deviceError(.sent(0xE7, by: .hs3))) }
        #expect(driver.events.last == .deviceError(.sent(0xE7, by: .hs3)))

        scale.simulator.submit(.store(tenthsOfKilogram: 731, at: WallTime("2026-11-20T07:30")))
        scale.simulator.submit(.clock(seconds: 3600))
        scale.simulator.submit(.disconnect)
        driver.serve { _ in false }
        #expect(driver.events.suffix(2) == [.deviceError(.disconnected(.hs3)), .disconnected])
        try driver.connect(to: scale.simulator.address)
        driver.serve { $0.host.isMeasuring }
        #expect(driver.kept.map(\.tenthsOfKilogram) == [731])
        let skews = driver.events.compactMap { if case .clock(_, let skew) = $0 { skew } else { nil } }
        #expect(skews.count == 2 && abs((skews.last ?? 0) - 3600) <= 2)

        scale.simulator.submit(.restart)
        driver.serve { _ in false }
        #expect(!driver.isConnected)
    }

    /// Each fault on a real socket: in the end the host must have every weighing once.
    @Test(arguments: [
        "bad-checksum", "lose-ack", "repeat", "deaf", "cut=5", "hangup=60", "garbage", "pieces", "pieces=1000",
        "power-off=25",
        "early-weight",
    ])
    func `a fault on the link loses nothing`(fault: String) throws {
        var options = ScaleLinkTests.options(try ScaleLinkTests.loopback(), memory: 30)
        options.add(try FaultOption(fault))
        let scale = try RunningScale(options)
        defer { scale.stop() }
        let expected = 30 + (fault == "early-weight" ? 1 : 0)
        var driver = HostDriver()
        for _ in 0..<6 where driver.kept.count < expected {
            try driver.connect(to: scale.simulator.address)
            driver.serve { $0.kept.count >= expected || ($0.host.isMeasuring && $0.kept.count > 0) }
            if driver.isConnected { driver.close() }
        }
        #expect(driver.keptKeys.count == expected)
        #expect(driver.kept.count == expected, "delivered twice")
        #expect(driver.keptKeys.isSuperset(of: ScaleLinkTests.memory(30)))
    }

    @Test(arguments: ["bad-digit=10", "zero-date=10", "count=201"]) func `wrong content is reported to the host`(
        fault: String
    ) throws {
        var options = ScaleLinkTests.options(try ScaleLinkTests.loopback(), memory: 30)
        options.add(try FaultOption(fault))
        let scale = try RunningScale(options)
        defer { scale.stop() }
        var driver = HostDriver()
        try driver.connect(to: scale.simulator.address)
        driver.serve { $0.host.isMeasuring }
        switch fault {
        case "bad-digit=10": #expect(driver.kept.count == 27)
        case "zero-date=10": #expect(driver.kept.filter { $0.time == nil }.count == 3)
        default:
            #expect(driver.events.contains(.protocolWarning(.memoryCountAboveLimit(201))))
            #expect(driver.events.contains(.protocolWarning(.memoryCountDiffers(announced: 200, received: 30))))
        }
    }

    @Test func `a host that never reads does not stop the scale`() throws {
        let scale = try RunningScale(ScaleLinkTests.options(ScaleLinkTests.loopback(), memory: 200))
        let idle = try LinkAddress(scale.simulator.address).connect()
        let open = HS3Frame(checked: .host, 0x23, 1, []).bytes
        _ = idle.write(open[...])
        for _ in 0..<2000 { scale.simulator.submit(.stepOn(tenthsOfKilogram: 700, at: nil)) }
        scale.simulator.submit(.quit)
        scale.waitForEnd()
        #expect(scale.events.filter { if case .scale(.stored) = $0 { true } else { false } }.count == 2000)
    }

    @Test func `the error for an address in use names it`() throws {
        let (listener, address) = try LinkAddress("tcp://127.0.0.1:0").listen()
        #expect(throws: SimulatorError.self) {
            _ = try ScaleSimulator(ScaleLinkTests.options(.listen(address))) { _ in }
        }
        withExtendedLifetime(listener) {}
    }
}
