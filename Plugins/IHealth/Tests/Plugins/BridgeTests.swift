import Foundation
import PluginKit
import PluginTesting
import ScaleBench
import ScaleProtocols
import Testing

@testable import ScaleStandIns

/// Programs that speak HSL/1, with one or several scales behind them.
@Suite(.timeLimit(.minutes(1)))
struct BridgeTests {
    private static func memory(_ count: Int, from tenths: Int) throws -> [HSLDevice.Weighing] {
        let first = try #require(WallTime(2026, 11, 1, 7, 10, 3))
        return try (0..<count).map { index in
            HSLDevice.Weighing(try #require(first.adding(seconds: index * 86_911)), tenthsOfKilogram: tenths + index)
        }
    }

    private static func scale(
        _ model: ScaleModel, _ id: String, _ memory: [HSLDevice.Weighing] = []
    ) throws -> HSLDevice.Scale {
        HSLDevice(HSLDevice.Scale(try #require(HSLDeviceID(model, id))), memory: memory).scales[0]
    }

    private static func bridge(_ scales: [HSLDevice.Scale], profile: HSLDevice.Profile = .init()) throws -> Bridge {
        let port = Ports.next()
        return try Bridge(
            HSLDevice(scales: scales, profile: profile), own: "tcp-accept://127.0.0.1:\(port)",
            link: "hsl://127.0.0.1:\(port)", clock: ScaleBench.clock, zone: ScaleBench.zone)
    }

    @Test(arguments: [ScaleModel.hs3, .hs4])
    func `two scales behind one bridge are both served, each under its own id`(model: ScaleModel) async throws {
        let bench = try await ScaleBench()
        let bridge = try Self.bridge([
            try Self.scale(model, "020000003001", try Self.memory(3, from: 700)),
            try Self.scale(model, "020000003002", try Self.memory(2, from: 800)),
        ])
        let run = try await bench.run(model, "link = \"\(bridge.link)\"")
        await bench.hub.records(5)
        func devices() async -> [String] { await bench.samples.compactMap(\.source.device).sorted() }
        let expected = Array(repeating: "020000003001", count: 3) + Array(repeating: "020000003002", count: 2)
        #expect(await devices() == expected)
        #expect(Set(await bench.events("connected", 2).map(\.device)) == ["020000003001", "020000003002"])
        #expect(await bench.end(run) == .done)
        // After a restart the kept weighings of both scales are known, and a live weighing is added.
        let again = try await bench.run(model, "link = \"\(bridge.link)\"")
        bridge.step(on: 711)
        await bench.hub.records(6)
        #expect(await devices() == ["020000003001"] + expected)
        #expect(await bench.end(again) == .done)
    }

    @Test func `with device_id the other scale behind the bridge is left alone`() async throws {
        let bench = try await ScaleBench()
        let bridge = try Self.bridge([
            try Self.scale(.hs3, "020000003001", try Self.memory(3, from: 700)),
            try Self.scale(.hs3, "020000003002", try Self.memory(2, from: 800)),
        ])
        let run = try await bench.run(.hs3, "link = \"\(bridge.link)\"\ndevice_id = \"020000003002\"")
        await bench.hub.records(2)
        #expect(await bench.events("protocol").contains { $0.text?.contains("HS3:020000003001") == true })
        #expect(await bench.end(run) == .done)
        #expect(await bench.samples.allSatisfy { $0.source.device == "020000003002" })
    }

    @Test
    func `commands during a memory transfer have their outcomes in order, and name the scale if there are several`()
        async throws
    {
        let bench = try await ScaleBench()
        var profile = HSLDevice.Profile()
        profile.pace = .milliseconds(5)
        let bridge = try Self.bridge(
            [try Self.scale(.hs3, "020000003001", try Self.memory(30, from: 700))], profile: profile)
        let run = try await bench.run(.hs3, "link = \"\(bridge.link)\"")
        _ = await bench.events("memory")
        async let off = bench.ask("auto-connect", #"{"on":false}"#)
        async let on = bench.ask("auto-connect", #"{"on":true}"#)
        async let other = bench.ask("auto-connect", #"{"on":true,"device":"020000003009"}"#)
        let answers = try await [off, on, other]
        #expect(
            answers == [
                #"{"autoConnect":false}"#, #"{"autoConnect":true}"#,
                "refused: HS3: no scale 020000003009 is connected, only 020000003001",
            ])
        await bench.hub.records(30)
        #expect(await bench.end(run) == .done)
        await bridge.stop()

        let both = try Self.bridge([try Self.scale(.hs3, "020000003001"), try Self.scale(.hs3, "020000003002")])
        let second = try await bench.run(.hs3, "link = \"\(both.link)\"")
        _ = await bench.events("connected", 3)
        let which = try await bench.ask("auto-connect", #"{"on":false}"#)
        #expect(
            which
                == "refused: HS3: several scales are connected; say which: device=020000003001 or device=020000003002")
        #expect(
            try await bench.ask("auto-connect", #"{"on":false,"device":"02:00:00:00:30:02"}"#)
                == #"{"autoConnect":false}"#)
        #expect(both.device.scales.map(\.callsByItself) == [true, false])
        #expect(await bench.end(second) == .done)
    }

    @Test func `a HS4 behind a bridge shows its unit again after a restart`() async throws {
        let bench = try await ScaleBench()
        let bridge = try Self.bridge([try Self.scale(.hs4, "020000004001")])
        let settings = "link = \"\(bridge.link)\""
        let run = try await bench.run(.hs4, settings)
        _ = await bench.events("connected")
        #expect(try await bench.ask("units", #"{"unit":"lb"}"#) == #"{"unit":"lb"}"#)
        // The measurement is opened again with the new unit.
        await bridge.becomes { $0.scales[0].unit == .pounds }
        #expect(await bench.end(run) == .done)
        bridge.change { $0.scales[0].unit = nil }
        let again = try await bench.run(.hs4, settings)
        await bridge.becomes { $0.scales[0].unit != nil }
        #expect(bridge.device.scales[0].unit == .pounds, "the first measurement has it")
        #expect(await bench.end(again) == .done)
    }

    @Test(arguments: ScaleModel.allCases)
    func `a bridge gets the height of the person from hub.conf`(model: ScaleModel) async throws {
        let anna = Welcome.PersonEntry(
            name: "anna", zone: "Europe/Berlin",
            profile: PersonProfile(
                uid: "6f1c2a9e5b7d4c30", slot: 0, height: 168.4, sex: .female, birthDate: LocalDate("1984-05-06"),
                athlete: nil))
        let ben = Welcome.PersonEntry(
            name: "ben", zone: "Europe/Berlin",
            profile: PersonProfile(
                uid: "7f1c2a9e5b7d4c30", slot: 1, height: 190, sex: .male, birthDate: nil, athlete: nil))
        // On a HS5 the person is the one with this position; on the others the one in the settings, or the only one.
        let bench = try await ScaleBench(persons: model == .hs3 ? [anna] : [ben, anna])
        let bridge = try Bridge(model)
        let named = model == .hs4 ? "\nperson = \"anna\"\nauth_mode = \"bridge\"" : ""
        let run = try await bench.run(model, "link = \"\(bridge.link)\"\(named)")
        bridge.step(on: 611)
        await bench.hub.records(1)
        #expect(bridge.device.scales[0].height == 168)
        #expect(await bench.end(run) == .done)
    }
}
