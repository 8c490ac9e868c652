import Glibc
import ScaleProtocols
import ScaleStandIns
import Testing

@testable import ScaleSimulation

/// HS4, HS5 and HSL/1 on real links.
struct ScaleModelTests {
    private static let key = ScaleKey((0..<16).map { UInt8($0) })
    private static let first = WallTime(2026, 11, 18, 7, 30)

    private func times(_ count: Int) throws -> [WallTime] {
        try (0..<count).map { day in try #require(Self.first?.adding(seconds: day * 86_400)) }
    }

    private func port(_ scale: RunningScale) throws -> UInt16 {
        try #require(UInt16(scale.simulator.address.split(separator: ":").last ?? ""))
    }

    @Test func `a HS4 sends its memory and its weights over TCP after the log-in`() throws {
        var profile = HS4Device.Profile()
        profile.key = Self.key
        let memory = try times(3).compactMap { HS4Record($0, tenthsOfKilogram: 731, more: 1) }
        let device = HS4Device(profile: profile, memory: memory)
        let scale = try RunningScale(.init(link: ScaleLinkTests.loopback(), device: device))
        defer { scale.stop() }
        var settings = HS4Host.Settings()
        settings.key = Self.key
        var driver = DialogueDriver(
            HS4Host(settings: settings), stream: try LinkAddress(scale.simulator.address).connect())
        driver.serve { $0.host.isMeasuring }
        scale.simulator.submit(.stepOn(tenthsOfKilogram: 804, at: nil))
        driver.serve { $0.kept.count == 4 }
        #expect(driver.kept.map(\.tenthsOfKilogram) == [731, 731, 731, 804])
        scale.simulator.submit(.fault(try FaultOption("busy")))
        scale.simulator.submit(.fail(0xE7))
        driver.serve { $0.events.contains(.deviceError(.sent(0xE7, by: .hs4))) }
        #expect(scale.events.contains(.scale(.refused("this scale has no fault busy"))))
    }

    @Test func `a scale out of reach keeps its weighings and sends them when it returns`() throws {
        let scale = try RunningScale(.init(link: ScaleLinkTests.loopback(), device: HS4Device()))
        defer { scale.stop() }
        let address = try LinkAddress(scale.simulator.address)
        var driver = DialogueDriver(HS4Host(), stream: try address.connect())
        driver.serve { $0.host.isMeasuring }
        scale.simulator.submit(.away)
        scale.simulator.submit(.stepOn(tenthsOfKilogram: 804, at: Self.first))
        // Serve the link until its end.
        driver.serve { _ in false }
        var second = DialogueDriver(HS4Host(), stream: try address.connect())
        #expect(driver.kept.isEmpty)
        scale.simulator.submit(.back)
        second.serve { $0.host.isMeasuring }
        #expect(second.kept.map(\.tenthsOfKilogram) == [804] && second.kept.map(\.time) == [Self.first])
        let told = StandInWeighing(
            tenthsOfKilogram: 804, composition: .invented(tenthsOfKilogram: 804), time: Self.first)
        #expect(scale.events.contains(.weighing(told, isStored: false)))
        #expect(
            SimulatorEvent.weighing(told, isStored: false).json
                == #"{"event":"weighing","how":"step on","kg":"80.4","local":"2026-11-18 07:30:00"}"#)
    }

    @Test func `a HS5 out of reach answers no datagram until it returns`() throws {
        let place = try #require(HS5Position(0))
        let scale = try RunningScale(
            .init(link: .datagrams(try LinkAddress("udp://127.0.0.1:0")), device: HS5Device(users: [place: 11])))
        defer { scale.stop() }
        scale.simulator.submit(.away)
        scale.simulator.submit(.stepOn(tenthsOfKilogram: 700, at: Self.first, user: 11))
        // If the scale answered a search before it is out of reach, a dialogue without answers would follow.
        while !scale.events.contains(where: { if case .weighing = $0 { true } else { false } }) { sched_yield() }
        var settings = HS5Host.Settings()
        settings.searchEvery = .milliseconds(50)
        var driver = try DialogueDriver(HS5Host(settings: settings), datagramsTo: port(scale))
        scale.simulator.submit(.back)
        driver.serve { !$0.kept.isEmpty }
        #expect(driver.kept.map(\.tenthsOfKilogram) == [700])
    }

    @Test func `a HS5 sends its users' memories and a composition in datagrams`() throws {
        let (one, two) = (try #require(HS5Position(0)), try #require(HS5Position(3)))
        let records = try times(2).compactMap { HS5Record($0, tenthsOfKilogram: 700) }
        let device = HS5Device(users: [one: 11, two: 22], memory: [22: records])
        let options = ScaleSimulator.Options(
            link: .datagrams(try LinkAddress("udp://127.0.0.1:0")), device: device)
        let scale = try RunningScale(options)
        defer { scale.stop() }
        var settings = HS5Host.Settings()
        (settings.measures, settings.memoryEvery) = (11, .milliseconds(200))
        var driver = try DialogueDriver(HS5Host(settings: settings), datagramsTo: try port(scale))
        driver.serve { $0.kept.count == 2 && $0.host.isMeasuring }
        // The weighing of a person other than the user of the open measurement goes into the memory.
        scale.simulator.submit(.store(tenthsOfKilogram: 621, at: nil, user: 22))
        driver.serve { $0.kept.count == 3 }
        #expect(driver.kept.map(\.user) == [22, 22, 22])
        scale.simulator.submit(.stepOn(tenthsOfKilogram: 804, at: nil, user: 11))
        driver.serve { $0.kept.count == 4 }
        #expect(driver.kept.last?.user == 11)
        #expect(driver.kept.last?.composition == .invented(tenthsOfKilogram: 804))
    }

    @Test(arguments: ScaleModel.allCases) func `every scale speaks HSL over TCP, and a session transfers all its data`(
        model: ScaleModel
    ) throws {
        var scale = HSLDevice.Scale(try #require(HSLDeviceID(model, "020000003001")))
        if model == .hs5 { scale.users[0] = 11 }
        let user: UInt32? = model == .hs5 ? 11 : nil
        let memory = try times(3).map { HSLDevice.Weighing($0, tenthsOfKilogram: 731, user: user) }
        var profile = HSLDevice.Profile()
        profile.token = HSLToken("both know it")
        let device = HSLDevice(scale, memory: memory, profile: profile)
        let running = try RunningScale(.init(link: ScaleLinkTests.loopback(), device: device))
        defer { running.stop() }
        var settings = HSLSession.Settings(model: model)
        (settings.token, settings.measures) = (HSLToken("both know it"), 11)
        // A weighing between two requests goes into the memory, where the host finds it.
        settings.memoryEvery = .milliseconds(300)
        var driver = DialogueDriver(
            HSLSession(settings: settings), stream: try LinkAddress(running.simulator.address).connect())
        driver.serve { $0.host.isMeasuring }
        #expect(driver.kept.count == 3)
        running.simulator.submit(.stepOn(tenthsOfKilogram: 804, at: nil, user: user))
        driver.serve { $0.kept.count == 4 }
        #expect(driver.kept.last?.tenthsOfKilogram == 804)
        #expect((driver.kept.last?.composition == .invented(tenthsOfKilogram: 804)) == (model == .hs5))
    }

    @Test func `a replayed script advances when the host has sent its part`() throws {
        let script = "# note\n> 0 b0 03 a6 23 01 ca\n< 51 a0 03 a6 ff 01 a6\n> b0 03 a6 ff 02 a7\n< a0 <2 × ff> 01\n"
        let running = try RunningScale(
            .init(link: ScaleLinkTests.loopback(), device: try ReplayDevice(script: script)))
        defer { running.stop() }
        let link = try LinkAddress(running.simulator.address).connect()
        func hear(_ count: Int) -> [UInt8] {
            var heard: [UInt8] = []
            while heard.count < count, case .done(let bytes) = link.read() { heard += bytes }
            return heard
        }
        _ = link.write([0xB0, 3, 0xA6, 0x23, 1, 0xCA][...])
        #expect(hear(6) == [0xA0, 3, 0xA6, 0xFF, 1, 0xA6])
        _ = link.write([0xB0, 3, 0xA6, 0xFF, 3, 0xA8][...])
        #expect(hear(4) == [0xA0, 0xFF, 0xFF, 1])
        let fault = "the host sent something else at its line 3"
        #expect(running.events.contains(.scale(.fault(fault))))
    }

    @Test(arguments: ["> zz", "= aa", "> 1 2 3", "", "# only", "< <9 x"]) func `an invalid script is refused`(
        script: String
    ) {
        #expect(throws: SimulatorError.self) { try ReplayDevice(script: script) }
    }

    @Test func `a weighing may have a user, shoes and a date`() throws {
        let time = WallTime("2026-11-20T07:30")
        #expect(
            try SimulatorCommand(line: "step on 80.4 user 11 shoes")
                == .stepOn(tenthsOfKilogram: 804, at: nil, user: 11, hasShoes: true))
        #expect(
            try SimulatorCommand(line: "store 80.4 2026-11-20T07:30 user 22")
                == .store(tenthsOfKilogram: 804, at: time, user: 22))
        #expect(try SimulatorCommand(line: "store 80.4") == .store(tenthsOfKilogram: 804, at: nil))
        #expect(throws: SimulatorError.self) { try SimulatorCommand(line: "step on 80.4 user") }
        #expect(throws: SimulatorError.self) { try FaultOption("bad-line", of: .hs3) }
        #expect(try FaultOption("bad-line", of: .hsl).scales == .hsl)
    }
}
